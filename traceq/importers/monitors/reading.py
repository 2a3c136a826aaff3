"""Samples of a monitor's log on its own clock, and times and numbers as tools write them, for all readers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.monitors.series import SERIES, Meaning, name_series

# utc: it says when, for certain; local: times of day of a zone that it does not name; none: no times at all.
Clock = Literal["utc", "local", "none"]


class Sample(NamedTuple):
    """One value of one series: `ts` is ns since 1970 as the log's clock reads, 0 without times.

    `device` is the tool's number of a GPU, None for the host. `instance` is the part of the host (a disk, a network
    interface, one CPU, a process), None for the whole host. `name` and `unit` are those of name_series().
    """

    ts: int
    device: int | None
    instance: str | None
    name: str
    unit: str | None
    value: float


class Log(msgspec.Struct, frozen=True):
    """All samples of a log in the order of the file; `tool` is the monitor, `clock` how far its times can be trusted.

    `host` is the name of the machine, None where the file does not say it. `other_date` is the ns to add to every `ts`
    if the log writes day and month in the other order; 0 where the order is certain. `left_out` counts values that are
    no numbers, lines that cannot be read and values of a first report on the time before the log. `odd_time` is the
    first time that cannot be read, as text; "" if there is none.
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
_NUMBER = re.compile(r"[-+]?(?!0[xX])(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def parse_number(text: object) -> float | None:
    """Return the number at the beginning of a value: 45.0 of "45 %"; a decimal comma counts as a point.

    None for words ("[N/A]", "-"), booleans, hexadecimal numbers and numbers that are not finite.
    """
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, float):
        return text if math.isfinite(text) else None
    found = _NUMBER.match(str(text).strip().replace(",", "."))
    value = float(found[0]) if found else math.inf
    return value if math.isfinite(value) else None


def parse_device(text: object) -> int | None:
    """Return the number of a GPU, None for what is none."""
    number = parse_number(text)
    return int(number) if number is not None and number.is_integer() and number >= 0 else None


def parse_time(text: str) -> tuple[int, bool] | None:
    """Return (ns since 1970, whether the time is certainly UTC) of an ISO-like time or of seconds since 1970; else None.

    A time without a zone is read as if it were UTC, and is not certain.
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
    """Return the start of a day as ns since 1970, for each way to read its date: 11/12/26 has two, month first comes first.

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
    """Return the ns since midnight of a time like 14:05:09 or 02:05:09 PM; None for other text."""
    words = text.strip().split()
    found = _TIME.match(words[0]) if words else None
    if not found:
        return None
    hour = int(found[1])
    if len(words) > 1:
        hour = hour % 12 + (12 if words[1].upper().startswith("P") else 0)
    return (hour * 3600 + int(found[2]) * 60 + int(found[3])) * SECOND


def parse_local_time(text: str) -> tuple[int, int, bool] | None:
    """Return (ns since 1970, ns to add if day and month are in the other order, whether it is certainly UTC).

    Reads ISO-like times, seconds since 1970, and dates like 11/12/26 with a time of day; None for other text.
    """
    whole = parse_time(text)
    if whole is not None:
        return whole[0], 0, whole[1]
    day, _, clock = text.strip().partition(" ")
    starts, time = parse_dates(day), parse_time_of_day(clock)
    if not starts or time is None:
        return None
    return starts[0] + time, starts[-1] - starts[0], False


def host_of_sysstat(text: str) -> dict[str, Any]:
    """Return the first host's object in sysstat's JSON, with its list of reports as "statistics".

    Raises UnusableTrace if it has no such host, ValueError for text that is no JSON.
    """
    match json.loads(text):
        case {"sysstat": {"hosts": [dict(host), *_]}} if isinstance(host.get("statistics"), list):
            return host
    raise UnusableTrace("sysstat wrote no reports into it (sysstat.hosts[0].statistics); let it run longer")


def is_steady(times: list[int]) -> bool:
    """Return whether the times (ns) follow each other at about equal distances, not in bursts as the lines of several GPUs do.

    Also True for fewer than two times.
    """
    gaps = sorted(after - before for before, after in pairwise(times))
    # At least half of the gaps are between bursts, and few are pauses.
    return not gaps or gaps[0] >= gaps[3 * len(gaps) // 4] / 2


def clock_of(stamps: Iterable[tuple[int, bool] | None]) -> Clock:
    """Return the kind of a log's clock from the times of all its lines: (ns, whether it is certainly UTC), None without one.

    "none" if a line has no time or there are no lines, "utc" if all are UTC, else "local".
    """
    seen = {None if stamp is None else stamp[1] for stamp in stamps}
    if not seen or None in seen:
        return "none"
    return "utc" if seen == {True} else "local"


class LogBuilder:
    """Collector of a log's samples; `known` maps the tool's names of series to traceq's.

    `left_out` counts values that are no numbers.
    """

    def __init__(self, tool: str, known: dict[str, Meaning]) -> None:
        self.samples: list[Sample] = []
        self.left_out = 0
        self.times: list[tuple[int, bool] | None] = []
        """(ns, whether it is UTC) of all lines, for their clock."""
        self._tool, self._known = tool, known

    def add(
        self, ts: int, device: int | None, instance: str | None, key: str, raw: object, unit: str | None = None
    ) -> None:
        """Add a sample of the tool's series `key`, under traceq's name and unit where known, else TOOL:KEY with `unit`.

        `raw` is the value as the log writes it; if it begins with no number, `left_out` is increased instead.
        """
        value = parse_number(raw)
        if value is None:
            self.left_out += 1
        else:
            self.samples.append(Sample(ts, device, instance, *name_series(self._tool, key, unit, value, self._known)))

    def add_cpu_count(self, raw: object) -> None:
        """Add the number of CPUs as a sample `cpu_count` at the first sample's time; does nothing without samples or a number."""
        count = parse_number(raw)
        if count and self.samples:
            self.samples.append(Sample(self.samples[0].ts, None, None, "cpu_count", None, count))

    def log(self, clock: Clock | None = None, host: str | None = None, other_date: int = 0, odd_time: str = "") -> Log:
        """Return the log of all samples; without `clock`, the kind of its clock follows from `times`. See Log for the others."""
        return Log(self._tool, self.samples, clock or clock_of(self.times), host, other_date, self.left_out, odd_time)


class Rates:
    """Converter of counters that only grow into their growth per second, over all series of a log."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, int | None, str | None], tuple[int, float]] = {}

    def add_total(
        self, meaning: Meaning, ts: int, device: int | None, instance: str | None, total: float
    ) -> list[Sample]:
        """Return a sample with the growth per second since the previous total of the series, device and instance; `ts` is in ns.

        Empty for the first total, and where the total shrank or no time passed.
        """
        key = (meaning.name, device, instance)
        since, old = self._before.get(key, (ts, total))
        self._before[key] = (ts, total)
        if ts <= since or total < old:
            return []
        rate = (total - old) / ((ts - since) / SECOND) * meaning.factor
        return [Sample(ts, device, instance, meaning.name, SERIES[meaning.name][0] or None, rate)]
