"""The shape of a comparison. Times are ns per step; a difference is the new run less the base, so that more is worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from traceq.runs.run import FindingKept, Run

Verdict = Literal["regression", "improvement", "no change", "cannot tell"]
Statistic = Literal["typical", "mean"]
Kind = Literal["same", "new", "vanished", "renamed", "re-tuned", "resized"]


@dataclass(frozen=True)
class Change:
    """The step of both sides by one statistic, and how sure their difference is.

    `interval_ns` holds the true difference with the chosen confidence, None where it cannot be known. `p` is the larger of how
    often steps shuffled to the sides at random differ as much, and how often resampled steps have the opposite sign, twice; the
    interval does not hold 0 where it is at most the level. `detectable_ns` is the smallest change that would have been
    found in 9 of 10 such comparisons; None where it would have to be longer than the step.
    """

    statistic: Statistic
    base_ns: int
    new_ns: int
    delta_ns: int
    interval_ns: tuple[int, int] | None
    p: float | None
    detectable_ns: int | None

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
class Part:
    """A part of a category that both sides, or one, have: matched by name, shape, or the operator it belongs to.

    `kind` says how it was matched: same (name and shape), resized (another launch shape or size), renamed (other template
    arguments or a generated name), re-tuned (another kernel for the same operator), new, vanished. The names of a side are all
    that belong to it, the one with most time first; none stand for what is too small to be listed, or not told apart.
    Counts are per step.
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

    @property
    def name(self) -> str | None:
        """What to call it: by its main name on the new side, else on the base's."""
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
    parts: tuple[Part, ...]


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
    """How many, or how many bytes, per step: launches, copies, collectives."""

    what: str
    unit: Literal["", "bytes"]
    base: float
    new: float


@dataclass(frozen=True)
class Comparison:
    """What changed from `base` to `new`.

    `reasons` say why the verdict is what it is. `obstacles` say why the sides cannot be compared; when there are none, or
    they were overruled, `verdict` rests on `change`. `remarks` are to be known before it is believed. `other` is the
    change by the other statistic. The deltas of `causes` add up to `change.delta_ns` exactly.
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
    change: Change | None
    other: Change | None
    causes: tuple[Cause, ...]
    operators: tuple[Row, ...]
    phases: tuple[Row, ...]
    counts: tuple[Count, ...]
    findings_gone: tuple[FindingKept, ...]
    findings_new: tuple[FindingKept, ...]
