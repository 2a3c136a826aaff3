"""The shape of a trade-off. Times are ns per step, of the typical step unless a percentile is named; intervals are of 95 %."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from traceq.runs.run import Run

Percentile = Literal["p50", "p95", "p99"]
Shape = Literal["affine", "hinge"]
Place = Literal["below", "within", "beyond"]
Growth = Literal["shrinks", "constant", "slower", "proportional", "faster"]
Interval = tuple[float, float]
Why = Literal["no steps", "no counted steps", "cold", "other windows"]
Source = Literal["given", "marks", "snapshots", "names"]


@dataclass(frozen=True)
class TradeoffTerms:
    """The knob that was varied and the work that is counted.

    `is_amount`: the knob is an amount of work per step (samples, tokens), so that a step can be held against it. `work` is
    what throughput counts, "steps" where nothing else is known. `percentile` is the latency that a budget is about.
    `values_from`: whoever gave them, marks of the program, what runs were made with, or the names of their files.
    """

    knob: str
    is_amount: bool
    work: str
    percentile: Percentile = "p95"
    budget_ns: int | None = None
    values_from: Source = "given"


@dataclass(frozen=True)
class Taken:
    """A run and its value of the knob; None where nothing says it, which only a single value may be."""

    value: float | None
    run: Run


@dataclass(frozen=True)
class LeftOut:
    """A run that says nothing of the length of a step, and why.

    cold: its only step or window is long for what happens the first time only; `other windows`: the windows of the runs hold
    different amounts of work, each perhaps another number of passes.
    """

    taken: Taken
    why: Why

    @property
    def warm_ns(self) -> int | None:
        """The step of a cold run without its start-up, ns; None of other runs."""
        if self.why != "cold":
            return None
        return sum(step.dur for step in self.taken.run.counted) - self.taken.run.start_up_ns


@dataclass(frozen=True)
class Point:
    """Measurements at one value. Of several runs the typical step is the mean of theirs; percentiles are of all steps.

    `work` is per step, `throughput` that per second in typical steps. `ledger` holds mean ns of the typical steps by
    category, nothing where a run has no GPU ledger. Intervals are None where there are too few steps.
    """

    value: float | None
    runs: tuple[Run, ...]
    steps: int
    excluded: int
    typical_ns: float
    typical_interval_ns: Interval | None
    p50_ns: float
    p95_ns: float
    p99_ns: float
    work: float
    throughput: float
    throughput_interval: Interval | None
    ledger: Mapping[str, float]

    def latency(self, percentile: Percentile) -> float:
        """Return the percentile of the steps, ns."""
        return {"p50": self.p50_ns, "p95": self.p95_ns, "p99": self.p99_ns}[percentile]


@dataclass(frozen=True)
class StepCurve:
    """f(B) = max(flat_ns, fixed_ns + per_unit_ns * B), the cost of the typical step; flat_ns is 0 for the shape "affine"."""

    shape: Shape
    flat_ns: float
    fixed_ns: float
    per_unit_ns: float

    def at(self, value: float) -> float:
        """Return the typical step at `value`, ns."""
        return max(self.flat_ns, self.fixed_ns + self.per_unit_ns * value)


@dataclass(frozen=True)
class CurveFit:
    """The chosen curve with its errors, as shares of the step.

    `left_out_error` is the root mean square error at values that the curve was not fitted to, `largest_error` the
    largest at those it was. `others` holds left_out_error of the shapes that were not chosen.
    """

    curve: StepCurve
    left_out_error: float
    largest_error: float
    others: Mapping[Shape, float]


@dataclass(frozen=True)
class Knee:
    """The value at which value / f(value)^2 is largest.

    `value` is None outside the range that was tried; `interval` covers the scatter of the steps, its ends None where
    they lie outside. `best_tried` is the measured value with the largest quotient.
    """

    place: Place
    value: float | None
    interval: tuple[float | None, float | None] | None
    best_tried: float


@dataclass(frozen=True)
class BestValues:
    """The values that serve a goal best. `latency_alike` and `throughput_alike` are as good within the noise.

    Of values with the least latency `latency` is the one with the most throughput (of several with the most the least), of
    those with the most throughput `throughput` is the least. `*_top` are those with the best numbers.
    """

    latency: Point
    latency_top: Point
    latency_alike: tuple[float, ...]
    throughput: Point
    throughput_top: Point
    throughput_alike: tuple[float, ...]


@dataclass(frozen=True)
class Within:
    """The values that keep a latency budget.

    `largest` is the largest value that was tried and fits, but for those that a smaller one dominates (of a knob that is no
    amount of work the one with the most throughput), `next` the value after it, or the first where none fits. `estimate` is
    what the curve adds before `next`.
    """

    largest: Point | None
    next: Point | None
    estimate: float | None


@dataclass(frozen=True)
class StepPart:
    """A category of the ledger at every value, ns per step, and how it grows with the value: value^exponent."""

    category: str
    ns: tuple[float, ...]
    exponent: float | None
    growth: Growth | None


@dataclass(frozen=True)
class StepLimit:
    """The composition of the step at the largest value; shares are of the step.

    `is_compute`: the GPU computes nearly all the time, and longer the more work there is. `compute_share` is None where no GPU
    works. `category` is the largest that is no compute, None where there is none.
    """

    point: Point
    compute_share: float | None
    is_compute: bool
    category: str | None
    share: float


@dataclass(frozen=True)
class Headroom:
    """Whether a larger batch could help.

    `saturated` is what the rule gpu-saturated says unless measured growth refutes it, `reason` why it cannot tell.
    `exponent` is the least with which compute was measured to grow against the value, None where that is not known.
    `bound` is the factor by which throughput could grow at most if compute grew in proportion to the batch and nothing
    else grew. It is None where no GPU was seen, and with several values unless compute was measured to grow so.
    """

    run: Run
    value: float | None
    saturated: str | None
    reason: str | None
    exponent: float | None
    bound: float | None


@dataclass(frozen=True)
class Tradeoff:
    """The result of a trade-off over runs at several values; what could not be computed is None.

    `points` are in the order of their values. `differs` holds what else differs between the runs, with what it is in them.
    `between_runs`: intervals hold what runs of one value differ by, and not only their steps. `missed` is the largest
    error of a curve that was not kept because of it, as a share of the step; `fit` and `knee` are None then. `dominated` are the
    points that another one beats (pareto.py), each with that. `launches` are the least and the most of a run where
    the window of each stands for a step, None where steps were found.
    """

    setting: TradeoffTerms
    points: tuple[Point, ...]
    left_out: tuple[LeftOut, ...]
    gpus: tuple[str, ...]
    differs: tuple[tuple[str, tuple[str, ...]], ...]
    between_runs: bool
    fit: CurveFit | None
    missed: float | None
    knee: Knee | None
    dominated: tuple[tuple[Point, Point], ...]
    choice: BestValues | None
    within: Within | None
    parts: tuple[StepPart, ...]
    limit: StepLimit | None
    headroom: tuple[Headroom, ...]
    launches: tuple[int, int] | None = None
