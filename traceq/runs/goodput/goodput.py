"""What a whole run came to, as plain data: its ledger, early ends, slow starts, checkpoints and pace."""

from __future__ import annotations

from typing import Literal

import msgspec

HOUR = 3_600_000_000_000


class Terms(msgspec.Struct, frozen=True):
    """What the user says: GPUs of the job, the price of one for an hour, the step (ns) that the program could reach.

    None: not said.
    """

    gpus: int | None = None
    price: float | None = None
    ideal_step_ns: int | None = None


class RunLog(msgspec.Struct, frozen=True):
    """A log that was read: its file's name, its format, its lines and those that could not be read, and its steps."""

    file: str
    format: str
    lines: int
    left_out: int
    steps: int


class Category(msgspec.Struct, frozen=True):
    """A row of the ledger: time (ns), share of the wall time, cost, and energy (J); None: cannot tell."""

    category: str
    dur: int
    share: float
    cost: float | None
    joules: float | None = None


EndedBy = Literal["failure", "preemption", "restart"]


class EarlyEnd(msgspec.Struct, frozen=True):
    """The end of an attempt before the run was done, and what it cost until the next one did steps as usual.

    `ended_at` is ns since 1970. `parts` are ns by what they went into; they add up to `dur`.
    """

    attempt: int
    ended_at: int
    ended_by: EndedBy
    reason: str | None
    lost_steps: int | None
    parts: dict[str, int]
    dur: int
    cost: float | None


class SlowStart(msgspec.Struct, frozen=True):
    """An attempt whose start-up and compilation (`dur`, ns) took much longer than is usual for the others (`usual_dur`)."""

    attempt: int
    dur: int
    usual_dur: int
    cost: float | None

    @property
    def excess(self) -> int:
        """How much longer it took, ns."""
        return self.dur - self.usual_dur


class Checkpoints(msgspec.Struct, frozen=True):
    """Checkpoints against failures: the mean time of one and between two (ns), and between two early ends of the run.

    `best_interval_ns` is the interval that costs least by Daly's formula, `saves_ns` what it would save of the wall time.
    """

    count: int
    dur: int
    interval_ns: int
    between_failures_ns: int
    best_interval_ns: int
    saves_ns: int


class Pace(msgspec.Struct, frozen=True):
    """The steps of the run: their number, those that count, the last number, the typical time (ns), 5th and 95th percentile.

    `loss` is (step, loss) of the first and the last step that say it. `throughput` is the median.
    """

    steps: int
    counted: int | None
    last_step: int | None
    step_ns: int | None
    low_ns: int | None
    high_ns: int | None
    throughput: float | None
    throughput_unit: str | None
    loss: tuple[tuple[int, float], tuple[int, float]] | None


class StepChange(msgspec.Struct, frozen=True):
    """A change of the time a step over the run: level, window or slope, its first and last step, before and after (ns), ratio.

    `until` is None for a level, which stays.
    """

    kind: Literal["level", "window", "slope"]
    step: int
    until: int | None
    before: float
    after: float
    ratio: float


class Power(msgspec.Struct, frozen=True):
    """What power is known from: GPUs with samples, and the share of the wall time that samples cover."""

    devices: int
    coverage: float


class Goodput(msgspec.Struct, frozen=True):
    """A run: from `first_at` (ns since 1970), `wall_ns` long. `cannot_tell` says why there is no ledger, "" where there is one.

    `is_local` is whether times are of a zone that the logs do not name. `gpus` are those of each attempt, without
    repetitions.
    """

    terms: Terms
    logs: tuple[RunLog, ...]
    first_at: int
    wall_ns: int
    is_local: bool
    gpus: tuple[int, ...]
    ledger: tuple[Category, ...]
    early_ends: tuple[EarlyEnd, ...]
    slow_starts: tuple[SlowStart, ...]
    checkpoints: Checkpoints | None
    pace: Pace
    changes: tuple[StepChange, ...]
    power: Power | None
    cannot_tell: str = ""

    @property
    def shares(self) -> dict[str, float]:
        """The share of the wall time by category."""
        return {row.category: row.share for row in self.ledger}

    @property
    def good_share(self) -> float:
        """The share of the wall time that went into steps that count."""
        return self.shares.get("step", 0.0)

    @property
    def cost(self) -> float | None:
        """What all of it cost; None: cannot tell."""
        costs = [row.cost for row in self.ledger]
        return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def ideal_share(self) -> float | None:
        """The share of the wall time that the steps that count would take at the ideal step; None: cannot tell."""
        if self.terms.ideal_step_ns is None or self.pace.counted is None or not self.wall_ns:
            return None
        return self.pace.counted * self.terms.ideal_step_ns / self.wall_ns


# In the order in which the ledger shows them where they are equally long.
CATEGORIES = (
    "step", "lost", "compile", "data", "evaluation", "checkpoint", "start_up", "hang", "restart", "idle", "queue",
    "not_submitted", "unattributed",
)  # fmt: skip
