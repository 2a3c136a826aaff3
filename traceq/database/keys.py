"""Rows that traceq makes once per key, and reports count on. Databases of others may hold them twice, or lack them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

# Tables and their keys: small ones, and those whose rows queries follow from one to the next.
KEYS = {
    "trace": "trace_id",
    "device": "trace_id, device",
    "thread": "trace_id, thread_id",
    "step": "trace_id, step",
    "step_stats": "trace_id",
    "job": "job, time_window",
    "cpu_slice": "trace_id, slice_id",
    "gpu_slice": "trace_id, slice_id",
    "idle_gap": "trace_id, gap_id",
}

_WITHOUT_STATS = """
select l.trace_id
from time_ledger as l
inner join step as s using (trace_id, step)
where s.excluded is null
except
select trace_id
from step_stats
where steps > 0
"""


def check_keys(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError for duplicate rows, and for traces that have a ledger but no step statistics."""
    twice = " union all ".join(
        f"(select '{table}' from {table} group by {key} having count(*) > 1 limit 1)"  # noqa: S608 - names of the schema
        for table, key in KEYS.items()
    )
    if found := connection.execute(twice).fetchone():
        raise _not_as_made(path, f"{found[0]} has a row twice")
    if connection.execute(_WITHOUT_STATS).fetchone():
        raise _not_as_made(path, "step_stats lacks a trace")


def _not_as_made(path: Path, what: str) -> StoreError:
    """Return the error for a database with rows that traceq does not make; `what` says which."""
    return StoreError(f"{path}: not as traceq makes it, {what}; ingest the traces again, or ask its author for them")
