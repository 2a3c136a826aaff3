"""Claims on the time of the ledger: what a rule's query finds, summed up, and its worst pieces.

A rule's query returns one row per piece of time it lays claim to:

    step, ts, dur, name   which piece, when (ns), and what to call it
    slice_id              the host or GPU slice to look at; NULL for none
    claimed               ns of the ledger, on the critical device
    cause                 the ledger's category of that time
    gap_id                idle_piece.gap_id; for time in which nothing runs
    busy_id               busy_piece.slice_id; for time in which something does
    scenario              replay.scenario that tells what a fix wins; without it, cause

and whatever else explains the piece. gap_id, busy_id and scenario may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from traceq.findings import Evidence, Value
from traceq.sql import statement
from traceq.sql.facts import Setting, ask, literal, without_end

if TYPE_CHECKING:
    import duckdb

_WORST = 5
_CATEGORY = r"'(idle_[a-z_]+|compute|communication|copy_h2d|copy_d2h|copy_other|memset)'"


@dataclass(frozen=True)
class Claim:
    """What a rule's `query` finds with `values`: one row of judge/summary.sql, and the text of that summary.

    `number` tells the claims of traceq's own queries apart, None is anybody else's.
    """

    query: str
    values: Mapping[str, Setting]
    row: Mapping[str, Any]
    text: str
    number: int | None

    @property
    def instances(self) -> int:
        """How many pieces."""
        return int(self.row["instances"])

    @property
    def claimed_ns(self) -> float:
        """Claimed per counted step, ns."""
        return float(self.row["claimed_ns"])

    @property
    def saving_ns(self) -> float:
        """What a fix would likely win per counted step if no other rule had a claim, ns."""
        return float(self.row["saving_ns"])

    def evidence(self) -> Evidence:
        """The summary as evidence."""
        return Evidence(tuple(self.row), (tuple(self.row.values()),), self.text)


@cache
def categories(query: str) -> frozenset[str]:
    """The categories of the ledger that a rule's query names; empty where it names none, or what it does not mean."""
    if re.search(rf"<>\s*{_CATEGORY}", query):
        return frozenset()
    return frozenset(re.findall(_CATEGORY, query))


def instance_query(query: str, around: str) -> str:
    """The query `around` with the rule's `query` in place of the table rule_instances."""
    return around.replace("rule_instances", f"({without_end(query)}\n)")


def instances() -> str:
    """The wrapper that lists the worst pieces."""
    return statement("judge/instances.sql").replace("$worst", str(_WORST))


def summary(
    connection: duckdb.DuckDBPyConnection, found: str, values: Mapping[str, Setting]
) -> Mapping[str, Any] | None:
    """The one row of the summary of what a query, or the table that holds it, finds; None for no time to claim."""
    rows = ask(connection, statement("judge/summary.sql").replace("rule_instances", found), **values)
    return rows[0] if rows and rows[0]["claimed_ns"] else None


def summary_text(query: str, values: Mapping[str, Setting]) -> str:
    """The query that gives the summary again."""
    return literal(instance_query(query, statement("judge/summary.sql")), **values)


def check(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, Setting]) -> None:
    """Raise ValueError unless what the query claims is there: a share of pieces of the ledger."""
    for row in ask(connection, instance_query(query, statement("judge/beyond.sql")), **values):
        if row["gap_id"] is None and row["busy_id"] is None:
            raise ValueError("it claims time without gap_id or busy_id, which say of which piece")
        piece = f"busy_id {row['busy_id']}" if row["gap_id"] is None else f"gap_id {row['gap_id']}"
        raise ValueError(f"it claims {row['claimed']} ns as {row['cause']} of {piece}, which has {row['held']} ns")


def worst(claim: Claim, found: Sequence[Mapping[str, Any]]) -> Evidence:
    """The worst pieces of a claim, which were found, as evidence."""
    columns = tuple(found[0]) if found else ()
    query = literal(instance_query(claim.query, instances()), **claim.values)
    return Evidence(columns, tuple(tuple(map(_plain, row.values())) for row in found), query)


def _plain(value: object) -> Value:
    """The value as it can be shown: lists, dates and what is no number (NaN) as text."""
    if value is None or isinstance(value, str) or (isinstance(value, int | float) and isfinite(value)):
        return value
    return str(value)
