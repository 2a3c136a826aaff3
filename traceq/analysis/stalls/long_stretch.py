"""Finds stretches of host threads without any boundary: one pass with arrays over the timeline of each thread that launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb

_ROWS_PER_BLOCK = 3 * 122_880

# Calls and operators take microseconds; the shortest tick of a scheduler is a millisecond.
_LONG = 1_000_000


def find_long_stretches(connection: duckdb.DuckDBPyConnection) -> None:
    """Make _long_stretch (place: rowid of _host_timeline, thread_id, ts, ts_end) of segments of 1 ms and more."""
    found: list[tuple[int, int, int, int]] = []
    for thread, first, last in run(connection, "analysis/stalls/stretch_extent.sql").fetchall():
        # The first segment is all time before the thread's first slice, and what is after the last has no end.
        for row in range(first + 1, last, _ROWS_PER_BLOCK):
            window = {"first": row, "last": min(row + _ROWS_PER_BLOCK, last)}
            query = statement("analysis/stalls/stretch_bounds.sql")
            bounds = connection.sql(query, params=window).to_arrow_table()["ts"].to_numpy()
            at = np.flatnonzero(np.diff(bounds) >= _LONG)
            found += zip(
                (row + at).tolist(), [thread] * len(at), bounds[at].tolist(), bounds[at + 1].tolist(), strict=True
            )
    columns = zip(*found, strict=True) if found else [()] * 4
    names = ("place", "thread_id", "ts", "ts_end")
    stretches = pa.table({name: pa.array(each, pa.int64()) for name, each in zip(names, columns, strict=True)})
    connection.register("_found", stretches)
    connection.execute("create temp table _long_stretch as from _found")
    connection.unregister("_found")
