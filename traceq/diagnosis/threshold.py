"""Thresholds of rules: the numbers that decide what a rule says, each with where it comes from.

They stand in the header of the SQL file that reads them, or of the file beside the Python module that does:

    -- threshold: tiny_ns = 10000: launching a kernel takes the host 5 to 10 us by itself
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Shares above it are told by what they leave to 1.
_HALF = 0.5
_WRITTEN = re.compile(r"(\w+)\s*=\s*(\d{1,18}(?:\.\d+)?):\s+(\S.*)")


class Threshold(NamedTuple):
    """A number that decides what a rule says. `place` is the file that declares it, `reason` says where it comes from."""

    place: str
    name: str
    value: float
    reason: str

    @property
    def key(self) -> tuple[str, str]:
        """The key under which mappings of factors have it: its place and name."""
        return self.place, self.name

    def times(self, factor: float) -> float:
        """Return the value times `factor`, to make a rule stricter or looser; a whole number stays whole.

        For a share above one half, what it leaves to 1 is divided by the factor: 0.9 times 1.5 is 0.933, not 1.35,
        which nothing reaches.
        """
        if isinstance(self.value, int):
            return round(self.value * factor)
        if _HALF < self.value < 1:
            return 1 - (1 - self.value) / factor
        return self.value * factor


def parse_threshold(place: str, text: str) -> Threshold:
    """Return the threshold in the text after `threshold:` in the header of the file `place`.

    Raises ValueError if it is not written as `name = number: reason`.
    """
    written = _WRITTEN.fullmatch(text)
    if not written:
        raise ValueError(f"threshold {text!r} in {place}: write it as name = number: reason")
    name, number, reason = written.groups()
    return Threshold(place, name, float(number) if "." in number else int(number), reason)
