"""Limits as people write them: "120 ms", "3 %", ">= 900"."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from traceq.common.text import shortened
from traceq.common.units import parse_duration
from traceq.runs.budgets.budget import BYTES, NANOSECONDS, PER_SECOND, SHARE, TIMES, Bound, Limit

_BOUND = re.compile(r"\s*(<=|>=)?\s*(.*?)\s*", re.DOTALL)
_PERCENT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})\s*%")
_SIGNS: dict[str | None, Bound] = {"<=": "at most", ">=": "at least"}
_TIMES = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{0,20})?)\s*x\s*")
_RATE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})\s*(?:/\s*s)?")

# More than a double has.
_MOST_DIGITS = 309
# Columns of a value in a message.
_WIDEST = 80


def parse_share(text: str) -> Fraction:
    """Parse the share, 0..1, in "3 %". Raises ValueError, which says what is wrong."""
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a percentage: write a number and %, as in 3 %")
    return Fraction(Decimal(match[1])) / 100


def parse_time(value: object) -> Limit:
    """Parse a limit of a time, ns: "120 ms" and "<= 120 ms" are upper limits, ">= 120 ms" is a lower one.

    Raises ValueError, which says what is wrong.
    """
    bound, text = _split_bound(value, 'a time as "120 ms"')
    return Limit(bound or "at most", Fraction(parse_duration(text)), NANOSECONDS)


def parse_time_or_share(value: object) -> Limit:
    """Parse a limit of a time (ns) or of a share of the step (0..1): "5 ms", "3 %".

    An upper one unless it begins with >=. Raises ValueError, which says what is wrong.
    """
    bound, text = _split_bound(value, 'a text as "120 ms" or "3 %"')
    if text.endswith("%"):
        return Limit(bound or "at most", parse_share(text), SHARE)
    return parse_time(value)


def parse_rate(value: object) -> Limit:
    """Parse a limit per second: 900 and ">= 900" are lower limits, "<= 900" is an upper one.

    Raises ValueError, which says what is wrong.
    """
    number = exact_number(value)
    if number is not None:
        return Limit("at least", number, PER_SECOND)
    bound, text = _split_bound(value, 'a number a second as 900, or a text as "<= 900"')
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{quote_value(value)} is not a rate: give a number per second, as in 900")
    return Limit(bound or "at least", Fraction(Decimal(match[1])), PER_SECOND)


def parse_factor(value: object) -> Limit:
    """Parse the upper limit of the slowdown by late ranks: 1.2, or "1.2x".

    Raises ValueError if it is no number, or below 1.
    """
    number = exact_number(value)
    if number is None:
        match = _TIMES.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError(f"{quote_value(value)} is not a factor: give a number as 1.2")
        number = Fraction(Decimal(match[1]))
    if number < 1:
        raise ValueError(f"{quote_value(value)} is below 1, the value of a job whose ranks are all typical")
    return Limit("at most", number, TIMES)


def parse_in_unit(value: object, unit: str) -> Fraction:
    """Parse the limit of an SQL budget as a number in `unit`: a number, "5 ms" if `unit` is ns, or "3 %" if it is share.

    Raises ValueError, which says what is wrong.
    """
    number = exact_number(value)
    if number is not None:
        return number
    if isinstance(value, str) and unit == NANOSECONDS:
        return Fraction(parse_duration(value))
    if isinstance(value, str) and unit == SHARE:
        return parse_share(value)
    ways = {NANOSECONDS: ', or a duration as "5 ms"', SHARE: ', or a share as "3 %"', BYTES: " of bytes"}
    raise ValueError(f"{quote_value(value)} is not a number{ways.get(unit, '')}")


def exact_number(value: object) -> Fraction | None:
    """Return a TOML number as an exact fraction; None if `value` is not a number.

    Raises ValueError for inf, nan and huge ones.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    # written as 1e999999999 it would take as many digits to work with
    is_usable = (
        value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS
        if isinstance(value, Decimal)
        else abs(value) < 10**_MOST_DIGITS
    )
    if not is_usable:
        raise ValueError(f"{quote_value(value)} is not a limit")
    return Fraction(value)


def quote_value(value: object) -> str:
    """Return a TOML value for a message, about as it is written in the file, shortened if it is long."""
    try:
        return shortened(str(value) if isinstance(value, Decimal) else repr(value), _WIDEST)
    except ValueError:  # of Python, for whole numbers
        return "a number with too many digits"


def _split_bound(value: object, accepted: str) -> tuple[Bound | None, str]:
    """Split the text of a limit into its bound (None without <= or >=) and the rest.

    Raises ValueError for a value that is no text; `accepted` says in it what may be written.
    """
    if not isinstance(value, str):
        raise ValueError(f"{quote_value(value)} is not a limit here: write {accepted}")  # noqa: TRY004 - a value of a file
    match = _BOUND.fullmatch(value)
    sign, text = match.groups() if match else (None, value)
    return _SIGNS.get(sign), text
