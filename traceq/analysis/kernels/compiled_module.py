"""Modules of kernels in compiled graphs: the calls in the code of a graph are matched with the operators that a trace shows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow as pa

from traceq.database.sql import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from traceq.analysis.kernels.compiled import CompiledGraph


def fill_compiled_modules(
    connection: duckdb.DuckDBPyConnection, trace_id: int, graphs: Sequence[CompiledGraph]
) -> None:
    """Fill the table compiled_module: the module of each kernel that a call of a graph in `graphs` launched.

    A graph of the trace is one of `graphs` if it called the same operators in the same order, and has its name where that is
    known. Of several such graphs only what they agree in is taken.
    """
    if not graphs:
        return
    names = sorted({call.operator for graph in graphs for call in graph.calls})
    connection.register("_compiled_operator", pa.table({"name": pa.array(names, pa.string())}))
    sequences = [sequence for (sequence,) in run(connection, "analysis/kernels/compiled_call.sql").fetchall()]
    rows = list(_match_sequences(sequences, graphs))
    if rows:
        columns = zip(zip(*rows, strict=True), (pa.string(), pa.int64(), pa.string()), strict=True)
        connection.register(
            "_compiled_place", pa.table([pa.array(*column) for column in columns], ["sequence", "place", "path"])
        )
        run(connection, "analysis/kernels/compiled_module.sql", trace_id=trace_id)
        connection.unregister("_compiled_place")
    connection.unregister("_compiled_operator")


def _match_sequences(sequences: Sequence[str], graphs: Sequence[CompiledGraph]) -> Iterator[tuple[str, int, str]]:
    """Yield the modules of the operators in the sequences of a trace: sequence, place in it, module."""
    by_operators: defaultdict[str, list[CompiledGraph]] = defaultdict(list)
    for graph in graphs:
        by_operators[" ".join(call.operator for call in graph.calls)].append(graph)
    for sequence in sequences:
        key, _, operators = sequence.partition(" ")
        candidates = by_operators[operators]
        same = [graph for graph in candidates if graph.key == key] or [
            graph for graph in candidates if graph.key is None
        ]
        for place, calls in enumerate(zip(*(graph.calls for graph in same), strict=True)):
            modules = {call.module for call in calls}
            if len(modules) == 1 and (module := calls[0].module) is not None:
                yield sequence, place, module
