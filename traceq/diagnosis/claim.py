"""Claims on the time of the ledger: what a rule's query finds, summed up, and its worst pieces.

A rule's query returns one row per piece of time it lays claim to:

    step, ts, dur, name   which piece, when (ns), and what to call it
    slice_id              the host or GPU slice to look at; NULL for none
    claimed               ns of the ledger, on the critical device
    cause                 the ledger's category of that time
    gap_id                idle_piece.gap_id; for time in which nothing runs
    busy_id               busy_piece.slice_id; for time in which something does
    scenario              replay.scenario that tells what a fix wins; without it, cause
    goes_low, goes, goes_high
                          where no GPU works: shares of `claimed` that go at least, likely and at most, times those of the rule

and whatever else explains the piece. All from gap_id on may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from traceq.database.query import Setting, ask
from traceq.database.sql import statement
from traceq.diagnosis.finding import Evidence, Value
from traceq.diagnosis.query import RuleQuery, names_used, standalone_query

if TYPE_CHECKING:
    import duckdb

# How many pieces of a claim are shown.
WORST: dict[str, Setting] = {"worst": 5}


class Claim(msgspec.Struct, frozen=True):
    """A claim on time of the ledger: a rule's `query` with the parameters `values`, and what it found.

    `row` is the row of summary_query: the pieces' count, claimed time and savings. `number` tells the claims on a trace
    apart. `worst` are the largest pieces, five at most, with all columns of the query; `occurrences` is the number of
    slices that the claim is on, as several pieces may be of one.
    """

    query: RuleQuery
    values: Mapping[str, Setting]
    row: Mapping[str, Any]
    number: int
    worst: Sequence[Mapping[str, Any]]
    occurrences: int

    @property
    def instances(self) -> int:
        """The number of pieces that the query found."""
        return int(self.row["instances"])

    @property
    def claimed_ns(self) -> float:
        """Claimed time, ns per counted step."""
        return float(self.row["claimed_ns"])

    @property
    def saving_ns(self) -> float:
        """The likely saving of a fix if no other rule claimed the time, ns per counted step."""
        return float(self.row["saving_ns"])

    @property
    def rule_share(self) -> float:
        """The rule's share `likely` (0..1) of time that a fix takes away, from its header or fitted.

        Pieces may have factors to it.
        """
        return float(str(self.values["likely"]))

    @property
    def is_down_to_limit(self) -> bool:
        """Whether the rule's header says that a fix leaves of each piece what it takes near a limit of the GPU or a link."""
        return self.query.header.get("down-to") == "limit"

    def assumed_share(self, saving_ns: float, owned_ns: float) -> float:
        """Return the share (0..1) of the owned time that the rule assumes a fix to take away, before any replay of the step.

        For claims on host time it is `saving_ns` / `owned_ns`, as their pieces have shares of their own; 0 where
        nothing is owned.
        """
        if not _is_of_host(self.query):
            return self.rule_share
        # pieces have shares of their own
        return min(saving_ns / owned_ns, 1.0) if owned_ns else 0.0

    def evidence(self) -> Evidence:
        """Return the summary of the claim's pieces, a single row, with the SQL text that gives it."""
        text = standalone_query(self.query, self.values, summary_query(self.query))
        return Evidence(tuple(self.row), (tuple(self.row.values()),), text)

    def worst_as_evidence(self) -> Evidence:
        """Return the worst pieces with the SQL text that gives them."""
        columns = tuple(self.worst[0]) if self.worst else ()
        text = standalone_query(self.query, {**self.values, **WORST}, statement("diagnosis/sql/instances.sql"))
        return Evidence(columns, tuple(tuple(map(_show_value, row.values())) for row in self.worst), text)


class AskedQuery(NamedTuple):
    """A query of the rules that was asked, with its parameters; `claim` is that whose pieces it reads, None for none."""

    query: RuleQuery
    values: Mapping[str, Setting]
    claim: Claim | None

    def as_text(self) -> str:
        """Return the query as an SQL text that a user can run."""
        if self.claim is None:
            return standalone_query(self.query, self.values)
        around = f"from (\n{self.query.text}\n)"
        return standalone_query(self.claim.query, self.values, around, names_used(self.query))


def summary_query(query: RuleQuery) -> str:
    """Return the SQL that sums up rule_instances, the pieces of `query`.

    Claims on host time, where no GPU works, have a variant of their own.
    """
    return statement(f"diagnosis/sql/{'summary_host' if _is_of_host(query) else 'summary'}.sql")


def claim_query(query: RuleQuery) -> str:
    """Return the SQL that gives all of a claim on rule_instances at once: summary_query's row with `worst` and `occurrences`."""
    worst, occurrences = (statement(f"diagnosis/sql/{name}.sql") for name in ("instances", "occurrences"))
    return f"""
        select s.*, w.worst, o.occurrences
        from ({summary_query(query)}) as s
        cross join (select list(w order by claimed desc, step, ts, slice_id) as worst from ({worst}) as w) as w
        cross join ({occurrences}) as o
    """  # noqa: S608 - of traceq's own files


def _is_of_host(query: RuleQuery) -> bool:
    """Return whether the query claims the training thread's time (it uses host_time), not a GPU's."""
    return "host_time" in query.listed("uses")


def check_pieces(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Setting]) -> None:
    """Raise ValueError where a row of rule_instances claims time that is no piece of the ledger, or more than the piece has.

    `values` are the parameters of the query that made them.
    """
    for row in ask(connection, statement("diagnosis/sql/beyond.sql"), **values):
        if row["gap_id"] is None and row["busy_id"] is None:
            raise ValueError("it claims time without gap_id or busy_id")
        piece = f"busy_id {row['busy_id']}" if row["gap_id"] is None else f"gap_id {row['gap_id']}"
        raise ValueError(f"it claims {row['claimed']} ns as {row['cause']} of {piece}, which has {row['held']} ns")


def _show_value(value: object) -> Value:
    """Return the value as it is if JSON can hold it; other values (lists, dates, NaN, infinity) as text."""
    if value is None or isinstance(value, str) or (isinstance(value, int | float) and isfinite(value)):
        return value
    return str(value)
