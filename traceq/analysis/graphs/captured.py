"""Reads what a capture tells of the kernels of graphs: calls that launch kernels, with the operators around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb


class Captured(NamedTuple):
    """The calls that launch kernels while a CUDA graph is captured, and the operators around these calls.

    `kernels` has a row for each such call, numbered in order; `operators` has the operators by id; `nodes` maps ids of
    graph nodes to the number of the call that made the node.
    """

    kernels: pa.Table
    operators: pa.Table
    nodes: pa.Table


def read_captured(connection: duckdb.DuckDBPyConnection, *, with_eager: bool) -> Captured:
    """Read the kernel launches that a trace recorded during CUDA-graph capture; the trace's modules must be found before.

    `with_eager` adds the kernels that ran without a CUDA graph.
    """
    run(connection, "analysis/graphs/captured.sql", with_eager=with_eager)
    return Captured(
        relation(connection, statement("analysis/graphs/captured_kernel.sql")).to_arrow_table(),
        connection.table("_captured_operator").to_arrow_table(),
        connection.table("_captured_node").to_arrow_table(),
    )


def join_captures(captures: Sequence[Captured]) -> Captured:
    """Join the CUDA-graph captures of several traces into one; graphs, calls and operators get new, distinct numbers."""
    parts, graphs, calls, operators = [], 0, 0, 0
    for capture in captures:
        kernels = _shift_numbers(capture.kernels, graph=graphs, number=calls, operator_id=operators)
        around = _shift_numbers(capture.operators, slice_id=operators, operator_id=operators)
        parts.append(Captured(kernels, around, _shift_numbers(capture.nodes, number=calls)))
        graphs = max(graphs, _next_number(kernels["graph"]))
        calls += kernels.num_rows
        operators = max(operators, _next_number(around["slice_id"]))
    return Captured(*(pa.concat_tables(tables) for tables in zip(*parts, strict=True)))


def _next_number(column: pa.ChunkedArray) -> int:
    """Return the largest number of the column plus 1; 0 for a column without numbers."""
    largest = pc.max(column).as_py()
    return 0 if largest is None else largest + 1


def _shift_numbers(table: pa.Table, **by: int) -> pa.Table:
    """Return the table with a constant added to some integer columns; `by` maps column names to what is added."""
    for name, more in by.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pc.add(table[name].cast(pa.int64()), more))
    return table
