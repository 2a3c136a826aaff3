"""Writing rows and notes into the staging area of a trace."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.rows import fit_column

# Staged tables that are read even if empty; others come with their first rows.
READ = ("trace", "device", "thread", "synchronization", "cuda_event")

# Tables that go from staging as they are; cpu_slice, gpu_slice and collective are joined up on the way.
COPIED = (
    *READ, "gpu_annotation", "counter", "page_fault", "graph_node", "file_access", "monitor_log", "made_with",
    "printed_value", "cpu_sample", "backtrace", "import_note", "allocator_event", "allocator_segment", "allocator_block",
    "allocator_stack", "worker_sample", "run_log", "run_value", "run_event", "compile_log", "compilation", "compile_phase",
    "graph_break", "recompilation", "compile_cache", "request_log", "request", "request_token",
    "execution_trace", "operator_dependency", "kernel_report", "kernel_stall",
)  # fmt: skip

_NUMBERS = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64()
}  # fmt: skip


def list_staged(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the sorted names of the tables of the schema staging; most are there only if they have had rows."""
    names = "select table_name from duckdb_tables() where database_name = 'staging' order by all"
    return [name for (name,) in connection.execute(names).fetchall()]


def insert_fitting(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert the rows into a table of the schema staging, which is made if missing; columns are matched by name.

    What a column of numbers cannot hold becomes NULL, with a note; fractions become the nearest integer.
    """
    try:
        staged = connection.table(f"staging.{table}")
    except duckdb.CatalogException:
        connection.execute(f"create table staging.{table} as from {table} limit 0")
        staged = connection.table(f"staging.{table}")
    kinds = {name: _NUMBERS.get(str(kind)) for name, kind in zip(staged.columns, staged.types, strict=True)}
    for position, field in enumerate(rows.schema):
        kind = kinds.get(field.name)
        if kind in (None, field.type) or pa.types.is_null(field.type):
            continue
        fitting, lost = _cast_numbers(rows.column(position), kind)
        if lost:
            text = f"values of {table}.{field.name} that its column cannot hold are NULL"
            add_note(connection, "data_loss", "number_out_of_range", lost, text)
        rows = rows.set_column(position, field.name, fitting)
    connection.register("_rows", rows)
    connection.execute(f"insert into staging.{table} by name from _rows")
    connection.unregister("_rows")


def _cast_numbers(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[pa.Array | pa.ChunkedArray, int]:
    """Return the column as numbers of this kind, and how many values are none: these are NULL."""
    is_floating = pa.types.is_floating(column.type)
    if is_floating and pa.types.is_integer(kind):
        column = pc.round(column)
    try:
        if is_floating or pa.types.is_integer(column.type):
            return column.cast(kind, safe=pa.types.is_integer(kind)), 0
    except pa.ArrowInvalid:
        pass
    return fit_column(column.to_pylist(), kind)


def add_note(connection: duckdb.DuckDBPyConnection, severity: str, code: str, count: int, text: str) -> None:
    """Insert a row into staging.import_note: a message about the trace for the user, with the number of things it is about."""
    note = {"severity": severity, "code": code, "count": count, "text": text}
    insert_fitting(connection, "import_note", pa.Table.from_pylist([note]))
