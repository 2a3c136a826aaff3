"""Read what a trace says of its operators: those with equal inputs together, what could be faster first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.exports.replay.arguments import RecordedInputs
from traceq.exports.replay.plan import RecordedOperator

if TYPE_CHECKING:
    import duckdb


def read_operators(
    connection: duckdb.DuckDBPyConnection, trace_id: int, slices: Sequence[int] = ()
) -> list[RecordedOperator]:
    """Return the operators of a trace with time of their own, by the time beyond what libraries reach, in ns.

    Where that is not known, all of it counts. `slices` are slices of host or GPU whose operators are wanted (`is_wanted`).
    """
    rows = ask(connection, statement("exports/replay/operators.sql"), trace_id=trace_id, slices=list(slices))
    inputs = ("dims", "types", "strides", "settings")
    return [
        RecordedOperator(
            inputs=RecordedInputs(*(row[name] for name in inputs)),
            kernels=tuple(row["kernels"] or ()),
            **{name: value for name, value in row.items() if name not in (*inputs, "kernels")},
        )
        for row in rows
    ]
