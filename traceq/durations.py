"""Durations as people write them: 50 ms."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext

_UNITS = {
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


def nanoseconds(text: str) -> int:
    """The whole nanoseconds in "50 ms", "1.5s" or "200 µs": a number and ns, us, µs, ms, s or min.

    Rounds halves to the even number. Raises ValueError, which says what is wrong, for anything else, also a number alone.
    """
    match = _DURATION.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no duration: a number and one of ns, us, ms, s, min is needed, as in 50 ms")
    with localcontext(prec=60):
        exact = int((Decimal(match[1]) * _UNITS[match[2]]).to_integral_value())
    if exact > _LONGEST:
        raise ValueError(f"{text!r} is longer than any step can be")
    return exact
