"""What a rule can end as: found, clean, not applicable or failed - never an empty list.

A Finding's `saving_ns` is an upper bound: the wall time per step that would disappear if the finding's cause
did, never more than the ledger holds for it. The ledger's categories are disjoint on each device, so findings
on one device never claim a nanosecond twice; findings on different devices can cover the same wall time, and
savings are never added over devices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Confidence = Literal["high", "medium", "low"]
Value = int | float | str | None


@dataclass(frozen=True)
class Where:
    """The place a finding is about."""

    trace_id: int
    rank: int | None
    device: int
    device_name: str | None


@dataclass(frozen=True)
class Evidence:
    """The rows behind a finding. Columns that end in _ns hold nanoseconds, in _share 0..1."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Finding:
    """A problem, what fixing it could win, and the query that proves it. Times are nanoseconds per step."""

    rule: str
    finding_id: str
    title: str
    where: Where
    saving_ns: float
    saving_low_ns: float
    saving_high_ns: float
    expected_step_ns: float
    confidence: Confidence
    confidence_reason: str
    evidence: Evidence
    query: str
    fix: str


@dataclass(frozen=True)
class Clean:
    """A rule that looked and found nothing to win."""

    rule: str
    title: str
    reason: str


@dataclass(frozen=True)
class NotApplicable:
    """A rule that cannot tell, with what is missing and what brings it."""

    rule: str
    title: str
    reason: str


@dataclass(frozen=True)
class Failed:
    """A rule that broke: an error in traceq or in the database, never a statement about the trace."""

    rule: str
    title: str
    error: str


Outcome = Finding | Clean | NotApplicable | Failed


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with the largest saving first; ties by rule, so that the order never depends on chance."""
    return tuple(sorted(findings, key=lambda finding: (-finding.saving_ns, finding.finding_id)))
