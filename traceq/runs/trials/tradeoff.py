"""The shape of a trade-off. Times are ns per step, of the typical step unless a percentile is named; intervals are of 95 %."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from traceq.runs.run import Run

Percentile = Literal["p50", "p95", "p99"]
Shape = Literal["affine", "hinge"]
Place = Literal["below", "within", "beyond"]
Growth = Literal["shrinks", "constant", "slower", "proportional", "faster"]
Interval = tuple[float, float]
Why = Literal["no steps", "no counted steps", "cold", "other windows"]
Source = Literal["given", "marks", "snapshots", "names"]


class TradeoffTerms(msgspec.Struct, frozen=True):
    """The knob that was varied and the work that is counted.

    `is_amount`: the knob is an amount of work per step (samples, tokens), so that a step can be related to it. `work`
    is what throughput counts, "steps" where nothing else is known. `percentile` is the latency that a budget limits.
    `values_from` says where the values are from: the user, marks of the program, recorded settings, or file names.
    """

    knob: str
    is_amount: bool
    work: str
    percentile: Percentile = "p95"
    budget_ns: int | None = None
    values_from: Source = "given"


class Taken(msgspec.Struct, frozen=True):
    """A run and its value of the knob; None where it is not known, which is only allowed for all runs together."""

    value: float | None
    run: Run


class LeftOut(msgspec.Struct, frozen=True):
    """A run that is left out because its step duration is meaningless, with the reason `why`.

    `cold`: start-up makes its only step or window long. `other windows`: the windows of the runs hold different amounts
    of work.
    """

    taken: Taken
    why: Why

    @property
    def warm_ns(self) -> int | None:
        """The duration of a cold run's step without its start-up, ns; None for other runs."""
        if self.why != "cold":
            return None
        return sum(step.dur for step in self.taken.run.counted) - self.taken.run.start_up_ns


class Point(msgspec.Struct, frozen=True):
    """The measurements at one value. Over several runs the typical step is their mean; percentiles are over all steps.

    `work` is per step, `throughput` is work per second in typical steps. `ledger` holds mean ns of the typical steps by
    category; empty where a run has no ledger. Intervals are None where steps are too few.
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
        """Return the 50th, 95th or 99th percentile of step durations, ns."""
        return {"p50": self.p50_ns, "p95": self.p95_ns, "p99": self.p99_ns}[percentile]


class StepCurve(msgspec.Struct, frozen=True):
    """The cost of the typical step: f(B) = max(flat_ns, fixed_ns + per_unit_ns * B); flat_ns is 0 for the shape "affine"."""

    shape: Shape
    flat_ns: float
    fixed_ns: float
    per_unit_ns: float

    def at(self, value: float) -> float:
        """Return the typical step at `value` by the curve, ns."""
        return max(self.flat_ns, self.fixed_ns + self.per_unit_ns * value)


class CurveFit(msgspec.Struct, frozen=True):
    """The chosen curve with its relative errors.

    `left_out_error` is the root mean square error at values that were left out of the fit, `largest_error` the largest
    error at fitted values. `others` holds the left_out_error of the shapes that were not chosen.
    """

    curve: StepCurve
    left_out_error: float
    largest_error: float
    others: Mapping[Shape, float]


class Knee(msgspec.Struct, frozen=True):
    """The value at which value / f(value)^2 is largest.

    `value` is None outside the tried range. `interval` covers the scatter of the steps; its ends are None outside the
    range. `best_tried` is the tried value with the largest quotient.
    """

    place: Place
    value: float | None
    interval: tuple[float | None, float | None] | None
    best_tried: float


class BestValues(msgspec.Struct, frozen=True):
    """The best tried values for latency and for throughput.

    `latency_alike` and `throughput_alike` are values as good as the best within noise. Among these, `latency` is the
    point with the most throughput (the smallest of several), `throughput` the smallest undominated one. `*_top` are the
    points with the best measured numbers.
    """

    latency: Point
    latency_top: Point
    latency_alike: tuple[float, ...]
    throughput: Point
    throughput_top: Point
    throughput_alike: tuple[float, ...]


class Within(msgspec.Struct, frozen=True):
    """The values that keep a latency budget.

    `largest` is the largest tried value that fits and is not dominated (for a knob that is no amount of work, the one
    with the most throughput); None if none fits. `next` is the value after it, or the first one. `estimate` is the
    largest value below `next` that fits by the curve, or None.
    """

    largest: Point | None
    next: Point | None
    estimate: float | None


class StepPart(msgspec.Struct, frozen=True):
    """A ledger category at every value, ns per step, and its growth with the value: value^exponent."""

    category: str
    ns: tuple[float, ...]
    exponent: float | None
    growth: Growth | None


class StepLimit(msgspec.Struct, frozen=True):
    """The limit of the step at the largest value; shares are of the step.

    `is_compute`: the GPU computes nearly all the time, and more with more work. `compute_share` is None where no GPU
    works. `category` is the largest other category, with its `share`; None without one.
    """

    point: Point
    compute_share: float | None
    is_compute: bool
    category: str | None
    share: float


class Headroom(msgspec.Struct, frozen=True):
    """Whether a batch larger than the run's could help.

    `saturated` is the remark of the rule gpu-saturated, None if measured growth refutes it; `reason` says why the rule
    cannot judge. `exponent` is the growth of compute with the value, None if not known. `bound` is the largest possible
    factor of throughput, reached if compute grew in proportion to the batch and nothing else grew; None without a GPU,
    or if compute was measured to grow less.
    """

    run: Run
    value: float | None
    saturated: str | None
    reason: str | None
    exponent: float | None
    bound: float | None


class Tradeoff(msgspec.Struct, frozen=True):
    """The result of a trade-off over runs at several values; what could not be computed is None.

    `points` are in the order of their values. `differs` are other differences between the runs, with their values.
    `between_runs`: intervals include the noise between runs, not only between steps. `missed` is the largest error, as
    a share of the step, of a curve that was dropped for it; `fit` and `knee` are None then. `dominated` are pairs of a
    dominated point and one that dominates it (pareto.py). `launches` are the least and the most launches of a window,
    where windows stand for steps.
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
