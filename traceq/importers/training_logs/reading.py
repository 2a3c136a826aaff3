"""Values of steps, and events that are no step, on a training log's own clock: the records of all readers."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from traceq.importers.monitors.reading import SECOND

# utc: its times name their zone or count from 1970; local: times of day of a zone that it does not name; none: no times.
Clock = Literal["utc", "local", "none"]
Mark = Literal["begin", "end", "interval", "moment"]
# The last two are of schedulers: a job that waits, and one that has its GPUs.
Phase = Literal[
    "start_up", "compile", "data", "evaluation", "checkpoint", "restart", "idle", "failure", "queue", "allocation"
]


class LogValue(msgspec.Struct, frozen=True):
    """One number of one line, or of one record of a file that has no lines; both are counted from 1.

    `at_ns` is when the line was written, ns since 1970 as the log's clock reads; None without a time. `step` is the number
    of the step as the log counts. `quantity` is step_time (ns a step), loss, gradient_norm, learning_rate, throughput (with
    its unit), memory (bytes), mfu (a share), tokens, samples, epoch, or the log's own name. The value is finite.
    """

    line: int
    at_ns: int | None
    step: int | None
    quantity: str
    value: float
    unit: str | None = None


class LogEvent(msgspec.Struct, frozen=True):
    """Something that a log says happened and that is no step.

    `at_ns` is its begin, for the mark "end" its end and for "moment" when it was; None where the line has no time. Only an
    "interval" has `dur_ns`. `detail` says more in a few words, None where there is no more to say.
    """

    line: int
    at_ns: int | None
    dur_ns: int | None
    mark: Mark
    phase: Phase
    step: int | None = None
    detail: str | None = None


class TrainingLog(msgspec.Struct, frozen=True):
    """All that a training log says, in the order of its lines.

    `format` is the name of a declared text format, or of a structured one: trainer_state, lightning, json_lines, wandb or
    tensorboard. `gpus` is the world size and `rank` the process, None where the log does not say. `lines` counts the file's
    lines or records; `left_out` those that look like the format's and could not be read.
    """

    format: str
    clock: Clock
    values: list[LogValue]
    events: list[LogEvent]
    gpus: int | None
    rank: int | None
    lines: int
    left_out: int


# Ns since 1970 that can be added to others in 64 bits: until 2116.
END_OF_TIME = 1 << 62
# Larger numbers cannot be squared and summed; of a step's number, 64 bits hold no more.
_MOST_VALUE = 1e100
MOST_STEP = 1 << 53

_TIME_UNITS: dict[str, float] = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "min": 60 * SECOND,
    "h": 3_600 * SECOND,
}
_MEMORY_UNITS: dict[str, float] = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}  # fmt: skip

# What a quantity is counted in, by the units that a log may write it in; it/s counts steps in a time.
UNITS: dict[str, dict[str, float]] = {
    "step_time": _TIME_UNITS | {"it/s": 0.0},
    "memory": _MEMORY_UNITS,
    "mfu": {"share": 1.0, "percent": 0.01},
}
_COUNTED_IN = {"step_time": "ns", "memory": "bytes", "mfu": "share"}


def convert_value(quantity: str, value: float, unit: str | None) -> tuple[float, str | None] | None:
    """Return (value, unit) in what the quantity is counted in: ns, bytes or a share; other quantities keep their unit.

    None for a value that is not finite, is too large, or cannot be: a negative time, or no steps a second.
    """
    if not math.isfinite(value) or abs(value) >= _MOST_VALUE:
        return None
    if quantity not in UNITS:
        return value, unit
    if value < 0 or (quantity == "step_time" and value == 0):
        return None
    unit = unit or ("s" if quantity == "step_time" else "B" if quantity == "memory" else "share")
    converted = SECOND / value if unit == "it/s" else value * UNITS[quantity][unit]
    return (converted, _COUNTED_IN[quantity]) if converted < END_OF_TIME else None


def duration_of(value: float, unit: str) -> int | None:
    """Return the duration in ns of a number of ns, us, ms, s, min or h; None where it is negative, not finite or too long."""
    converted = convert_value("step_time", value, unit) if value else (0.0, "ns")
    return None if converted is None else round(converted[0])
