"""Plain plans for small databases, where DuckDB otherwise takes longer to plan a query than to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# The optimizers of DuckDB that a trace of a few thousand slices is slower without. Each of the others costs more, over all
# statements of a report, than it wins. Without top_n DuckDB 2.0 returns all rows of some queries with a window and a limit.
_FOR_FEW = ("top_n", "deliminator", "filter_pushdown", "unnest_rewriter", "unused_columns")
_FEW_ROWS = 5_000

# Those that a trace of some ten thousand slices is slower without.
_FOR_SOME = (*_FOR_FEW, "join_order", "statistics_propagation")

# Above, better plans and a second thread pay.
MOST_ROWS = 50_000


def count_slices(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of CPU and GPU slices in the database."""
    (rows,) = connection.execute(
        "select (select count(*) from cpu_slice) + (select count(*) from gpu_slice)"
    ).fetchall()
    return int(rows[0])


def disable_costly_optimizers(connection: duckdb.DuckDBPyConnection, rows: int) -> None:
    """Switch off, for all connections to this small database, optimizers that cost more than they save, and use one thread.

    `rows` is its number of slices.
    """
    kept = _FOR_FEW if rows <= _FEW_ROWS else _FOR_SOME
    (others,) = connection.execute(
        "select string_agg(name) from duckdb_optimizers() where name not in $1", [kept]
    ).fetchall()
    connection.execute("set global disabled_optimizers = ?", others)
    connection.execute("set threads = 1")
