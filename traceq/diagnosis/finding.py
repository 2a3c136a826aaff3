"""The outcomes of a rule: found, observed, clean, not applicable or failed - never an empty list.

A Finding wins time. Its savings are nanoseconds of wall time per counted step: `saving_ns` is what a replay of the
step leaves of the time it claims, `saving_high_ns` never more than the ledger holds for it. What it claims is taken
from the ledger of one device, piece by piece; a piece that another finding owns is not counted again. An Observation
wins nothing by itself, but changes what to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from traceq.common.text import first_clause

Confidence = Literal["high", "medium", "low"]
Value = bool | int | float | str | None


@dataclass(frozen=True)
class Where:
    """The place a finding is about; fields that are unknown or differ within it are None."""

    trace_id: int
    rank: int | None
    device: int | None
    device_name: str | None
    stream: int | None = None
    phase: str | None = None
    annotation: str | None = None
    operator: str | None = None
    source_line: str | None = None


@dataclass(frozen=True)
class Evidence:
    """The rows that `query` returns. Columns that end in _ns, and ts and dur, hold nanoseconds, in _share 0..1."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    query: str


@dataclass(frozen=True)
class Part:
    """Another rule's view of time that a finding owns: what it would win alone, per step, and what its fix is.

    `is_extra`: no labelled real trace has confirmed the rule.
    """

    rule: str
    finding_id: str
    title: str
    saving_ns: float
    confidence: Confidence
    fix: str
    evidence: Evidence
    is_extra: bool = False


@dataclass(frozen=True)
class Finding:
    """A problem, what fixing it could win, and the queries that prove it. Times are nanoseconds per counted step.

    `claimed_ns` is the time of the ledger that the rule lays claim to, `owned_ns` the part of it that no finding before it
    owns; the savings are those of the owned part. With `only_bounds` the replay is too far off for a likely value, and
    `saving_ns` is the middle of the bounds. `assumed_share` is the part of the owned time that the rule assumes a fix
    to take away. `rule_share` is what the rule itself has as `likely`, which is multiplied by shares of single pieces;
    None where findings of several are one. `summary` is one row: the claim, and its savings if it owned all of it.
    `instances` are its worst pieces, `occurrences` the number of slices that it is on. `owned_by_category` is what it owns
    of each category of the ledger. Where findings of several are one, `claimed_ns` is the least that all of them together
    lay claim to; `summary`, `instances` and `occurrences` are those of the largest. `is_extra`: no labelled real trace has
    confirmed the rule.
    """

    rule: str
    finding_id: str
    title: str
    where: Where
    claimed_ns: float
    owned_ns: float
    saving_ns: float
    saving_low_ns: float
    saving_high_ns: float
    only_bounds: bool
    assumed_share: float
    expected_step_ns: float
    confidence: Confidence
    confidence_reason: str
    summary: Evidence
    instances: Evidence
    fix: str
    wrong_if: str
    references: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    owned_by_category: dict[str, float] = field(default_factory=dict)
    rule_share: float | None = None
    occurrences: int | None = None
    is_extra: bool = False

    @property
    def deed(self) -> str:
        """The first clause of the fix: what to do, in a line."""
        return first_clause(self.fix)


@dataclass(frozen=True)
class Observation:
    """Something that wins no time by itself and yet matters for what to do. `is_extra` as of findings."""

    rule: str
    finding_id: str
    title: str
    where: Where
    text: str
    evidence: Evidence
    fix: str
    references: tuple[str, ...]
    is_extra: bool = False

    @property
    def deed(self) -> str:
        """The first clause of the fix."""
        return first_clause(self.fix)


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


Outcome = Finding | Observation | Clean | NotApplicable | Failed
