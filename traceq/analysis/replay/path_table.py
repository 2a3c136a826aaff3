"""Fills critical_path: the segments of the path, cut at steps and where the innermost slice of a host thread changes."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.analysis.categories import CATEGORIES
from traceq.analysis.ledger.host_piece import cut_at_bounds
from traceq.analysis.replay.critical_path import EDGES, SEGMENTS
from traceq.analysis.replay.lanes import split_by
from traceq.analysis.replay.recorded import NONE
from traceq.database.sql import relation, run, statement
from traceq.database.tables import insert_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import numpy.typing as npt

    from traceq.analysis.replay.critical_path import Codes, CriticalPath
    from traceq.analysis.replay.recorded import Booleans, Integers, Recorded

    Numbers = npt.NDArray[np.int32]


_READ_AT_ONCE = 1 << 18
# Ids that are spread over more than so many times their number are looked up instead of counted.
_SPREAD = 4


class PathNames:
    """Names of the slices on the path and of the operators around them, as indices into `words`; -1 for none.

    It holds the slices of `recorded`, the host slices `asked` and their operators: of a large trace few steps are
    replayed.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, recorded: Recorded, asked: Sequence[Integers]) -> None:
        run(connection, "analysis/replay/path_name.sql")
        words = relation(connection, "select name from _path_name order by number").to_arrow_table()
        self.words: pa.Array = words["name"].combine_chunks()
        self._work = recorded.work
        self._launch = np.where(recorded.work.is_launched, recorded.events.slice_id[recorded.work.event], NONE)
        on_host = _extend_to_operators(connection, _range_of((*asked, self._launch)))
        on_gpu = _range_of([recorded.work.slice_id])
        self._host, self._gpu = _IdPlaces(connection, "cpu_slice", on_host), _IdPlaces(connection, "gpu_slice", on_gpu)
        self._name, self._operator = self._host.fill_none(), self._host.fill_none()
        self._is_operator = np.zeros(len(self._name), bool)
        for rows in _read(connection, "path_slice", on_host):
            here = self._host.places_of(rows["slice_id"])
            self._name[here], self._is_operator[here] = rows["number"], rows["is_operator"]
            self._operator[here] = self._host.places_of(rows["operator_id"])
        self._operator = _take_at(self._name, self._operator)
        self._name_of_work, self._place = self._gpu.fill_none(), self._gpu.fill_none()
        self._operator_of_work = self._gpu.fill_none()
        for rows in _read(connection, "path_work", on_gpu):
            here = self._gpu.places_of(rows["slice_id"])
            self._name_of_work[here], self._operator_of_work[here] = rows["number"], rows["operator"]
        self._place[self._gpu.places_of(recorded.work.slice_id)] = np.arange(len(recorded.work.slice_id))

    def work_places(self, slice_id: Integers) -> Integers:
        """Return the index of each GPU slice id in the recorded work; -1 for ids that are not in it."""
        return _take_at(self._place, self._gpu.places_of(slice_id)).astype(np.int64)

    def of_work(self, place: Integers) -> tuple[Numbers, Numbers]:
        """Return the names of GPU slices (by index in the work), and the operators that they belong to.

        For kernels of a CUDA graph the operator is known from the graph's capture, for others it is the one around the launch.
        """
        here = self._gpu.places_of(self._work.slice_id[place])
        operator = _take_at(self._operator_of_work, here)
        launching = _take_at(self._operator, self._host.places_of(self._launch[place]))
        return _take_at(self._name_of_work, here), np.where(operator >= 0, operator, launching)

    def of_host(self, slice_id: Integers, or_itself: Booleans) -> tuple[Numbers, Numbers]:
        """Return the names of host slices, and the operators around them; with `or_itself`, an operator counts as its own."""
        here = self._host.places_of(slice_id)
        name, operator = _take_at(self._name, here), _take_at(self._operator, here)
        is_it = or_itself & (here >= 0) & self._is_operator[here]
        return name, np.where(is_it, name, operator)


class _IdRange(NamedTuple):
    """The ids from `first` to `last`; `last` is smaller than `first` where there are none."""

    first: int
    last: int


def _range_of(ids: Sequence[Integers]) -> _IdRange:
    """Return the range that holds all these ids; negative ones stand for none and are left out."""
    known = [some[some >= 0] for some in ids]
    known = [some for some in known if len(some)]
    if not known:
        return _IdRange(0, -1)
    return _IdRange(min(int(some.min()) for some in known), max(int(some.max()) for some in known))


def _extend_to_operators(connection: duckdb.DuckDBPyConnection, ids: _IdRange) -> _IdRange:
    """Return the range of host slice ids, extended to hold the ids of the operators around these slices."""
    least, most = connection.execute(
        "select min(operator_id), max(operator_id) from cpu_slice where slice_id between $first and $last",
        ids._asdict(),
    ).fetchall()[0]
    return ids if least is None else _IdRange(min(ids.first, least), max(ids.last, most))


class _IdPlaces:
    """Array indices for the slices of a table in a range of ids, which nearly always follow one another."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, ids: _IdRange) -> None:
        first, last, count = connection.execute(
            "select coalesce(min(slice_id), 0), coalesce(max(slice_id), -1), count(*)"  # noqa: S608 - a table of ours
            f" from {table} where slice_id between $first and $last",
            ids._asdict(),
        ).fetchall()[0]
        self._first, self._count = first, last - first + 1
        self._sorted: Integers | None = None
        if self._count > _SPREAD * count:
            found = connection.execute(
                f"select slice_id from {table} where slice_id between $first and $last order by slice_id",  # noqa: S608 - as above
                ids._asdict(),
            ).fetchnumpy()
            self._sorted, self._count = np.asarray(found["slice_id"]), count

    def fill_none(self) -> Numbers:
        """Return an array of -1 with an element for each index, and a last one for unknown ids."""
        return np.full(self._count + 1, NONE, np.int32)

    def places_of(self, ids: Integers) -> Integers:
        """Return the index of each id; -1 for unknown ids."""
        if self._sorted is None:
            places = ids - self._first
            return np.where((places >= 0) & (places < self._count), places, NONE)
        places = np.minimum(np.searchsorted(self._sorted, ids), self._count - 1)
        return np.where(self._sorted[places] == ids, places, NONE)


def _take_at(column: Numbers, places: Integers | Numbers) -> Numbers:
    """Return the elements of `column` at `places`; -1 takes the last element, which stands for no slice."""
    return np.asarray(column[places], np.int32)


def _read(
    connection: duckdb.DuckDBPyConnection, name: str, ids: _IdRange
) -> Iterator[dict[str, npt.NDArray[np.int64]]]:
    """Yield the rows of analysis/replay/`name`.sql for a range of slice ids, block by block, as columns by name."""
    query = relation(connection, statement(f"analysis/replay/{name}.sql"), **ids._asdict())
    for batch in query.to_arrow_reader(_READ_AT_ONCE):
        yield {
            field: batch.column(number).to_numpy(zero_copy_only=False)
            for number, field in enumerate(batch.schema.names)
        }


# Rows of a timeline that are cut together, and rows of the table that are written together.
_SEGMENTS_AT_ONCE = 3 * 122_880
_ROWS_AT_ONCE = 4 * 122_880

_FOREVER = np.iinfo(np.int64).max

# What a wait is counted as by its edge; what is no edge of a GPU is a wait of the host.
_CAUSE_OF_EDGE = {
    **dict.fromkeys(("launch", "stream", "start"), "idle_launch_latency"),
    **dict.fromkeys(("event", "graph", "tensor", "copy_engine"), "idle_dependency"),
}
_UNKNOWN = CATEGORIES.index("idle_unattributed")


class _Stretches(NamedTuple):
    """Segments of the path cut at steps, in the order of time: the segment's index, the step, begin and end in ns."""

    segment: Integers
    step: Integers
    ts: Integers
    ts_end: Integers


class _PathPieces(NamedTuple):
    """Parts of stretches in each of which a thread is in the same slice (-1 for none); times in ns.

    `stretch` is the index of the stretch, `cause` an index into CATEGORIES.
    """

    stretch: Integers
    ts: Integers
    ts_end: Integers
    thread: Integers
    slice_id: Integers
    cause: Codes

    def select(self, which: Booleans | Integers) -> _PathPieces:
        """Return the pieces that `which` selects (a mask or indices)."""
        return _PathPieces(
            self.stretch[which],
            self.ts[which],
            self.ts_end[which],
            self.thread[which],
            self.slice_id[which],
            self.cause[which],
        )


class _ThreadRows(NamedTuple):
    """The row ids `first` to `last` (inclusive) of a thread's timeline."""

    thread: int
    first: int
    last: int


def fill_path(connection: duckdb.DuckDBPyConnection, trace_id: int, path: CriticalPath, recorded: Recorded) -> None:
    """Insert the rows of critical_path for the steps that were replayed; none for an empty path."""
    if not len(path.ts):
        return
    stretches = _find_stretches(connection, path, recorded)
    works = (path.kind == SEGMENTS.index("host")) & (path.thread >= 0)
    is_host = works[stretches.segment]
    pieces = _find_host_pieces(connection, path, stretches, np.flatnonzero(is_host))
    others = np.flatnonzero(~is_host)
    stretch = np.concatenate([others, pieces.stretch])
    ts = np.concatenate([stretches.ts[others], pieces.ts])
    order = np.lexsort((stretch, ts))
    names = PathNames(connection, recorded, (path.slice_id[path.has_thread], pieces.slice_id))
    for first in range(0, len(order), _ROWS_AT_ONCE):
        here = order[first : first + _ROWS_AT_ONCE]
        is_piece = here >= len(others)
        piece = pieces.select(here[is_piece] - len(others))
        rows = _build_rows(path, stretches, stretch[here], is_piece, piece, names, recorded)
        segment = np.arange(first, first + len(here), dtype=np.int32)
        of_trace = np.full(len(here), trace_id, np.int32)
        insert_rows(connection, "critical_path", pa.table({"trace_id": of_trace, "segment": segment, **rows}))


def _find_stretches(connection: duckdb.DuckDBPyConnection, path: CriticalPath, recorded: Recorded) -> _Stretches:
    """Return the segments of the path cut at the steps; what lies outside the replayed steps is left out."""
    bounds = {"first_step": recorded.steps[0].step, "last_step": recorded.steps[-1].step}
    steps = run(connection, "analysis/replay/path_step.sql", **bounds).fetchnumpy()
    step, starts, ends = (np.asarray(steps[name], np.int64) for name in ("step", "ts", "ts_end"))
    # The last step lasts to the end of its work, and not of a call that outlasts both.
    end = min(path.ts_end[-1], max(recorded.ts_end, recorded.work.ts_end.max(initial=recorded.ts_end)))
    ends = np.where(starts == starts.max(), end, ends)
    parts = [
        np.arange(np.searchsorted(path.ts_end, start, side="right"), np.searchsorted(path.ts, end, side="left"))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    segment = np.concatenate(parts)
    number = np.repeat(np.arange(len(step)), [len(part) for part in parts])
    order = np.argsort(segment, kind="stable")
    segment, number = segment[order], number[order]
    ts, ts_end = np.maximum(path.ts[segment], starts[number]), np.minimum(path.ts_end[segment], ends[number])
    return _Stretches(segment, step[number], ts, ts_end)


def _find_host_pieces(
    connection: duckdb.DuckDBPyConnection, path: CriticalPath, stretches: _Stretches, here: Integers
) -> _PathPieces:
    """Return the stretches with the indices `here` cut where the thread's innermost slice changes.

    Where a launching thread is in no slice, the training thread's slice counts instead.
    """
    thread = path.thread[stretches.segment[here]]
    cause = np.full(1 << 8, _UNKNOWN, np.int8)
    for activity, name in run(connection, "analysis/replay/replay_cause.sql").fetchall():
        cause[activity] = CATEGORIES.index(name)
    parts = (here[part] for part in split_by(thread))
    of_threads = {
        int(path.thread[stretches.segment[mine[0]]]): _Stretches(mine, mine, stretches.ts[mine], stretches.ts_end[mine])
        for mine in parts
    }
    pieces = _concatenate_pieces(list(_cut_pieces(connection, of_threads, cause)))
    training = (connection.execute("select thread_id from _training_thread").fetchone() or (None,))[0]
    if training is None:
        return pieces
    again = (pieces.slice_id == NONE) & (pieces.thread != training)
    silent = pieces.select(again)
    silent = silent.select(np.argsort(silent.ts, kind="stable"))
    idle = _Stretches(silent.stretch, silent.stretch, silent.ts, silent.ts_end)
    return _concatenate_pieces([pieces.select(~again), *_cut_pieces(connection, {training: idle}, cause)])


def _concatenate_pieces(found: list[_PathPieces]) -> _PathPieces:
    """Return all pieces in one; no pieces for an empty list."""
    if not found:
        nothing = np.zeros(0, np.int64)
        return _PathPieces(nothing, nothing, nothing, nothing, nothing, np.zeros(0, np.int8))
    return _PathPieces(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _cut_pieces(
    connection: duckdb.DuckDBPyConnection, of_threads: dict[int, _Stretches], cause: Codes
) -> Iterator[_PathPieces]:
    """Yield the stretches of each thread cut at its timeline, block by block; pieces get their `segment` as `stretch`.

    `cause` is the index into CATEGORIES for each activity of the host.
    """
    threads = [thread for thread, stretches in of_threads.items() if len(stretches.ts)]
    extents = run(connection, "analysis/replay/path_timeline_extent.sql", threads=threads).fetchall()
    for group in _group_threads(extents):
        begin, end = group[0].first, group[-1].last
        for row in range(begin, max(end, begin + 1), _SEGMENTS_AT_ONCE):
            # One row more says where the block's last segment ends.
            window = {"first": row, "last": min(row + _SEGMENTS_AT_ONCE, end)}
            block = run(connection, "analysis/replay/path_timeline.sql", **window).fetchnumpy()
            for thread, first, last in group:
                here = slice(max(first, row) - row, min(last, window["last"]) - row + 1)
                bounds = np.asarray(block["ts"][here])
                if window["last"] >= last:
                    bounds = np.append(bounds, _FOREVER)
                stretches = of_threads[thread]
                found = cut_at_bounds(stretches.ts, stretches.ts_end, bounds)
                yield _PathPieces(
                    stretches.segment[found.interval],
                    found.ts,
                    found.ts_end,
                    np.full(len(found.ts), thread),
                    np.asarray(block["slice_id"])[here][found.segment],
                    cause[block["activity"][here]][found.segment],
                )


def _group_threads(extents: list[tuple[int, int, int]]) -> Iterator[list[_ThreadRows]]:
    """Yield groups of neighbouring threads whose rows fit into one block: each query has its cost, and threads may be many."""
    group: list[_ThreadRows] = []
    for extent in starmap(_ThreadRows, extents):
        if group and extent.last - group[0].first >= _SEGMENTS_AT_ONCE:
            yield group
            group = []
        group.append(extent)
    if group:
        yield group


def _build_rows(
    path: CriticalPath,
    stretches: _Stretches,
    stretch: Integers,
    is_piece: Booleans,
    piece: _PathPieces,
    names: PathNames,
    recorded: Recorded,
) -> dict[str, Any]:
    """Return the columns of critical_path, by name, for the stretches `stretch` of the path.

    Stretches that `is_piece` marks take begin, end, slice, thread and cause from the rows of `piece`.
    """
    segment = stretches.segment[stretch]

    def with_pieces(column: Integers, pieces: Integers) -> Integers:
        found = column.copy()
        found[is_piece] = pieces
        return found

    ts, ts_end = (
        with_pieces(column[stretch], pieces)
        for column, pieces in ((stretches.ts, piece.ts), (stretches.ts_end, piece.ts_end))
    )
    kind, edge = path.kind[segment], path.edge[segment]
    slice_id = with_pieces(path.slice_id[segment], piece.slice_id)
    name, operator = names.of_host(slice_id, is_piece)
    cause = np.where(kind == SEGMENTS.index("wait"), _cause_of_edges()[edge], CATEGORIES.index("idle_sync")).astype(
        np.int8
    )
    cause[is_piece] = piece.cause
    place = names.work_places(slice_id)
    place[kind == SEGMENTS.index("host")] = NONE
    on_gpu = place >= 0
    name[on_gpu], operator[on_gpu] = names.of_work(place[on_gpu])
    runs = on_gpu & (kind != SEGMENTS.index("wait"))
    # The categories of GPU work come first.
    cause[runs] = recorded.work.category[place[runs]]
    device, stream = np.full(len(place), NONE, np.int32), np.full(len(place), NONE)
    device[on_gpu], stream[on_gpu] = recorded.work.device[place[on_gpu]], recorded.work.raw_stream[place[on_gpu]]
    return {
        "step": stretches.step[stretch].astype(np.int32),
        "ts": ts,
        "dur": ts_end - ts,
        "kind": _decode_words(kind, SEGMENTS),
        "edge": _decode_words(edge, EDGES),
        "cause": _decode_words(cause, CATEGORIES),
        "slice_id": pa.array(slice_id, mask=slice_id < 0),
        "thread_id": pa.array(
            with_pieces(path.thread[segment], piece.thread).astype(np.int32), mask=~path.has_thread[segment]
        ),
        "device": pa.array(device, mask=~on_gpu),
        "stream": pa.array(stream, mask=stream == NONE),
        "name": _decode_words(name, names.words),
        "operator": _decode_words(operator, names.words),
        "unexplained": np.rint(path.unexplained[segment]).astype(np.int64),
    }


def _cause_of_edges() -> Codes:
    """Return for each edge of EDGES the index of its cause in CATEGORIES."""
    return np.array([CATEGORIES.index(_CAUSE_OF_EDGE.get(edge, "idle_sync")) for edge in EDGES], np.int8)


def _decode_words(codes: Codes | Numbers, words: tuple[str, ...] | pa.Array) -> pa.DictionaryArray:
    """Return the texts of `words` at the indices `codes`, as a dictionary array; NULL for -1."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(words))
