"""The shapes of budgets and of their results. Times are ns, shares 0..1; amounts are exact."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from traceq.analysis.categories import BUSY, IDLE
from traceq.runs.compare.comparison import Comparison
from traceq.runs.run import Run

Table = Literal["step", "throughput", "ledger", "findings", "job", "sql", "compare", "history"]
Bound = Literal["at most", "at least"]
State = Literal["fail", "cannot judge", "pass"]

# What budgets of the step and of jobs can be about.
STEP = ("typical", "mean", "p50", "p90", "p95", "p99", "max")
JOB = ("step", "slowdown", "straggler")
# Sums of categories, by the name a budget gives them.
SUMS = {"idle": IDLE, "busy": BUSY, "copy": tuple(each for each in BUSY if each.startswith("copy_"))}
ANY = "any"

# Units that are shown in their own way; any other is written after the number.
NANOSECONDS, SHARE, PER_SECOND, BYTES, TIMES = "ns", "share", "/s", "bytes", "x"


class Limit(msgspec.Struct, frozen=True):
    """An upper (`at most`) or lower (`at least`) limit for a measured amount, in `unit`."""

    bound: Bound
    amount: Fraction
    unit: str

    def holds(self, measured: Fraction) -> bool:
        """Return whether `measured`, in the limit's unit, is within the limit."""
        return measured <= self.amount if self.bound == "at most" else measured >= self.amount


class Budget(msgspec.Struct, frozen=True):
    """One thing to judge. Without limits, any finding, straggler or regression of that name fails the budget.

    `name` is the key in its table, or the name that the user gave to an SQL budget. `line` is its line in the budget
    file, from 1; None for a budget of the command line. `query` is the user's SQL.
    """

    table: Table
    name: str
    limits: tuple[Limit, ...]
    line: int | None = None
    query: str | None = None

    @property
    def unit(self) -> str:
        """The unit of the limits ("ns", "share", "/s", ...); "share" (of the step) for a budget without limits."""
        return self.limits[0].unit if self.limits else SHARE


class Compare(msgspec.Struct, frozen=True):
    """The table [compare] of a budget file: the baseline to compare with, and the criteria of the comparison.

    `max_regression` is a share of the step (0..1). `noise` is a share of the step or the name of a baseline, as in
    `traceq compare --noise`. With `fail_on_likely`, likely regressions fail, too.
    """

    baseline: str | None = None
    max_regression: Fraction | None = None
    level: float | None = None
    noise: str | None = None
    line: int | None = None
    fail_on_likely: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether the table asks for a comparison, even if it names no baseline."""
        return self.baseline is not None or self.max_regression is not None


class MeasuredBudget(msgspec.Struct, frozen=True):
    """A run to be checked, its trace's number in its database, and the results of the user's SQL budgets by name.

    An answer is a number, or a text that says why the query gave none. A baseline has no database: neither number nor
    answers.
    """

    run: Run
    trace_id: int | None = None
    answers: Mapping[str, Fraction | str] = msgspec.field(default_factory=dict)


class JudgedBudget(msgspec.Struct, frozen=True):
    """The result of a budget: its state, the reason, the measured amount in the budget's unit, and SQL that measures it again."""

    budget: Budget
    state: State
    measured: Fraction | None = None
    reason: str = ""
    query: str | None = None


class Check(msgspec.Struct, frozen=True):
    """The results of all budgets, in the order of the file, and the comparison with the baseline, if there is one.

    `path` is the budget file as the user named it, `baseline` the name or file of the baseline, `baseline_path` its
    path.
    """

    path: str | None
    runs: tuple[Run, ...]
    judged: tuple[JudgedBudget, ...]
    baseline: str | None = None
    baseline_path: str | None = None
    comparison: Comparison | None = None

    @property
    def state(self) -> State:
        """The state of the whole check: `fail` if any budget fails, else `cannot judge` if any cannot be judged, else `pass`."""
        states = {budget.state for budget in self.judged}
        return "fail" if "fail" in states else "cannot judge" if "cannot judge" in states else "pass"

    def number(self, state: State) -> int:
        """Return how many of the budgets ended in `state` (pass, fail or cannot judge)."""
        return sum(budget.state == state for budget in self.judged)
