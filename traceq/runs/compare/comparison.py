"""The shape of a comparison. Times are ns per step; a difference is the new run less the base, so that more is worse."""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.runs.job.change import JobChange
from traceq.runs.made_with import Difference
from traceq.runs.run import FindingKept, Run
from traceq.runs.statistics import Statistic

Verdict = Literal["regression", "improvement", "likely regression", "likely improvement", "no change", "cannot tell"]
Kind = Literal["same", "new", "vanished", "renamed", "re-tuned", "same role", "resized", "other memory", "graphed"]
How = Literal["slower", "faster", "more", "fewer", "both"] | Kind

SURE: tuple[Verdict, ...] = ("regression", "improvement")
LIKELY: tuple[Verdict, ...] = ("likely regression", "likely improvement")
CHANGED = (*SURE, *LIKELY)
"""Verdicts that say what changed: proved by steps, or likely."""


class Change(msgspec.Struct, frozen=True):
    """The step of both sides by one statistic, and how sure their difference is.

    `interval_ns` contains the true difference with the chosen confidence; None where it cannot be computed. `p` is the
    larger of two shares: of random shuffles of steps between sides that differ as much, and twice that of resamples
    with the opposite sign. The interval excludes 0 if `p` is at most the level. `detectable_ns` is the smallest change
    that 9 of 10 such comparisons would have found; None where that is longer than the step. `noise_ns` is the standard
    deviation between single runs of the base that is known or assumed; None where it was measured from these runs
    alone.
    """

    statistic: Statistic
    base_ns: int
    new_ns: int
    delta_ns: int
    interval_ns: tuple[int, int] | None
    p: float | None
    detectable_ns: int | None
    noise_ns: int | None = None

    @property
    def share(self) -> float | None:
        """The difference as a share of the base; None if the base is 0."""
        return self.delta_ns / self.base_ns if self.base_ns else None


class Drift(msgspec.Struct, frozen=True):
    """A run whose steps get longer or shorter over its course: by `change_ns` from first to last, with significance `p`."""

    file: str
    change_ns: int
    p: float


class OutlierStep(msgspec.Struct, frozen=True):
    """A step much longer than the others of its run: `dur` where the run's median step is `typical_ns`, both ns."""

    file: str
    step: int
    name: str
    dur: int
    typical_ns: int


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: its runs, and what was noticed about their steps.

    `counted` and `excluded` are numbers of steps, `windows` is the number of runs without steps.
    """

    runs: tuple[Run, ...]
    counted: int
    excluded: int
    windows: int
    drifts: tuple[Drift, ...]
    outliers: tuple[OutlierStep, ...]


class ChangePart(msgspec.Struct, frozen=True):
    """A part of a category, matched between both sides by name, shape or operator, or present on one side only.

    `kind` says how it was matched: same (name and shape), resized (another launch shape or size), other memory (the
    same copy, from pinned instead of pageable memory or the other way round), renamed (other template arguments, lines
    or a generated name), re-tuned (another kernel for the same operator), same role (another kernel with the same
    `role` in the program: matrix products, attention, ...), graphed (kernels against CUDA graphs that were traced as a
    whole), new, vanished. `base_names` and `new_names` are all names on a side, the one with most time first; empty for
    the rest, which is too small to be listed by name. Counts are per step; `interval_ns` as in Change.
    """

    category: str
    base_names: tuple[str, ...]
    new_names: tuple[str, ...]
    shape: str | None
    base_shape: str | None
    operator: str | None
    kind: Kind
    base_count: float
    new_count: float
    base_ns: int
    new_ns: int
    delta_ns: int
    interval_ns: tuple[int, int] | None = None
    role: str | None = None

    @property
    def name(self) -> str | None:
        """The name with most time on the new side, else on the base; None for a nameless rest."""
        return next(iter((*self.new_names, *self.base_names)), None)


class Cause(msgspec.Struct, frozen=True):
    """The change of one ledger category. The deltas of all causes add up to the step's; those of the parts to the cause's.

    `interval_ns` as in Change, None where it cannot be computed.
    """

    category: str
    base_ns: int
    new_ns: int
    delta_ns: int
    interval_ns: tuple[int, int] | None
    parts: tuple[ChangePart, ...]


class NamedCause(msgspec.Struct, frozen=True):
    """A cause to be named: a ledger category, or a part that explains most of the category's change.

    Its change has the sign of the step's and is beyond noise; for a likely change `interval_ns` may be None. `how` says
    what the part did: slower or faster (other time per call), more or fewer (other number of calls), both, or as
    ChangePart.kind where that is not `same`. `per_call` and `calls` are ratios, new over base; None where not known.
    """

    category: str
    delta_ns: int
    interval_ns: tuple[int, int] | None
    part: ChangePart | None = None
    how: How | None = None
    per_call: float | None = None
    calls: float | None = None


class AcrossTheBoard(msgspec.Struct, frozen=True):
    """Kernels that all got slower or faster by about the same `factor`, as with other clocks.

    They are `kernels` of the `of` kernels with the same name and calls on both sides, and have `share` of those
    kernels' time.
    """

    factor: float
    kernels: int
    of: int
    share: float


class Row(msgspec.Struct, frozen=True):
    """The GPU time of one operator or phase on both sides, ns and number of calls per step.

    `name` is None for work without one.
    """

    name: str | None
    base_count: float
    new_count: float
    base_ns: int
    new_ns: int
    delta_ns: int


class Count(msgspec.Struct, frozen=True):
    """The number of launches, copies or collectives, or of bytes copied, per step on both sides; `what` names it."""

    what: str
    unit: Literal["", "bytes"]
    base: float
    new: float


class KindChange(msgspec.Struct, frozen=True):
    """The change in one kind of a server's steps: numbers of steps, the kind's own verdict, and `change` as in Comparison."""

    kind: str
    base_steps: int
    new_steps: int
    verdict: Verdict
    change: Change | None


class Comparison(msgspec.Struct, frozen=True):
    """The change from `base` to `new`, its verdict and its causes.

    `reasons` explain the verdict. `obstacles` say why the sides cannot be compared; without them, or if they were
    overruled, `verdict` rests on `change` and on the `assumptions`. Where a step is not the same thing on both sides,
    `change` is None. A *likely* verdict means that steps prove nothing, but that the sides differ by many times what
    two runs usually do. `remarks` are to be known before the verdict is believed. `other` is the change by the other
    statistic.

    The deltas of `causes` add up to `change.delta_ns` exactly. `named` are the sure causes, largest first: of a
    regression or improvement those in its direction, else all that changed although the step did not for sure. `across`
    says that kernels changed alike. `made_with` are differences in settings and versions, turned knobs first.

    For servers all this is about steps of one `kind`: the one with the largest sure change, else with most time.
    `kinds` holds all common kinds, each judged at its part of `level`. For jobs it is about the step over all ranks,
    `job` says which ranks changed, `causes` are those of the mean rank, and none is named. `of_rank` is the comparison
    of the rank `job.shown`.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    comparable: bool
    obstacles: tuple[str, ...]
    remarks: tuple[str, ...]
    level: float
    floor_share: float
    base: Side
    new: Side
    findings_gone: tuple[FindingKept, ...]
    findings_new: tuple[FindingKept, ...]
    assumptions: tuple[str, ...] = ()
    change: Change | None = None
    other: Change | None = None
    causes: tuple[Cause, ...] = ()
    operators: tuple[Row, ...] = ()
    phases: tuple[Row, ...] = ()
    counts: tuple[Count, ...] = ()
    named: tuple[NamedCause, ...] = ()
    across: AcrossTheBoard | None = None
    kind: str | None = None
    kinds: tuple[KindChange, ...] = ()
    job: JobChange | None = None
    of_rank: Comparison | None = None
    made_with: tuple[Difference, ...] = ()
