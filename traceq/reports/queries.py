"""The queries of a report, by name: run, or printed for the reader to run again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from traceq.database.query import Setting, ask, literal
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

T = TypeVar("T")

# Asked for by others as well, and kept where what they ask for is made.
_ELSEWHERE = {
    "ledger": "analysis/ledger/ledger.sql",
    "note": "database/note.sql",
    "step_stats": "analysis/steps/statistics.sql",
    "throughput": "analysis/steps/throughput.sql",
    "trace": "database/trace.sql",
}

# Table to the queries that find nothing where it has no rows.
_NEEDED_BY = {
    "allocation": ("snapshot_category", "snapshot_holder"),
    "allocator_call": ("allocator",),
    "allocator_event": ("snapshot_course", "snapshot_layer", "snapshot_failure", "snapshot_failure_holder"),
    "allocator_segment": ("snapshot_fragmentation",),
    "collective_match": ("job_collective", "job_lateness", "job_worst"),
    "collective_slice": ("axis", "blocking", "collective"),
    "communication_name": ("host_collective",),
    "communication_overlap": ("communication",),
    "copy_overlap": ("copy_group",),
    "counter": ("gpu_metric",),
    "data_fetch": ("data_loader",),
    "group_straggler": ("job_part",),
    "graph_region": ("graph_region",),
    "host_ledger": ("host_ledger",),
    "idle_gap": ("gap", "gap_size"),
    "inspected_process": ("record_facts",),
    "inspected_usual": ("inspected_usual",),
    "job": ("job",),
    "job_axis_rank": ("job_axis", "job_bubble", "job_group_wait"),
    "job_pair": ("job_pair",),
    "job_path": ("job_path",),
    "kernel_occupancy": ("fusion", "kernel_fill", "kernel_occupancy", "kernel_roofline", "kernel_top"),
    "layer": ("layer_list",),
    "made_with": ("made_with",),
    "memory_peak": ("snapshot_peak",),
    "memory_step": ("memory_peak",),
    "memory_timeline": ("memory_event_holder", "memory_layer", "memory_mark", "memory_timeline"),
    "module": ("module_kind", "module_top"),
    "monitor_step": ("condition",),
    "operator_cost": ("operator_kind", "mfu"),
    "printed_value": ("printed_step",),
    "reported_kernel": ("kernel_reported", "kernel_unreported"),
    "request": ("request_log", "request_quantity", "request_slowest", "request_slow_step"),
    "run_log": ("run_log",),
    "run_phase": ("run_phase",),
    "run_step": ("run_point",),
    "serving_mark": ("serving", "serving_batch", "serving_stall", "serving_roofline"),
    "straggler": ("straggler",),
    "unified_memory": ("unified_memory",),
    "unit": ("unit",),
}
# The same of rows that few traces have, where to plan the query takes longer than to look for them.
_NEEDED_ROWS = {
    "collective_match where op = 'all_to_all'": ("job_load", "job_load_layer", "job_exchanged"),
    "gpu_slice where copy_kind = 'p2p'": ("peer_copy",),
    "module where regexp_matches(module, '(?i)expert|moe|mixture')": ("expert",),
    "operator_cost where kind = 'experts' or (kind = 'matmul' and flops is null)": ("grouped_product",),
}
NEEDS = {query: table for table, queries in (_NEEDED_BY | _NEEDED_ROWS).items() for query in queries}


class Queries:
    """Runner of a report's queries on one database; for a query on a table that is empty it returns no rows at once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        empty = _find_empty(connection)
        self._idle = {query for query, table in NEEDS.items() if table in empty}

    def read_rows(self, name: str, **values: Setting) -> list[dict[str, Any]]:
        """Return the rows of the query file `name` as dictionaries by column name; `values` are its parameters."""
        return [] if name in self._idle else read_rows(self.connection, name, **values)

    def read_records(self, made: Callable[..., T], name: str, **values: Setting) -> tuple[T, ...]:
        """Return a tuple of `made(*row)` for each row of the query file `name`.

        Its columns are in the order of `made`'s parameters. `values` are the query's parameters.
        """
        return tuple(made(*row.values()) for row in self.read_rows(name, **values))


def _find_empty(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the tables, and the rows of tables, in NEEDS of which there is none.

    The catalogue does not count uncommitted rows, so tables are looked into.
    """
    maybe = {row["table_name"] for row in read_rows(connection, "maybe_empty_table")} & {*NEEDS.values()}
    looks = [f"select $${table}$$ where not exists (from {table})" for table in (*sorted(maybe), *_NEEDED_ROWS)]
    return {table for (table,) in connection.execute(" union all ".join(looks)).fetchall()} if looks else set()


def read_rows(connection: duckdb.DuckDBPyConnection, name: str, **values: Setting) -> list[dict[str, Any]]:
    """Return the rows of the query file `name` as dictionaries by column name; `values` are its parameters."""
    return ask(connection, statement(_find_file(name)), **values)


def read_columns(connection: duckdb.DuckDBPyConnection, name: str, **values: Setting) -> dict[str, npt.NDArray[Any]]:
    """Return the result of the query file `name` as a NumPy array for each column; no value may be NULL."""
    import numpy as np

    read = run(connection, _find_file(name), **values).fetchnumpy()
    return {column: np.asarray(numbers) for column, numbers in read.items()}


def print_query(name: str, **values: Setting) -> str:
    """Return the SQL text of the query file `name` on one line, with `values` in place of parameters, for a user to run."""
    return literal(statement(_find_file(name)), **values)


def _find_file(name: str) -> str:
    return _ELSEWHERE.get(name, f"reports/sql/{name}.sql")
