"""The answer to a what-if as plain data: read by the words and by the JSON. Times are ns per counted step."""

from __future__ import annotations

import msgspec

from traceq.diagnosis.finding import Finding


class Asked(msgspec.Struct, frozen=True):
    """A change that the user asked for: its kind (remove, scale, ...), what it applies to, and its factor or number, if any."""

    kind: str
    what: str = ""
    factor: float | None = None


class Saved(msgspec.Struct, frozen=True):
    """The ns by which the step gets shorter, negative where it gets longer; `likely_ns` is None if only the bounds are known."""

    low_ns: float
    likely_ns: float | None
    high_ns: float


class TimePart(msgspec.Struct, frozen=True):
    """A part of the step or of its critical path, with its ns per step: a category of the ledger, or another name."""

    name: str
    dur_ns: float


class JobAnswer(msgspec.Struct, frozen=True):
    """The prediction for a job's step if `ranks` took as long as the median rank (`after_ns`), or if all ranks did (`ideal_ns`).

    `recorded_ns` is the mean step as recorded, `of_ranks` the number of ranks. `error_share` is the difference between
    replay and recording, as a share of the step. `waited_for` are the ranks that others then still wait for.
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


class WhatIfAnswer(msgspec.Struct, frozen=True):
    """The prediction for the steps of one trace after the changes `asked`.

    `recorded_ns` is the mean counted step, `replayed_ns` the same step replayed without a change, `after_ns` replayed
    with the change, `saved` the difference. `error_share` is the error of steps predicted from other steps,
    `unexplained_share` the part of the critical path that no known dependency explains. `reason` says why there are
    only bounds, or no numbers (None). `limits` is the critical path after the change. `ledger` is the recorded step of
    the busiest device or, without one, of the training thread. `finding` is the finding whose time is taken away, if
    any.
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


class WhatIfChoice(msgspec.Struct, frozen=True):
    """A change that is possible: `what` can be given to any of the command's `options`.

    `dur_ns` is its time per step, if known.
    """

    options: tuple[str, ...]
    what: str
    meaning: str
    dur_ns: float | None = None


class Choices(msgspec.Struct, frozen=True):
    """The changes that are possible in one trace; `steps` are its counted steps, `recorded_ns` their mean."""

    trace_id: int
    file: str
    rank: int | None
    steps: int
    recorded_ns: float | None
    choices: tuple[WhatIfChoice, ...]
