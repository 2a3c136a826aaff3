"""The rows of the tables on hanging jobs as records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.hang.model import CallFrame, DumpFacts, Parting, RankCall, RankGroup

if TYPE_CHECKING:
    import duckdb

# (rank, group) -> whether the rank is known to have called what its group parts at
StackKey = tuple[int, int | None]


def ask_hang(connection: duckdb.DuckDBPyConnection, name: str, **values: Any) -> list[dict[str, Any]]:
    """Return the rows of a query in the folder sql/ beside this file."""
    return ask(connection, statement(f"diagnosis/hang/sql/{name}.sql"), **values)


def read_groups(connection: duckdb.DuckDBPyConnection) -> dict[int, RankGroup]:
    """Return the groups by their number."""
    rows = ask(connection, "from hang_group order by group_id")
    return {row["group_id"]: RankGroup(**row | {"members": tuple(row["members"])}) for row in rows}


def read_partings(connection: duckdb.DuckDBPyConnection, groups: dict[int, RankGroup]) -> list[Parting]:
    """Return the first place of each group at which its ranks differ, in the order of the groups."""
    calls = defaultdict(list)
    for row in ask_hang(connection, "partings"):
        calls[row["group_id"]].append(_make_call(row))
    return [
        Parting(
            groups[row["group_id"]],
            row["sequence"],
            row["differs"],
            tuple(calls[row["group_id"]]),
            tuple(row["lacking"]),
            tuple(row["without_dump"]),
            tuple(row["unknown"]),
            row["first_created"],
            tuple(row["queued"]),
        )
        for row in ask(connection, "from hang_parting order by group_id")
    ]


def read_current(connection: duckdb.DuckDBPyConnection, ranks: Collection[int]) -> dict[int, RankCall]:
    """Return where each of these ranks is: what it waits for, else what it called last. Ranks without a call are left out."""
    rows = ask_hang(connection, "current", ranks=sorted(ranks))
    return {call.rank: call for call in add_stacks(connection, rows)}


def add_stacks(connection: duckdb.DuckDBPyConnection, rows: Iterable[dict[str, Any]]) -> list[RankCall]:
    """Return calls with their stacks, from rows with stack_id."""
    rows = list(rows)
    frames: defaultdict[StackKey, list[CallFrame]] = defaultdict(list)
    for row in ask_hang(connection, "stacks", ranks=sorted({row["rank"] for row in rows})):
        frames[row["rank"], row["stack_id"]].append(CallFrame(row["name"], row["file"], row["line"]))
    return [replace(_make_call(row), stack=tuple(frames.get((row["rank"], row["stack_id"]), ()))) for row in rows]


def read_stacked_call(connection: duckdb.DuckDBPyConnection, call: RankCall) -> RankCall:
    """Return a call at a parting with its stack."""
    rows = [row for row in ask_hang(connection, "partings") if (row["rank"], row["record"]) == (call.rank, call.record)]
    return add_stacks(connection, rows)[0]


def read_dumps(connection: duckdb.DuckDBPyConnection) -> DumpFacts:
    """Return what there is to say of the dumps as a whole."""
    (row,) = ask_hang(connection, "dumps")
    return DumpFacts(
        tuple(row["ranks"]),
        row["entries"],
        tuple(row["missing"]),
        tuple(row["rolled"]),
        tuple((path, fault) for path, fault in row["faults"]),
        tuple(row["backends"]),
        tuple(row["outdated"]),
    )


def _make_call(row: dict[str, Any]) -> RankCall:
    return RankCall(**{name: value for name, value in row.items() if name != "stack_id"})
