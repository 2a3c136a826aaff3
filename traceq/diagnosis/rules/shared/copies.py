"""What the rules on copies have in common: their inputs, sums over a claim, and how sizes and rates are written."""

from __future__ import annotations

from dataclasses import dataclass

from traceq.common.units import short, short_size
from traceq.database.sql import statement
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.subject import Subject

_LONGEST = 80
_WAY = {"h2d": "to the device", "d2h": "to the host", "d2d": "inside the device", "p2p": "between devices"}


@dataclass(frozen=True)
class Moved:
    """Copies of one direction that a claim is about: how many, bytes and time of a counted step, bytes per ns."""

    direction: str | None
    copies: float
    bytes: float | None
    ns: float
    bandwidth: float | None


def asked_for(subject: Subject) -> None:
    """Raise where the trace has no copies, or only migrations that no call asked for, or does not say what is needed."""
    subject.needs("gpu", "steps")
    if not subject.present["copies"]:
        raise NothingThere("no copy ran on the GPU")
    if subject.present["copies"] == subject.present["migrations"]:
        raise NothingThere("no call asked for a copy: all are migrations of unified memory")


def moved(subject: Subject, claim: Claim) -> list[Moved]:
    """The copies of a claim by direction, those with most time first."""
    return [
        Moved(row["direction"], row["copies"], row["bytes"], row["ns"], row["bandwidth"])
        for row in subject.ask_of(claim, statement("diagnosis/rules/shared/copy_sums.sql"))
    ]


def described(subject: Subject, claim: Claim) -> str:
    """What the claim's copies move, as a sentence."""
    per = "" if subject.is_whole_trace else " per step"
    parts = [
        f"{count(each.copies)} {'copy' if count(each.copies) == '1' else 'copies'}"
        f"{f' {_WAY[each.direction]}' if each.direction in _WAY else ''} ({short_size(each.bytes)} in all"
        f"{f', {rate(each.bandwidth)}' if each.bandwidth else ''})"
        for each in moved(subject, claim)
    ]
    return f"These are {' and '.join(parts)}{per}." if parts else ""


def count(number: float) -> str:
    """A number of things per step: whole unless it is small."""
    return f"{number:.1f}" if number < 10 and number % 1 >= 0.05 else f"{number:.0f}"  # noqa: PLR2004 - two digits tell


def rate(bandwidth: float | None) -> str:
    """Bytes per ns for people."""
    return "an unknown rate" if bandwidth is None else f"{short(bandwidth)} GB/s"


def cut(name: str) -> str:
    """A name from the trace, not too long."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
