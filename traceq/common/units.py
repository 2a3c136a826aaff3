"""Numbers as people read them. Rounding happens here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

UNKNOWN = "cannot tell"

T = TypeVar("T")

_DIGITS = 4
_TIME_UNITS = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
_BYTES_PER_UNIT = 1024


def duration(nanoseconds: float | None) -> str:
    """Four significant digits in the unit that fits: 12.34 ms. Whole nanoseconds stay whole."""
    if nanoseconds is None:
        return UNKNOWN
    if abs(nanoseconds) < _TIME_UNITS[1][1] and nanoseconds == int(nanoseconds):
        return f"{int(nanoseconds)} ns"
    for index, (unit, size) in enumerate(_TIME_UNITS):
        text = _significant(nanoseconds / size)
        is_last = index == len(_TIME_UNITS) - 1
        if is_last or abs(float(text)) < _TIME_UNITS[index + 1][1] / size:
            return f"{float(text):,.0f} {unit}" if abs(float(text)) >= 10**_DIGITS else f"{text} {unit}"
    raise AssertionError("the last unit always fits")


def change(nanoseconds: float | None) -> str:
    """A difference of durations, with its sign: +12.34 ms."""
    if nanoseconds is None:
        return UNKNOWN
    return duration(nanoseconds) if nanoseconds <= 0 else f"+{duration(nanoseconds)}"


def change_share(value: float | None) -> str:
    """A difference as a share, in per cent with its sign: +4.2 %."""
    if value is None:
        return UNKNOWN
    return share(value) if value == 0 else f"{'+' if value > 0 else '-'}{share(abs(value)).replace('< ', '<')}"


def _significant(value: float) -> str:
    if value == 0:
        return "0"
    rounded = float(f"{value:.{_DIGITS - 1}e}")
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{decimals}f}"


def share(value: float | None) -> str:
    """A share 0..1 in per cent; what is not 0 never shows as 0."""
    if value is None:
        return UNKNOWN
    smallest = 0.0005
    return "< 0.1 %" if 0 < value < smallest else f"{value:.1%}".replace("%", " %")


def count(value: int | None) -> str:
    """A number of things, with separators."""
    return UNKNOWN if value is None else f"{value:,}"


def size(value: int) -> str:
    """Bytes in binary units."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < _BYTES_PER_UNIT:
            return f"{value} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _BYTES_PER_UNIT
    return f"{amount:.1f} TiB"


_DURATIONS = ("dur", "claimed")


def cell(column: str, value: float | str | None) -> str:
    """A value of an evidence table, by the ending of its column's name."""
    if value is None or isinstance(value, str):
        return UNKNOWN if value is None else value
    if column.endswith("_ns") or column in _DURATIONS:
        return duration(value)
    if column.endswith("_share"):
        return share(value)
    if column == "ts" or column.endswith("_id"):
        return str(value)  # to be typed into a query
    if column.startswith("is_"):
        return "yes" if value else "no"
    return count(value) if isinstance(value, int) else rate(value)


def rate(value: float) -> str:
    """Three significant digits without an exponent: 12.3, 0.00290, 1,581."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def maybe(format_: Callable[[T], str], value: T | None) -> str:
    """`value` by one of the functions above, a dash when it is unknown: for cells of tables."""
    return "-" if value is None else format_(value)
