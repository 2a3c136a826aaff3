"""Which traces of a database are meant: by trace_id, by rank, all without either."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.errors import StoreError


def chosen_traces(
    connection: duckdb.DuckDBPyConnection,
    traces: Sequence[int] = (),
    rank: int | None = None,
    ranks: Sequence[int] = (),
) -> list[int]:
    """The trace ids in the order of ingest. Raises StoreError, with what there is, for a trace or a rank that is not there."""
    known = {row["trace_id"]: row["rank"] for row in ask(connection, statement("database/trace.sql"))}
    missing = [str(each) for each in traces if each not in known]
    if missing:
        listed = ", ".join(map(str, known))
        raise StoreError(f"no trace has the trace_id {', '.join(missing)}; the database has {listed or 'none'}")
    chosen = [each for each in known if each in traces] if traces else list(known)
    wanted = [*ranks, *([] if rank is None else [rank])]
    if not wanted:
        return chosen
    for each in wanted:
        if each not in {known[trace] for trace in chosen}:
            there = ", ".join(str(one) for one in sorted({known[trace] for trace in chosen} - {None}))
            raise StoreError(
                f"no trace is of rank {each}; there {f'are {there}' if there else 'is none that says its rank'}"
            )
    return [each for each in chosen if known[each] in wanted]
