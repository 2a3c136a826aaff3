"""Comments of columns that mean the same in many tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from traceq.database.sql import statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_COMMON = {
    "address": "Where it starts.",
    "args": "JSON: what the source says of the slice and no column holds.",
    "bytes": "Its size, bytes.",
    "cause": "As in idle_gap_cause.",
    "context": "CUDA context.",
    "device": "Device.",
    "dur": "Duration, ns.",
    "gap_id": "Gap; see idle_gap.",
    "group_size": "Ranks in the process group.",
    "job": "Job.",
    "max_threads_per_sm": "Most resident threads per multiprocessor.",
    "pid": "Process; NULL when the source does not say.",
    "registers_per_sm": "32-bit registers per multiprocessor.",
    "shared_memory_per_sm": "Shared memory per multiprocessor, bytes.",
    "slice_id": "The gpu_slice.",
    "stack_id": "Stack that asked for it; NULL when none was recorded.",
    "step": "Step.",
    "thread_id": "Thread; see thread.",
    "time_window": "Window of the job.",
    "trace_id": "Trace.",
    "ts": "Start, ns.",
    "ts_end": "End, ns: ts + dur.",
}
# Of views only these, but for views whose columns mean what they mean in the tables that they read.
_OF_VIEWS = ("device", "trace_id")
_PLAIN_VIEWS = (
    "annotation",
    "annotation_projection",
    "culprit",
    "idle_function",
    "idle_histogram",
    "kernel",
    "launch",
    "memcpy",
    "operator",
    "outlier_step",
    "runtime_call",
)

_COLUMNS = """
select table_name, column_name
from duckdb_columns()
where
    database_name = current_database()
    and ((table_name in $tables and column_name in $common) or (table_name in $views and column_name in $of_views))
order by table_oid, column_index
"""


def comment_columns(connection: duckdb.DuckDBPyConnection, schema: Sequence[str]) -> None:
    """Comment on each such column of what the SQL files `schema` create, where they do not do so themselves."""
    text = "\n".join(map(statement, schema))
    own = set(re.findall(r"comment on column (\w+)\.(\w+)", text))
    names = {
        "tables": re.findall(r"create table if not exists (\w+)", text),
        "views": [name for name in re.findall(r"create or replace view (\w+)", text) if name not in _PLAIN_VIEWS],
    }
    columns = connection.execute(_COLUMNS, {**names, "common": list(_COMMON), "of_views": list(_OF_VIEWS)}).fetchall()
    said = [
        f"comment on column {table}.{name} is '{_COMMON[name]}'" for table, name in columns if (table, name) not in own
    ]
    connection.execute(";".join(said))
