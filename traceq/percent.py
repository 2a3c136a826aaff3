"""Shares as people write them: 3 %."""

from __future__ import annotations

import re

_SHARE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})\s*(%?)\s*")


def share(text: str) -> float:
    """0.03 for "3 %", "3%" and "0.03". Raises ValueError, which says what is wrong, for anything else."""
    match = _SHARE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no share: a number with or without % is needed, as in 3% or 0.03")
    value = float(match[1])
    if match[2]:
        return value / 100
    if value > 1:
        raise ValueError(f"{text!r} is more than all of it: write {text.strip()}% for per cent")
    return value
