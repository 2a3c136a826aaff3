"""The shape of a comparison. Times are ns per step; a difference is the new run less the base, so that more is worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True)
class Change:
    """The step of both sides by one statistic, and how sure their difference is.

    `interval_ns` holds the true difference with the chosen confidence, None where it cannot be known. `p` is the larger of how
    often steps shuffled to the sides at random differ as much, and how often resampled steps have the opposite sign, twice; the
    interval does not hold 0 where it is at most the level. `detectable_ns` is the smallest change that would have been
    found in 9 of 10 such comparisons; None where it would have to be longer than the step. `noise_ns` is the standard
    deviation by which single runs of the base are known or assumed to differ, None where the runs at hand alone say it.
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
        """The difference as a share of the base; None where that is 0."""
        return self.delta_ns / self.base_ns if self.base_ns else None


@dataclass(frozen=True)
class Drift:
    """Steps of a run that get longer or shorter while it lasts: by how much from its first to its last, ns."""

    file: str
    change_ns: int
    p: float


@dataclass(frozen=True)
class OutlierStep:
    """A step much longer than the others of its run."""

    file: str
    step: int
    name: str
    dur: int
    typical_ns: int


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its runs, and what was noticed about their steps.

    `counted` and `excluded` are numbers of steps, `windows` one of runs without any.
    """

    runs: tuple[Run, ...]
    counted: int
    excluded: int
    windows: int
    drifts: tuple[Drift, ...]
    outliers: tuple[OutlierStep, ...]


@dataclass(frozen=True)
class ChangePart:
    """A part of a category that both sides, or one, have: matched by name, shape, or the operator it belongs to.

    `kind` says how it was matched: same (name and shape), resized (another launch shape or size), other memory (the same copy,
    from pinned instead of pageable memory or the other way round), renamed (other template arguments, lines or a generated name),
    re-tuned (another kernel for the same operator), same role (another kernel with the same `role` in the program: matrix
    products, attention, ...), graphed (kernels against CUDA graphs that were traced as a whole), new, vanished. The names of a
    side are all that belong to it, the one with most time first; none stand for what is too small to be listed, or not told
    apart. Counts are per step; `interval_ns` as in Change.
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
        """The main name on the new side, else on the base's."""
        return next(iter((*self.new_names, *self.base_names)), None)


@dataclass(frozen=True)
class Cause:
    """A category of the ledger; the `delta_ns` of all add up to that of the change, and those of its parts to its own.

    `interval_ns` as in Change, None where it cannot be known.
    """

    category: str
    base_ns: int
    new_ns: int
    delta_ns: int
    interval_ns: tuple[int, int] | None
    parts: tuple[ChangePart, ...]


@dataclass(frozen=True)
class NamedCause:
    """A cause that is named: a category of the ledger, or a part of it that explains most of the category's change.

    Its own change goes the way of the step's, and is beyond noise; of a likely change, whose noise is not known, `interval_ns` is
    None. `how` says what the part did: slower or faster (another time
    a call), more or fewer (another number of calls), both of these, or as in Part.kind where it is not the same. `per_call` and
    `calls` are ratios, new over base; None where there is no such number.
    """

    category: str
    delta_ns: int
    interval_ns: tuple[int, int] | None
    part: ChangePart | None = None
    how: How | None = None
    per_call: float | None = None
    calls: float | None = None


@dataclass(frozen=True)
class AcrossTheBoard:
    """Kernels that got slower or faster by about the same `factor`, as with other clocks.

    They are `kernels` of all `of` that both sides call alike, and have `share` of their time.
    """

    factor: float
    kernels: int
    of: int
    share: float


@dataclass(frozen=True)
class Row:
    """GPU time by operator or phase: another cut through what the causes hold. Counts and times per step."""

    name: str | None
    base_count: float
    new_count: float
    base_ns: int
    new_ns: int
    delta_ns: int


@dataclass(frozen=True)
class Count:
    """A number per step, or a number of bytes: launches, copies, collectives."""

    what: str
    unit: Literal["", "bytes"]
    base: float
    new: float


@dataclass(frozen=True)
class KindChange:
    """The change in one kind of a server's steps: the steps of each side, and their own verdict; `change` as in Comparison."""

    kind: str
    base_steps: int
    new_steps: int
    verdict: Verdict
    change: Change | None


@dataclass(frozen=True)
class Comparison:
    """The change from `base` to `new`.

    `reasons` say why the verdict is what it is. `obstacles` say why the sides cannot be compared; when there are none, or
    they were overruled, `verdict` rests on `change` and on the `assumptions`; where a step is not the same on both sides there
    is no `change`. A *likely* verdict is of sides whose steps prove nothing, and that differ by many times what two runs do.
    `remarks` are to be known before it is believed.
    `other` is the change by the other statistic. The deltas of `causes` add up to `change.delta_ns` exactly. `named`
    are those that are sure, the largest first: of a regression or an improvement those that went its way, else all that changed
    although the step did not for sure. `across` says that kernels changed alike.

    Of servers it is about steps of one `kind`: that of the largest change that is sure, else that of most time. `kinds` has all
    that both sides have; each is judged at its part of `level`.

    Of jobs it is about the step over all ranks, and `job` says who changed; the causes are those of the mean rank, none is named.
    `of_rank` is the comparison of one rank, `job.shown`.

    `made_with` is what the sides were made with and say differently, turned knobs first.
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
