"""What the user writes after --vary and --env: NAME=VALUES, where values are a list or a range."""

from __future__ import annotations

import re
from decimal import Decimal

# FROM..TO and how to get from one value to the next: x2 or +32.
_RANGE = re.compile(r"(-?[0-9.]+)\.\.(-?[0-9.]+)([x+])([0-9.]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# More settings than anybody waits for.
_MOST = 100


def read_vary(text: str) -> tuple[str, tuple[str, ...]]:
    """The name, and its values as text. ValueError says what is accepted."""
    name, equals, values = text.partition("=")
    if not equals or not _NAME.fullmatch(name) or not values:
        raise ValueError(
            f"{text!r} is no NAME=VALUES: num_workers=0,2,4, batch_size=32..256x2 or batch_size=32..256+32"
        )
    found = tuple(dict.fromkeys(value for each in values.split(",") for value in _values(each.strip(), text)))
    if len(found) > _MOST:
        raise ValueError(f"{text!r} has {len(found)} values; at most {_MOST} can be tried")
    return name, found


def _values(part: str, text: str) -> list[str]:
    match = _RANGE.fullmatch(part)
    if match is None:
        if not part or re.search(r"[0-9]\.\.[0-9]", part):
            raise ValueError(
                f"{text!r}: {part!r} is no value and no range: write 32..256x2 (times 2) or 32..256+32 (plus 32)"
            )
        return [part]
    low, high, by = (_number(each, text) for each in (match[1], match[2], match[4]))
    times = match[3] == "x"
    if low > high or by <= (1 if times else 0) or (times and low <= 0):
        raise ValueError(f"{text!r}: a range goes up from a smaller number to a larger one: 32..256x2 or 32..256+32")
    found: list[str] = []
    while low <= high and len(found) <= _MOST:
        found.append(f"{low.normalize():f}")
        low = low * by if times else low + by
    return found


def _number(text: str, whole: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{whole!r}: {text!r} is no number") from None
