"""What the rules on copies have in common: sums over a claim, and how sizes and rates are written."""

from __future__ import annotations

from traceq.common.units import short, short_size
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.subject import Subject

_WAY = {"h2d": "to the device", "d2h": "to the host", "d2d": "within the device", "p2p": "between devices"}


def described(subject: Subject, claim: Claim) -> str:
    """What the claim's copies move, as a sentence."""
    per = "" if subject.is_window else " per step"
    parts = [_moved(**row) for row in subject.ask_of(claim, "copy_sums")]
    return f"These are {' and '.join(parts)}{per}." if parts else ""


def _moved(direction: str, copies: float, bytes: float | None, bandwidth: float | None, **_ns: float) -> str:  # noqa: A002 - a column
    """The copies of one direction; a row of copy_sums.sql."""
    number = count(copies)
    way = f" {_WAY[direction]}" if direction in _WAY else ""
    speed = f", {rate(bandwidth)}" if bandwidth else ""
    return f"{number} {'copy' if number == '1' else 'copies'}{way} ({short_size(bytes)} in all{speed})"


def count(number: float) -> str:
    """A number of things per step: whole unless it is small."""
    return f"{number:.1f}" if number < 10 and number % 1 >= 0.05 else f"{number:.0f}"  # noqa: PLR2004 - two digits tell


def rate(bandwidth: float | None) -> str:
    """Bytes per ns for people."""
    return "an unknown rate" if bandwidth is None else f"{short(bandwidth)} GB/s"
