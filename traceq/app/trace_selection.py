"""Select traces of a database: by trace_id, by rank, all without either."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from traceq.common.ranks import select_ranks
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.errors import StoreError


def select_traces(
    connection: duckdb.DuckDBPyConnection,
    traces: Sequence[int] = (),
    rank: int | None = None,
    ranks: Sequence[int] = (),
) -> dict[int, int | None]:
    """Return the rank of each selected trace by trace_id, in the order of ingest; all traces if nothing is selected.

    Raises StoreError, with what there is, for a missing trace or rank.
    """
    known = {row["trace_id"]: row["rank"] for row in ask(connection, statement("database/trace.sql"))}
    missing = [str(trace) for trace in traces if trace not in known]
    if missing:
        listed = ", ".join(map(str, known))
        raise StoreError(f"no trace has the trace_id {', '.join(missing)}; the database has {listed or 'none'}")
    named = {trace: rank for trace, rank in known.items() if not traces or trace in traces}
    wanted = [*ranks, *([] if rank is None else [rank])]
    return {trace: known[trace] for trace in select_ranks(named, wanted, _refuse)}


def _refuse(rank: int, there: Sequence[int]) -> StoreError:
    """Return the error for a rank that no trace has; `there` are the ranks of the traces."""
    return StoreError(
        f"no trace is of rank {rank}; "
        + (f"there are {', '.join(map(str, there))}" if there else "none of them says its rank")
    )
