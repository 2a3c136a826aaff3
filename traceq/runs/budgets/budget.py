"""The shapes of budgets and of their results. Times are ns, shares 0..1; amounts are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from traceq.analysis.categories import BUSY, IDLE
from traceq.runs.compare.comparison import Comparison
from traceq.runs.run import Run

Table = Literal["step", "throughput", "ledger", "findings", "job", "sql", "compare"]
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


@dataclass(frozen=True)
class Limit:
    """The most, or the least, that something may be."""

    bound: Bound
    amount: Fraction
    unit: str

    def holds(self, measured: Fraction) -> bool:
        """Return whether `measured`, of the same unit, keeps the limit."""
        return measured <= self.amount if self.bound == "at most" else measured >= self.amount


@dataclass(frozen=True)
class Budget:
    """One thing to judge. Without limits it must not be there: a finding, a straggler, or a regression.

    `name` is the key in its table, of the user's SQL its name. `line` is where the budget file says it, from 1, None for
    what the command line says. `query` is the user's SQL.
    """

    table: Table
    name: str
    limits: tuple[Limit, ...]
    line: int | None = None
    query: str | None = None

    @property
    def unit(self) -> str:
        """The unit of its limits; without limits that of a finding's saving."""
        return self.limits[0].unit if self.limits else SHARE


@dataclass(frozen=True)
class Compare:
    """The table [compare]: the baseline to compare with, and how.

    `noise` is a share of the step or the name of a baseline, as said to `traceq compare --noise`. `fail_on_likely`: a regression
    fails also where it is only likely.
    """

    baseline: str | None = None
    max_regression: Fraction | None = None
    level: float | None = None
    noise: str | None = None
    line: int | None = None
    fail_on_likely: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether there is to be a comparison, even if no baseline is named."""
        return self.baseline is not None or self.max_regression is not None


@dataclass(frozen=True)
class MeasuredBudget:
    """A run that is checked, with its trace's number in its database and the numbers that the user's SQL gave there.

    An answer is a number, or a text that says why there is none. A baseline has no database: no number, no answers.
    """

    run: Run
    trace_id: int | None = None
    answers: Mapping[str, Fraction | str] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgedBudget:
    """The result of a budget: `measured` in the unit of its limits, the reason, and the SQL that gives the number again."""

    budget: Budget
    state: State
    measured: Fraction | None = None
    reason: str = ""
    query: str | None = None


@dataclass(frozen=True)
class Check:
    """All budgets, in the order of the file, and the comparison with the baseline, if there is one.

    `path` is the budget file, as it was named, `baseline` the name or file of the baseline and `baseline_path` where it lies.
    """

    path: str | None
    runs: tuple[Run, ...]
    judged: tuple[JudgedBudget, ...]
    baseline: str | None = None
    baseline_path: str | None = None
    comparison: Comparison | None = None

    @property
    def state(self) -> State:
        """`fail` when any budget fails, `pass` when all do."""
        states = {budget.state for budget in self.judged}
        return "fail" if "fail" in states else "cannot judge" if "cannot judge" in states else "pass"

    def number(self, state: State) -> int:
        """Return how many budgets ended in `state`."""
        return sum(budget.state == state for budget in self.judged)
