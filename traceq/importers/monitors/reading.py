"""Samples of a monitor's log on its own clock, and times and numbers as tools write them, for all readers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from traceq.errors import UnusableTrace
from traceq.importers.monitors.series import SERIES, Meaning, name_series

# utc: it says when, for certain; local: times of day of a zone that it does not name; none: no times at all.
Clock = Literal["utc", "local", "none"]


class Sample(NamedTuple):
    """One value: `ts` is ns since 1970 as the log's clock reads, `device` the tool's number of a GPU, None for the host.

    `instance` is the part of the host (a disk, a network interface, one CPU, a process), None for the whole host.
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

    `other_date` is the ns to add to every `ts` if the log writes day and month in the other order; 0 where that is
    certain. `left_out` counts values that are no numbers, and reports on the time before the log. `odd_time` is the
    first time that cannot be read.
    """

    tool: str
    samples: list[Sample]
    clock: Clock
    host: str | None = None
    other_date: int = 0
    left_out: int = 0
    odd_time: str = ""


SECOND = 1_000_000_000
DAY = 86_400 * SECOND

_ISO = re.compile(
    r"(\d{4})[-/]?(\d\d)[-/]?(\d\d)[T ]+(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?$"
)
_LOCAL_DATE = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4}|\d\d)$")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)$")
_TIME = re.compile(r"(\d{1,2}):(\d\d):(\d\d)$")
_EPOCH = re.compile(r"(\d{9,10})(?:\.(\d{1,9}))?$")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def parse_number(text: object) -> float | None:
    """Return the number that a value begins with ("45 %", "0x04" is none of these); None for "[N/A]", "-" and other words."""
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, float):
        return text if math.isfinite(text) else None
    found = _NUMBER.match(str(text).strip().replace(",", "."))
    value = float(found[0]) if found else math.inf
    return value if math.isfinite(value) else None


def parse_time(text: str) -> tuple[int, bool] | None:
    """Return (ns since 1970 as the text reads, whether it is certainly UTC) of an ISO-like time or of seconds since 1970.

    None for other text.
    """
    text = text.strip()
    if found := _EPOCH.match(text):
        return int(found[1]) * SECOND + _parse_fraction(found[2]), True
    found = _ISO.match(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(found[place]) for place in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_parse_zone(found[8]))
    except ValueError:
        return None
    return int(moment.timestamp()) * SECOND + _parse_fraction(found[7]), found[8] is not None


def _parse_fraction(digits: str | None) -> int:
    return int((digits or "").ljust(9, "0"))


def _parse_zone(text: str | None) -> timezone:
    if text is None or text in ("Z", "UTC", "GMT"):
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


def parse_dates(text: str) -> list[int]:
    """Return the ns since 1970 at the start of the day: two values where 11/12/26 may be the 11th or the 12th month.

    Empty for text that is no date.
    """
    if found := _ISO_DATE.match(text.strip()):
        readings = [(int(found[1]), int(found[2]), int(found[3]))]
    elif found := _LOCAL_DATE.match(text.strip()):
        year = int(found[3]) + (2000 if len(found[3]) < len("2026") else 0)
        readings = [(year, int(found[1]), int(found[2])), (year, int(found[2]), int(found[1]))]
    else:
        return []
    starts = []
    for year, month, day in dict.fromkeys(readings):
        try:
            starts.append(int(datetime(year, month, day, tzinfo=UTC).timestamp()) * SECOND)
        except ValueError:
            continue
    return starts


def parse_time_of_day(text: str) -> int | None:
    """Return the ns since midnight of 14:05:09 or 02:05:09 PM; None for other text."""
    words = text.strip().split()
    found = _TIME.match(words[0]) if words else None
    if not found:
        return None
    hour = int(found[1])
    if len(words) > 1:
        hour = hour % 12 + (12 if words[1].upper().startswith("P") else 0)
    return (hour * 3600 + int(found[2]) * 60 + int(found[3])) * SECOND


def parse_local_time(text: str) -> tuple[int, int, bool] | None:
    """Return (ns as the text reads, ns to add for the other order of day and month, whether it is UTC); None if unreadable."""
    whole = parse_time(text)
    if whole is not None:
        return whole[0], 0, whole[1]
    day, _, clock = text.strip().partition(" ")
    starts, time = parse_dates(day), parse_time_of_day(clock)
    if not starts or time is None:
        return None
    return starts[0] + time, starts[-1] - starts[0], False


def host_of_sysstat(text: str) -> dict[str, Any]:
    """Return the host's object in sysstat's JSON, which holds its reports. Raises UnusableTrace where there is none."""
    match json.loads(text):
        case {"sysstat": {"hosts": [dict(host), *_]}} if isinstance(host.get("statistics"), list):
            return host
    raise UnusableTrace("sysstat wrote no reports into it (sysstat.hosts[0].statistics); let it run longer")


def is_steady(times: list[int]) -> bool:
    """Return whether the times follow at one beat, rather than in bursts, as the lines of several GPUs do."""
    gaps = sorted(after - before for before, after in pairwise(times))
    # At least half of the gaps are between bursts, and few are pauses.
    return not gaps or gaps[0] >= gaps[3 * len(gaps) // 4] / 2


def clock_of(stamps: Iterable[tuple[int, bool] | None]) -> Clock:
    """Return the kind of a log's clock (utc, local or none) from all of its times: (ns, whether it is UTC) or None."""
    seen = {None if stamp is None else stamp[1] for stamp in stamps}
    if not seen or None in seen:
        return "none"
    return "utc" if seen == {True} else "local"


class LogBuilder:
    """Collects the samples of a log under the names of `known` series, and counts values that are not numbers."""

    def __init__(self, tool: str, known: dict[str, Meaning]) -> None:
        self.samples: list[Sample] = []
        self.left_out = 0
        self.times: list[tuple[int, bool] | None] = []
        """(ns, whether it is UTC) of all lines, for their clock."""
        self._tool, self._known = tool, known

    def add(
        self, ts: int, device: int | None, instance: str | None, key: str, raw: object, unit: str | None = None
    ) -> None:
        """Add a sample of the tool's series `key`; `raw` is the value as the log writes it."""
        value = parse_number(raw)
        if value is None:
            self.left_out += 1
        else:
            self.samples.append(Sample(ts, device, instance, *name_series(self._tool, key, unit, value, self._known)))

    def add_cpu_count(self, raw: object) -> None:
        """Add the number of CPUs as a sample at the log's first time; does nothing without samples."""
        count = parse_number(raw)
        if count and self.samples:
            self.samples.append(Sample(self.samples[0].ts, None, None, "cpu_count", None, count))

    def log(self, clock: Clock | None = None, host: str | None = None, other_date: int = 0, odd_time: str = "") -> Log:
        """Return the log; without `clock`, the kind of its clock follows from `times`."""
        return Log(self._tool, self.samples, clock or clock_of(self.times), host, other_date, self.left_out, odd_time)


class Rates:
    """Converts totals into their growth per second."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, int | None, str | None], tuple[int, float]] = {}

    def add_total(
        self, meaning: Meaning, ts: int, device: int | None, instance: str | None, total: float
    ) -> list[Sample]:
        """Return the growth per second since the previous total; empty for the first and where the total shrinks."""
        key = (meaning.name, device, instance)
        since, old = self._before.get(key, (ts, total))
        self._before[key] = (ts, total)
        if ts <= since or total < old:
            return []
        rate = (total - old) / ((ts - since) / SECOND) * meaning.factor
        return [Sample(ts, device, instance, meaning.name, SERIES[meaning.name][0] or None, rate)]
