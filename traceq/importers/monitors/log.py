"""Samples of a monitor's log on the log's own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

# utc: it says when, for certain; local: times of day of a zone that it does not name; none: no times at all.
Clock = Literal["utc", "local", "none"]


class Sample(NamedTuple):
    """One value: `ts` is ns since 1970 as the log's clock reads, `device` a GPU as the tool numbers it, None for the host.

    `instance` is what of the host it is of (a disk, a network interface, one CPU, a process), None for all of it.
    """

    ts: int
    device: int | None
    instance: str | None
    name: str
    unit: str | None
    value: float


@dataclass(frozen=True)
class Log:
    """All samples of a file in its order. `host` is the name of the machine, where the file says it.

    `other_date` is what to add to every `ts` (ns) if the log writes day and month in the other order; 0 without a doubt.
    `left_out` counts values that are no numbers, and reports that are of the time before the log. `odd_time` is the first time
    that cannot be read.
    """

    tool: str
    samples: list[Sample]
    clock: Clock
    host: str | None = None
    other_date: int = 0
    left_out: int = 0
    odd_time: str = ""
