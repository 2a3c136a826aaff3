"""Finds the call of a capture that launched each kernel of a replayed graph: the temporary tables that graph_kernel.sql reads."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from traceq.analysis.graphs.align import COUNT, NAME, NODE, ORDER
from traceq.analysis.graphs.captured import Captured, join_captures, read_captured
from traceq.analysis.graphs.match import GraphLaunch, Match, Template, Templates, in_order
from traceq.database.sql import relation, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import duckdb

    from traceq.analysis.graphs.align import Integers

_HOW = {NODE: "node id", ORDER: "order", NAME: "name", COUNT: "count"}

# Servers annotate the capture of a graph with what it is for: capture_32_DECODE, capture_8192_PIECEWISE.
_SIZE = re.compile(r"^capture_(\d+)(_|$)")


def fill_matches(connection: duckdb.DuckDBPyConnection, captures: Sequence[Captured]) -> None:
    """Make the temporary tables _graph_match, _graph_launch, _capture_kernel and _capture_operator for the loaded trace.

    They match replayed kernels with calls in `captures` and in the trace's own CUDA-graph captures. Without any captured
    call only _graph_launch is made, without rows.
    """
    # Planning what reads them takes as long as many an analysis.
    if connection.execute(
        "from cpu_slice where kind = 'runtime' and contains(name, 'StreamBeginCapture') limit 1"
    ).fetchone():
        captures = [*captures, read_captured(connection, with_eager=False)]
    tables = {"_graph_launch": _make_table([], _LAUNCH)}
    if any(capture.kernels.num_rows for capture in captures):
        captured = join_captures(captures)
        tables = {"_capture_kernel": captured.kernels, "_capture_operator": captured.operators}
        tables |= _match_tables(captured, _read_replayed(connection), _tokens_at(connection))
    for name, table in tables.items():
        connection.register("_rows", table)
        connection.execute(f"create temp table {name} as from _rows")
        connection.unregister("_rows")


def add_known_nodes(connection: duckdb.DuckDBPyConnection, captured: Captured) -> Captured:
    """Return the capture with more graph node ids in `nodes`, learned from launches of its graphs in the same trace.

    A launch counts if exactly one captured graph matches it: then the node id of each kernel belongs to the matched call.
    """
    replayed = _read_replayed(connection)
    nodes: dict[int, int] = {}
    for (first, last), match in _match_launches(captured, replayed, lambda _ts: None):
        if match.reason is None and len(match.candidates) == 1:
            template, places = match.candidates[0]
            ids = replayed["graph_node_id"].slice(first, last - first).to_pylist()
            for node, place in zip(ids, places.place.tolist(), strict=True):
                if node is not None and place >= 0:
                    nodes.setdefault(node, template.first + place)
    told = pa.table({"graph_node_id": pa.array(nodes, pa.int64()), "number": pa.array(nodes.values(), pa.int64())})
    return captured._replace(nodes=pa.concat_tables([captured.nodes, told]))


def _read_replayed(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the kernels of replayed CUDA graphs, launch by launch, with launch, name, grid, stream and node id."""
    return relation(connection, statement("analysis/graphs/replayed.sql")).to_arrow_table()


_KERNEL = {
    "slice_id": pa.int64(),
    "number": pa.int64(),
    "place": pa.int32(),
    "matched_by": pa.string(),
    "has_operator": pa.bool_(),
    "has_module": pa.bool_(),
    "has_line": pa.bool_(),
}
_LAUNCH = {
    "launch_id": pa.int64(),
    "share": pa.float64(),
    "matched_by": pa.string(),
    "captured_graph": pa.int32(),
    "capture": pa.string(),
    "candidates": pa.int32(),
    "reason": pa.string(),
}


def _make_table(rows: Sequence[Sequence[Any]], columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Build an Arrow table from rows; `columns` maps column names to types, in the order of the fields of a row."""
    arrays = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(columns.values())]
    return pa.table(arrays, names=list(columns))


def _match_tables(captured: Captured, replayed: pa.Table, tokens: Callable[[int], int | None]) -> dict[str, pa.Table]:
    """Return the rows of _graph_match (a row per kernel) and _graph_launch (a row per launch), by table name.

    `tokens` gives the tokens of the server's step at a time in ns, None if unknown.
    """
    annotations = captured.kernels["annotation"].to_pylist()
    told = _Agreement(captured)
    launches, kernels = [], []
    slices = replayed["slice_id"].to_pylist()
    launch_ids = replayed["launch_id"].to_pylist()
    for (first, last), match in _match_launches(captured, replayed, tokens):
        told_by, graph, name = None, None, None
        if match.reason is None:
            template, places = match.candidates[match.chosen[0]]
            told_by, graph, name = _HOW[int(places.how.max())], template.graph, annotations[template.first]
            kernels.append(told.rows(match, slices[first:last]))
        launches.append((launch_ids[first], match.share, told_by, graph, name, len(match.candidates), match.reason))
    return {
        "_graph_match": pa.concat_tables([_make_table([], _KERNEL), *kernels]),
        "_graph_launch": _make_table(launches, _LAUNCH),
    }


def _match_launches(
    captured: Captured, replayed: pa.Table, tokens: Callable[[int], int | None]
) -> Iterator[tuple[tuple[int, int], Match]]:
    """Yield for each launch of a graph the range of its rows in `replayed` (first, last exclusive) and its Match.

    `tokens` gives the tokens of the server's step at a time in ns, None if unknown.
    """
    launch_ids = replayed["launch_id"].to_numpy()
    firsts = np.flatnonzero(np.diff(launch_ids, prepend=-1)).tolist() if len(launch_ids) else []
    parts = list(pairwise([*firsts, len(launch_ids)]))
    columns = tuple(_to_numbers(replayed[name]) for name in ("name", "grid", "stream", "graph_node_id"))
    graphs = list(_captured_graphs(captured, *(_to_numbers(captured.kernels[name]) for name in ("name", "grid"))))
    nodes = dict(zip(captured.nodes["graph_node_id"].to_pylist(), captured.nodes["number"].to_pylist(), strict=True))
    templates = Templates([graph for graph in graphs if graph.graph is not None], _longest_eager(graphs), nodes)
    annotations, times = captured.kernels["annotation"].to_pylist(), replayed["launch_ts"].to_pylist()
    found = []
    for first, last in parts:
        match = templates.match(GraphLaunch(*(column[first:last] for column in columns)))
        found.append(_of_size(match, annotations, tokens(times[first])))
    return zip(parts, in_order(found), strict=True)


def _captured_graphs(captured: Captured, names: Integers, grids: Integers) -> Iterator[Template]:
    """Yield a Template for each captured graph and each stretch of kernels without a graph, in the order of their calls.

    `names` and `grids` are codes by call.
    """
    graphs = _to_numbers(captured.kernels["graph"])
    firsts = np.flatnonzero(np.diff(graphs, prepend=-2)).tolist()
    for first, last in pairwise([*firsts, len(graphs)]):
        graph = int(graphs[first])
        yield Template(None if graph < 0 else graph, first, names[first:last], grids[first:last])


def _longest_eager(graphs: Sequence[Template]) -> Template | None:
    """Return the longest stretch of kernels that ran without a graph; None without any."""
    return max((graph for graph in graphs if graph.graph is None), key=lambda graph: len(graph.names), default=None)


def _of_size(match: Match, annotations: Sequence[str | None], tokens: int | None) -> Match:
    """Return the match with only those candidates that were captured for the smallest batch size >= `tokens`.

    The size is read from the annotation of the capture, as in capture_32_DECODE. The match is returned unchanged where the
    tokens or the size of a candidate are unknown, or no size is large enough.
    """
    if tokens is None or len(match.candidates) <= 1:
        return match
    told = [_SIZE.match(annotations[template.first] or "") for template, _ in match.candidates]
    sizes = [int(size[1]) if size else -1 for size in told]
    least = min((size for size in sizes if size >= tokens), default=None)
    if least is None or -1 in sizes:
        return match
    kept = tuple(candidate for candidate, size in zip(match.candidates, sizes, strict=True) if size == least)
    return replace(match, candidates=kept, chosen=tuple(range(len(kept))))


class _Agreement:
    """Finds on which facts (operator, module, source line) all candidate calls of a kernel agree."""

    def __init__(self, captured: Captured) -> None:
        self._module, self._line = _name_codes(captured.kernels["module"]), _name_codes(captured.kernels["line"])
        self._operator = _operator_codes(captured)

    def rows(self, match: Match, slices: Sequence[int]) -> pa.Table:
        """Return the rows of _graph_match for one launch: a row for each kernel, with the number of its captured call.

        The has_ columns say for each fact whether all candidates agree on it. `slices` are the kernels' slice ids.
        """
        numbers = np.stack(
            [np.where(places.place >= 0, places.place + template.first, -1) for template, places in match.candidates]
        )
        chosen = numbers[list(match.chosen)]
        _, places = match.candidates[match.chosen[0]]
        return pa.table(
            {
                "slice_id": pa.array(slices, pa.int64()),
                "number": pa.array(chosen[0], mask=chosen[0] < 0),
                "place": pa.array(places.place.astype(np.int32), mask=places.place < 0),
                "matched_by": pa.array([_HOW.get(how) for how in places.how.tolist()], pa.string()),
                "has_operator": pa.array(_all_agree(self._operator, numbers)),
                "has_module": pa.array(_all_agree(self._module, chosen)),
                "has_line": pa.array(_all_agree(self._line, chosen)),
            }
        )


def _all_agree(codes: Integers, numbers: Integers) -> Any:
    """Return for each kernel whether all candidate calls have the fact (a code >= 0), and the same.

    `codes` are the fact by call, `numbers` the calls (candidates x kernels; -1: none).
    """
    told = np.where(numbers >= 0, codes[numbers], -1)
    return (told >= 0).all(axis=0) & (told == told[0]).all(axis=0)


def _operator_codes(captured: Captured) -> Integers:
    """Return a code for each call: equal if the operators around the calls have the same names and arguments.

    -1 for a call without operator.
    """
    rows = zip(
        *(captured.operators[name].to_pylist() for name in ("slice_id", "operator_id", "name", "args")), strict=True
    )
    around = {slice_id: rest for slice_id, *rest in rows}
    known: dict[tuple[Any, ...], int] = {}
    codes: dict[int | None, int] = {None: -1}
    for slice_id in around:
        # the outer ones first
        chain = [slice_id]
        while (outer := around[chain[-1]][0]) in around and outer not in codes:
            chain.append(outer)
        for operator_id in reversed(chain):
            outer, name, args = around[operator_id]
            key = (codes.get(outer, -1), name, args)
            codes[operator_id] = known.setdefault(key, len(known))
    return np.array(
        [codes.get(operator_id, -1) for operator_id in captured.kernels["operator_id"].to_pylist()], np.int64
    )


def _name_codes(column: pa.ChunkedArray) -> Integers:
    """Return a number for each text of the column, equal for equal texts; -1 for NULL."""
    return _to_numbers(column.cast(pa.string()).combine_chunks().dictionary_encode().indices)


def _to_numbers(column: pa.ChunkedArray | pa.Array) -> Integers:
    """Return the numbers of a column as int64, -1 for NULL."""
    found: Integers = column.cast(pa.int64()).fill_null(-1).to_numpy().astype(np.int64)
    return found


def _tokens_at(connection: duckdb.DuckDBPyConnection) -> Callable[[int], int | None]:
    """Return a function that maps a time in ns to the number of new tokens in the server's step at that time.

    It returns None outside of steps whose tokens are known.
    """
    marks = connection.execute(
        "select ts, ts + dur, new_tokens from serving_mark where thread_id is not null and new_tokens is not null order by ts"
    ).fetchall()
    starts = np.array([ts for ts, _, _ in marks], np.int64)

    def tokens(ts: int) -> int | None:
        at = int(np.searchsorted(starts, ts, side="right")) - 1
        return marks[at][2] if at >= 0 and ts < marks[at][1] else None

    return tokens
