"""Numbers as people read and write them: formatted, with all the rounding there is, and parsed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Literal, TypeVar

UNKNOWN = "cannot tell"

T = TypeVar("T")

_DIGITS = 4
TIME_UNITS = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
SIZE_UNITS = (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40))
BANDWIDTH_UNITS = (
    ("B/s", 1),
    ("kB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
    ("TB/s", 1_000_000_000_000),
)
_SMALLEST = 0.05
# Sizes of a column are lower numbers than this.
_HIGHEST = 10_000
_WHOLE_MIB = 100


def duration(nanoseconds: float | None) -> str:
    """Format ns with four significant digits in the unit that fits: 12.34 ms; "cannot tell" for None. Whole ns stay whole."""
    if nanoseconds is None:
        return UNKNOWN
    if abs(nanoseconds) < TIME_UNITS[1][1] and nanoseconds == int(nanoseconds):
        return f"{int(nanoseconds)} ns"
    for index, (unit, size) in enumerate(TIME_UNITS):
        text = _significant(nanoseconds / size)
        is_last = index == len(TIME_UNITS) - 1
        if is_last or abs(float(text)) < TIME_UNITS[index + 1][1] / size:
            return f"{float(text):,.0f} {unit}" if abs(float(text)) >= 10**_DIGITS else f"{text} {unit}"
    raise AssertionError("the last unit always fits")


def round_time(seconds: float) -> str:
    """Format seconds roughly, for a person who waits: 40 s, 3 min, 2 h."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


_SPANS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def time_span(nanoseconds: float | None) -> str:
    """Format ns of a long time in two units: 3 d 4 h, 18 h 20 min, 12 min 30 s, 45 s; below 10 s as duration() does."""
    if nanoseconds is None or nanoseconds < 10 * 10**9:
        return duration(nanoseconds)
    if round(nanoseconds / 10**9) < _SPANS[2][1]:
        return f"{nanoseconds / 10**9:.0f} s"
    for (large, size), (small, part) in pairwise(_SPANS):
        whole = round(nanoseconds / (part * 10**9)) * part
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {large} {rest} {small}" if rest else f"{whole // size} {large}"
    raise AssertionError("a minute is the smallest")


def money(amount: float | None) -> str:
    """Format an amount of money with two decimals, without them from 1,000 on: 12.34, 1,235; "cannot tell" for None."""
    if amount is None:
        return UNKNOWN
    return f"{amount:,.0f}" if abs(amount) >= 1000 else f"{amount:.2f}"  # noqa: PLR2004 - as many digits


def energy(joules: float | None) -> str:
    """Format an energy: 3.2 kJ, 1.5 kWh; "cannot tell" for None."""
    if joules is None:
        return UNKNOWN
    if joules >= _KILOWATT_HOUR / 10:
        return f"{rate(joules / _KILOWATT_HOUR)} kWh"
    return f"{rate(joules / 1000)} kJ" if joules >= 1000 else f"{rate(joules)} J"  # noqa: PLR2004 - a thousand


_KILOWATT_HOUR = 3_600_000


def change(nanoseconds: float | None) -> str:
    """Format a difference of durations, ns, with its sign: +12.34 ms; "cannot tell" for None."""
    if nanoseconds is None:
        return UNKNOWN
    return duration(nanoseconds) if nanoseconds <= 0 else f"+{duration(nanoseconds)}"


def change_share(value: float | None) -> str:
    """Format a relative difference in per cent with its sign: +4.2 % for 0.042; "cannot tell" for None."""
    if value is None:
        return UNKNOWN
    return share(value) if value == 0 else f"{'+' if value > 0 else '-'}{share(abs(value)).replace('< ', '<')}"


def _significant(value: float) -> str:
    """Format a number with four significant digits, without an exponent."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{_DIGITS - 1}e}")
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{decimals}f}"


def share(value: float | None) -> str:
    """Format a share 0..1 in per cent with one decimal: 3.0 %; "< 0.1 %" for small ones, "cannot tell" for None."""
    if value is None:
        return UNKNOWN
    smallest = 0.0005
    return "< 0.1 %" if 0 < value < smallest else f"{value:.1%}".replace("%", " %")


def count(value: int | None) -> str:
    """Format a number with thousands separators; "cannot tell" for None."""
    return UNKNOWN if value is None else f"{value:,}"


def some(number: int, one: str, many: str | None = None) -> str:
    """Format a number of things: 1 step, 1,200 steps; `many` is the plural, by default `one` + s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def choose_unit(highest: float, units: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Return the largest of `units` (TIME_UNITS or SIZE_UNITS) that is not above `highest`, as name and size.

    The smallest unit if all are above it.
    """
    return next((unit for unit in reversed(units) if highest >= unit[1]), units[0])


def size(value: int) -> str:
    """Format bytes in binary units with one decimal: 1.5 GiB."""
    unit, one = choose_unit(value, SIZE_UNITS)
    return f"{value} B" if one == 1 else f"{value / one:.1f} {unit}"


def sizes_alike(values: Iterable[int | None]) -> Callable[[int | None], str]:
    """Return a function that formats bytes in one unit that fits all of `values`, for a column of a table; "-" for None.

    It writes as few decimals, 1 to 3, as tell most of them apart.
    """
    known = {value for value in values if value}
    at = SIZE_UNITS.index(choose_unit(max(known, default=0), SIZE_UNITS))
    # what would show as 0.0 gets the next smaller unit, if the largest stays a number to read
    if at and min(known) < _SMALLEST * SIZE_UNITS[at][1] and max(known) < _HIGHEST * SIZE_UNITS[at - 1][1]:
        at -= 1
    unit, one = SIZE_UNITS[at]

    def format_size(value: int | None, decimals: int) -> str:
        if value is None:
            return "-"
        if unit == "B" or not value:
            return f"{value:,} {unit}"
        least = 10**-decimals
        return f"< {least:.{decimals}f} {unit}" if value < least / 2 * one else f"{value / one:,.{decimals}f} {unit}"

    fewest = max((1, 2, 3), key=lambda decimals: len({format_size(value, decimals) for value in known}))
    return lambda value: format_size(value, fewest)


def durations_alike(values: Iterable[float | None]) -> Callable[[float | None], str]:
    """Return a function that formats each of these times (ns) in the unit of the longest, for a column of a table.

    The function returns "-" for None.
    """
    longest = max((value for value in values if value), default=0)
    unit, one = choose_unit(longest, TIME_UNITS)

    def words(value: float | None) -> str:
        if value is None:
            return "-"
        amount = value / one
        if unit == "ns" or not value:
            return f"{amount:,.0f} {unit}"
        return f"< 0.001 {unit}" if amount < _SMALLEST / 100 else f"{amount:,.3f} {unit}"

    return words


def mebibytes(value: float) -> str:
    """Format bytes in MiB, never in another unit, for sentences that compare several amounts."""
    amount = value / dict(SIZE_UNITS)["MiB"]
    if amount >= _WHOLE_MIB or not amount:
        return f"{amount:,.0f} MiB"
    return "< 0.1 MiB" if amount < _SMALLEST else f"{amount:.1f} MiB"


def in_unit(value: str, unit: str | None) -> str:
    """Format a value, given as text, with its unit: 700 W; bytes in a larger unit; unchanged without a unit."""
    if unit == "bytes" and value.isdecimal():
        return size(int(value))
    return f"{value} {unit}" if unit else value


def bytes_in(unit: Literal["MiB", "GiB"], value: float, decimals: int) -> str:
    """Format bytes as a number of MiB or GiB with that number of `decimals`, without the unit."""
    return f"{value / dict(SIZE_UNITS)[unit]:,.{decimals}f}"


def short_size(value: float | None) -> str:
    """Format bytes with three significant digits and a unit, for sentences: 1.53 GiB.

    "an unknown number of bytes" for None.
    """
    if value is None:
        return "an unknown number of bytes"
    unit, one = choose_unit(value, SIZE_UNITS[:4])
    amount = value / one
    if one == 1:
        return f"{amount:.3g} bytes"
    return f"{amount:,.0f} GiB" if amount >= SIZE_UNITS[1][1] else f"{amount:.3g} {unit}"


def short(value: float) -> str:
    """Format a number with three significant digits, in whole numbers from 1000 on, for sentences: 12.3, 12, 1,581."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004 - as many digits


def per_cent(value: float) -> str:
    """Format a share that somebody chose without rounding it: 95 % for 0.95."""
    return f"{100 * value:g} %"


_MOMENT = "_ts"


def cell(column: str, value: float | str | None, begin: int | None = None) -> str:
    """Format a value of an evidence table by its column's name: _ns as duration, _share as per cent, is_ as yes or no, ...

    Texts stay as they are; "cannot tell" for None. With `begin`, the start of the trace in ns, a time is given from there.
    """
    if value is None or isinstance(value, str):
        return UNKNOWN if value is None else value
    name = f"_{column}"
    if begin is not None and name.endswith(_MOMENT):
        return f"{(value - begin) / dict(TIME_UNITS)['ms']:.3f} ms"
    for ending, format_ in _BY_ENDING:
        if name.endswith(ending):
            return format_(value)
    if column.startswith("is_"):
        return "yes" if value else "no"
    return count(value) if isinstance(value, int) else rate(value)


def column_title(column: str) -> str:
    """Return the title of a column of an evidence table: without its unit, and "at" for a time from the start of the trace."""
    words = f"{column[:-2]}at" if f"_{column}".endswith(_MOMENT) else column.removesuffix("_ns")
    return words.replace("_", " ")


def rate(value: float) -> str:
    """Format a number with three significant digits and no exponent: 12.3, 0.00290, 1,581."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def format_bandwidth(gb_per_s: float) -> str:
    """Format a bandwidth in GB/s with three significant digits in the unit that fits: 394 kB/s, 12.3 GB/s, 1.55 TB/s."""
    bytes_per_s = gb_per_s * dict(BANDWIDTH_UNITS)["GB/s"]
    unit, one = choose_unit(abs(bytes_per_s), BANDWIDTH_UNITS)
    return f"{rate(bytes_per_s / one)} {unit}"


# What is typed into a query stays as it is.
_BY_ENDING: tuple[tuple[str, Callable[[float], str]], ...] = (
    *((ending, duration) for ending in ("_ns", "_dur", "_claimed")),
    ("_share", share),
    ("_bandwidth", format_bandwidth),
    ("_bytes", lambda value: size(int(value))),
    *((ending, str) for ending in (_MOMENT, "_id")),
)


def maybe(format_: Callable[[T], str], value: T | None) -> str:
    """Format `value` by the function `format_`; "-" for None."""
    return "-" if value is None else format_(value)


# --- as people write them

_NS_PER_UNIT = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
}
_DURATION = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})\s*([a-zµμ]+)\s*")
_LONGEST = 2**63 - 1  # what a column of ns holds


def parse_duration(text: str) -> int:
    """Parse a duration such as "50 ms", "1.5s" or "200 µs" into whole ns; units are ns, us, µs, ms, s and min.

    Halves are rounded to the even number. Raises ValueError, which says what is wrong, for anything else, also a number
    alone.
    """
    match = _DURATION.fullmatch(text)
    if match is None or match[2] not in _NS_PER_UNIT:
        raise ValueError(f"{text!r} is not a duration: write a number and one of ns, us, ms, s, min, as in 50 ms")
    with localcontext(prec=60):
        exact = int((Decimal(match[1]) * _NS_PER_UNIT[match[2]]).to_integral_value())
    if exact > _LONGEST:
        raise ValueError(f"{text!r} is longer than any step can be")
    return exact


_SIZE_UNITS = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
_SIZE = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{0,6})?)\s*([A-Za-z]*)\s*")


def parse_size(text: str) -> int:
    """Parse a size such as "2 GiB", "512MB" or "1073741824" into bytes. Raises ValueError, which says what is wrong."""
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in _SIZE_UNITS:
        raise ValueError(f"{text!r} is not a size: write a number and one of {', '.join(_SIZE_UNITS)[2:]}, as in 2GiB")
    return int(Decimal(match[1]) * _SIZE_UNITS[match[2]])


_SHARE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})\s*(%?)\s*")


def parse_share(text: str) -> float:
    """Parse a share (0..1): 0.03 for "3 %", "3%" and "0.03". Raises ValueError, which says what is wrong."""
    match = _SHARE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a percentage: write a number with or without %, as in 3% or 0.03")
    value = float(match[1])
    if match[2]:
        return value / 100
    if value > 1:
        raise ValueError(f"{text!r} is more than 100 %: write {text.strip()}% for per cent")
    return value
