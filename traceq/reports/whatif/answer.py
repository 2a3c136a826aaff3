"""The answer to a what-if as plain data: read by the words and by the JSON. Times are ns per counted step."""

from __future__ import annotations

from dataclasses import dataclass

from traceq.diagnosis.finding import Finding


@dataclass(frozen=True)
class Asked:
    """A requested change in terms of the command: kind (remove, scale, ...), of what, and its factor or number."""

    kind: str
    what: str = ""
    factor: float | None = None


@dataclass(frozen=True)
class Saved:
    """By how much the step would be shorter, negative where longer; `likely_ns` is None if there are only bounds."""

    low_ns: float
    likely_ns: float | None
    high_ns: float


@dataclass(frozen=True)
class TimePart:
    """A part of the step or of its critical path: a category of the ledger, or another name."""

    name: str
    dur_ns: float


@dataclass(frozen=True)
class JobAnswer:
    """The prediction for a step of a job if `ranks` were like the usual one; `ideal_ns` if all were.

    `error_share` is how far the replay is off what was recorded, `waited_for` who still holds up the others then.
    """

    name: str | None
    ranks: tuple[int, ...]
    of_ranks: int
    steps: int
    recorded_ns: float
    after_ns: float
    ideal_ns: float
    error_share: float
    waited_for: tuple[str, ...]


@dataclass(frozen=True)
class WhatIfAnswer:
    """The prediction for the steps of one trace.

    `recorded_ns` is the mean counted step, `replayed_ns` that of the same model with nothing changed, `after_ns` with the
    change. `error_share` is how far steps that are predicted from other steps are from what was recorded, `unexplained_share`
    the part of the critical path that no known dependency explains. `reason` says why there are only bounds, or nothing: then
    the other numbers are None. `limits` is the critical path after the change; `ledger` is what the busiest device (without
    one, the training thread) does in the recorded step. `finding` is the one whose time is taken away.
    """

    trace_id: int
    file: str
    rank: int | None
    asked: tuple[Asked, ...]
    steps: int
    recorded_ns: float | None
    replayed_ns: float | None = None
    after_ns: float | None = None
    saved: Saved | None = None
    error_share: float | None = None
    unexplained_share: float | None = None
    reason: str | None = None
    limits: tuple[TimePart, ...] = ()
    ledger: tuple[TimePart, ...] = ()
    finding: Finding | None = None


@dataclass(frozen=True)
class WhatIfChoice:
    """Something that can be changed: `options` of the command take `what`; `dur_ns` is its time in the step, where known."""

    options: tuple[str, ...]
    what: str
    meaning: str
    dur_ns: float | None = None


@dataclass(frozen=True)
class Choices:
    """The changes that are possible in one trace."""

    trace_id: int
    file: str
    rank: int | None
    steps: int
    recorded_ns: float | None
    choices: tuple[WhatIfChoice, ...]
