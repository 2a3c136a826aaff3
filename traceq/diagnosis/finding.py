"""The outcomes of a rule: found, observed, clean, not applicable or failed - never an empty list.

A Finding wins time. Its savings are nanoseconds of wall time per counted step: `saving_ns` is what a replay of the
step leaves of the time it claims, `saving_high_ns` never more than the ledger holds for it. What it claims is taken
from the ledger of one device, piece by piece; a piece that another finding owns is not counted again. An Observation
wins nothing by itself, but changes what to do.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.common.text import first_clause

Confidence = Literal["high", "medium", "low"]
Value = bool | int | float | str | None


class Where(msgspec.Struct, frozen=True):
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


class Evidence(msgspec.Struct, frozen=True):
    """Rows that prove what a finding says, and their `query`, an SQL text that a user can run.

    Columns ending in _ns, and ts and dur, are in ns; those ending in _share are 0..1.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    query: str


class Part(msgspec.Struct, frozen=True):
    """Advice of another rule on time that a finding owns; `saving_ns` is its saving if fixed alone, ns per counted step.

    `is_extra`: the rule is of the pack extra, which no labelled real trace has confirmed.
    """

    rule: str
    finding_id: str
    title: str
    saving_ns: float
    confidence: Confidence
    fix: str
    evidence: Evidence
    is_extra: bool = False


class Finding(msgspec.Struct, frozen=True):
    """A problem, the saving of a fix, and the queries that prove it; times in ns per counted step.

    `claimed_ns` is the ledger's time that the rule claims, `owned_ns` the part of it that no earlier finding owns;
    savings are of the owned part. With `only_bounds` the replay is too inaccurate for a likely value, and `saving_ns`
    is the middle of the bounds. `assumed_share` is the share (0..1) of the owned time that the rule assumes a fix to
    take away. `rule_share` is the rule's own `likely`, which shares of pieces multiply; None where merged findings
    differ in it. `summary` is a single row: the claim, and its savings if it owned all of its time. `instances` are its
    worst pieces, `queries` those of further numbers in its texts, `occurrences` the number of slices that it is on.
    `owned_by_category` is its owned time by category of the ledger. Where several findings are merged, `claimed_ns` is
    the least that they claim together; `summary`, `instances`, `queries` and `occurrences` are the largest one's.
    `is_extra`: the rule is of the pack extra, which no labelled real trace has confirmed.
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
    owned_by_category: dict[str, float] = msgspec.field(default_factory=dict)
    queries: tuple[str, ...] = ()
    rule_share: float | None = None
    occurrences: int | None = None
    is_extra: bool = False

    @property
    def deed(self) -> str:
        """The first clause of the fix: what to do, short enough for a line."""
        return first_clause(self.fix)


class Observation(msgspec.Struct, frozen=True):
    """An observation of a rule: it saves no time by itself, but changes what to do; `evidence` proves it.

    `queries` are those of further numbers in its texts.
    `is_extra`: the rule is of the pack extra, which no labelled real trace has confirmed.
    """

    rule: str
    finding_id: str
    title: str
    where: Where
    text: str
    evidence: Evidence
    fix: str
    references: tuple[str, ...]
    queries: tuple[str, ...] = ()
    is_extra: bool = False

    @property
    def deed(self) -> str:
        """The first clause of the fix: what to do, short enough for a line."""
        return first_clause(self.fix)


class Clean(msgspec.Struct, frozen=True):
    """The outcome of a rule that had its input and found nothing to win."""

    rule: str
    title: str
    reason: str


class NotApplicable(msgspec.Struct, frozen=True):
    """The outcome of a rule that cannot tell; `reason` says which input is missing, and how to get it."""

    rule: str
    title: str
    reason: str


class Failed(msgspec.Struct, frozen=True):
    """The outcome of a rule that broke, by an error in traceq or in the database; it says nothing about the trace."""

    rule: str
    title: str
    error: str


Outcome = Finding | Observation | Clean | NotApplicable | Failed
