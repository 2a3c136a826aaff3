"""Fills critical_path: the segments of the path, cut at steps and where the innermost slice of a host thread changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.analysis.categories import CATEGORIES
from traceq.analysis.ledger.host_piece import cut
from traceq.analysis.replay.critical_path import EDGES, SEGMENTS
from traceq.analysis.replay.path_names import Names
from traceq.analysis.replay.recorded import NONE
from traceq.database.sql import run
from traceq.database.tables import insert_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from traceq.analysis.replay.critical_path import Codes, Path
    from traceq.analysis.replay.path_names import Numbers
    from traceq.analysis.replay.recorded import Booleans, Integers, Recorded

# Rows of a timeline that are cut together, and rows of the table that are written together.
_SEGMENTS_AT_ONCE = 3 * 122_880
_ROWS_AT_ONCE = 4 * 122_880

_FOREVER = np.iinfo(np.int64).max

# What a wait is counted as by its edge; what is no edge of a GPU is a wait of the host.
_CAUSE_OF_EDGE = {
    **dict.fromkeys(("launch", "stream", "start"), "idle_launch_latency"),
    **dict.fromkeys(("event", "graph", "copy_engine"), "idle_dependency"),
}
_UNKNOWN = CATEGORIES.index("idle_unattributed")


class _Stretches(NamedTuple):
    """Segments of the path inside steps, in the order of time: the position of the segment and the step, and times in ns."""

    segment: Integers
    step: Integers
    ts: Integers
    ts_end: Integers


class _Pieces(NamedTuple):
    """Parts of stretches, in each of which a thread is in one slice (-1 for none); `cause` is a position in CATEGORIES."""

    stretch: Integers
    ts: Integers
    ts_end: Integers
    thread: Integers
    slice_id: Integers
    cause: Codes

    def some(self, which: Booleans | Integers) -> _Pieces:
        """Return those that are chosen, or at positions."""
        return _Pieces(
            self.stretch[which],
            self.ts[which],
            self.ts_end[which],
            self.thread[which],
            self.slice_id[which],
            self.cause[which],
        )


def fill_path(connection: duckdb.DuckDBPyConnection, trace_id: int, path: Path, recorded: Recorded) -> None:
    """Build rows of critical_path for the steps that were replayed."""
    if not len(path.ts):
        return
    stretches = _stretches(connection, path, recorded)
    works = (path.kind == SEGMENTS.index("host")) & (path.thread >= 0)
    is_host = works[stretches.segment]
    pieces = _host_pieces(connection, path, stretches, np.flatnonzero(is_host))
    others = np.flatnonzero(~is_host)
    stretch = np.concatenate([others, pieces.stretch])
    ts = np.concatenate([stretches.ts[others], pieces.ts])
    order = np.lexsort((stretch, ts))
    names = Names(connection, recorded, (path.slice_id[path.has_thread], pieces.slice_id))
    for first in range(0, len(order), _ROWS_AT_ONCE):
        here = order[first : first + _ROWS_AT_ONCE]
        is_piece = here >= len(others)
        piece = pieces.some(here[is_piece] - len(others))
        rows = _rows(path, stretches, stretch[here], is_piece, piece, names, recorded)
        segment = np.arange(first, first + len(here), dtype=np.int32)
        of_trace = np.full(len(here), trace_id, np.int32)
        insert_rows(connection, "critical_path", pa.table({"trace_id": of_trace, "segment": segment, **rows}))


def _stretches(connection: duckdb.DuckDBPyConnection, path: Path, recorded: Recorded) -> _Stretches:
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


def _host_pieces(connection: duckdb.DuckDBPyConnection, path: Path, stretches: _Stretches, here: Integers) -> _Pieces:
    """Return pieces of the stretches `here`. Where a thread that launches is in no slice, the training thread speaks for it."""
    thread = path.thread[stretches.segment[here]]
    cause = np.full(1 << 8, _UNKNOWN, np.int8)
    for activity, name in run(connection, "analysis/replay/replay_cause.sql").fetchall():
        cause[activity] = CATEGORIES.index(name)
    found: list[_Pieces] = []
    for one in np.unique(thread).tolist():
        mine = here[thread == one]
        found += _cut(connection, one, _Stretches(mine, mine, stretches.ts[mine], stretches.ts_end[mine]), cause)
    pieces = _joined(found)
    training = (connection.execute("select thread_id from _training_thread").fetchone() or (None,))[0]
    if training is None:
        return pieces
    again = (pieces.slice_id == NONE) & (pieces.thread != training)
    silent = pieces.some(again)
    silent = silent.some(np.argsort(silent.ts, kind="stable"))
    idle = _Stretches(silent.stretch, silent.stretch, silent.ts, silent.ts_end)
    return _joined([pieces.some(~again), *_cut(connection, training, idle, cause)])


def _joined(found: list[_Pieces]) -> _Pieces:
    if not found:
        nothing = np.zeros(0, np.int64)
        return _Pieces(nothing, nothing, nothing, nothing, nothing, np.zeros(0, np.int8))
    return _Pieces(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _cut(connection: duckdb.DuckDBPyConnection, thread: int, stretches: _Stretches, cause: Codes) -> Iterator[_Pieces]:
    """Yield pieces of stretches (`segment` is their number) by the timeline of a thread, block by block."""
    if not len(stretches.ts):
        return
    first, last = run(connection, "analysis/replay/path_timeline_extent.sql", thread_id=thread).fetchall()[0]
    for row in range(first, max(last, first + 1), _SEGMENTS_AT_ONCE) if first is not None else ():
        # One row more says where the block's last segment ends.
        window = {"first": row, "last": min(row + _SEGMENTS_AT_ONCE, last)}
        block = run(connection, "analysis/replay/path_timeline.sql", **window).fetchnumpy()
        bounds = np.append(block["ts"], _FOREVER) if window["last"] == last else np.asarray(block["ts"])
        found = cut(stretches.ts, stretches.ts_end, bounds)
        yield _Pieces(
            stretches.segment[found.interval],
            found.ts,
            found.ts_end,
            np.full(len(found.ts), thread),
            np.asarray(block["slice_id"])[found.segment],
            cause[block["activity"]][found.segment],
        )


def _rows(
    path: Path,
    stretches: _Stretches,
    stretch: Integers,
    is_piece: Booleans,
    piece: _Pieces,
    names: Names,
    recorded: Recorded,
) -> dict[str, Any]:
    """Build the table's columns for stretches of the path; where `is_piece` for pieces of them, given in `piece`."""
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
    place = names.work(slice_id)
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
        "kind": _words(kind, SEGMENTS),
        "edge": _words(edge, EDGES),
        "cause": _words(cause, CATEGORIES),
        "slice_id": pa.array(slice_id, mask=slice_id < 0),
        "thread_id": pa.array(
            with_pieces(path.thread[segment], piece.thread).astype(np.int32), mask=~path.has_thread[segment]
        ),
        "device": pa.array(device, mask=~on_gpu),
        "stream": pa.array(stream, mask=stream == NONE),
        "name": _words(name, names.words),
        "operator": _words(operator, names.words),
        "unexplained": np.rint(path.unexplained[segment]).astype(np.int64),
    }


def _cause_of_edges() -> Codes:
    """Return by edge the position of its cause in CATEGORIES."""
    return np.array([CATEGORIES.index(_CAUSE_OF_EDGE.get(edge, "idle_sync")) for edge in EDGES], np.int8)


def _words(codes: Codes | Numbers, words: tuple[str, ...] | pa.Array) -> pa.DictionaryArray:
    """Return text by its position in `words`, NULL for -1."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(words))
