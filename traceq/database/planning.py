"""Plain plans for small databases, where DuckDB otherwise takes longer to plan a query than to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# The optimizers of DuckDB that a trace of a thousand slices is slower without. The others cost a quarter of the time of all
# rules where every table is small: docs/benchmarks.md.
KEPT = (
    "deliminator", "filter_pushdown", "join_order", "statistics_propagation", "unnest_rewriter", "unused_columns",
)  # fmt: skip

# Above, better plans and a second thread pay.
MOST_ROWS = 50_000


def slices(connection: duckdb.DuckDBPyConnection) -> int:
    """How many slices of hosts and GPUs the database holds."""
    (rows,) = connection.execute(
        "select (select count(*) from cpu_slice) + (select count(*) from gpu_slice)"
    ).fetchall()
    return int(rows[0])


def plan_plainly(connection: duckdb.DuckDBPyConnection, kept: tuple[str, ...] = KEPT) -> None:
    """Let all connections to this database run on one thread, and plan with these optimizers only."""
    (others,) = connection.execute(
        "select string_agg(name) from duckdb_optimizers() where name not in $1", [kept]
    ).fetchall()
    connection.execute("set global disabled_optimizers = ?", others)
    connection.execute("set threads = 1")
