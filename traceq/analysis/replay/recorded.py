"""The steps that are replayed, as arrays by position: host events, GPU slices and the marks of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from traceq.analysis.categories import BUSY
from traceq.analysis.replay.lanes import assign_lanes, split_by
from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb


Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

NONE = -1

# What a synchronizing call waits for.
WAITED = ("event", "stream", "context")


class ReplayStep(NamedTuple):
    """A step as a row of replay_step.sql; times in ns; `counts` is whether it is a counted step."""

    step: int
    ts: int
    ts_end: int
    counts: bool
    slices: int
    pid: int
    thread_id: int | None
    first_slice_id: int | None  # the GPU slice that starts it, where steps start on the GPU
    own_end: int | None  # the end of its mark on the host


class Events(msgspec.Struct, frozen=True):
    """Host events in the order of time: calls, marks of steps, and launches before the window or outside the trace.

    `lane` numbers the host clocks: threads that take turns share one. `gap` is the host's time since the event before it in
    its lane, `call` its own time, both ns. `mark` is the index of the step that it starts, the number of steps for the end of
    the last, -1 for other events.
    """

    slice_id: Integers
    thread: Integers
    lane: Integers
    ts: Integers
    ts_end: Integers
    begun: Integers  # the start, but not before the end of the event before in the lane
    gap: Floats
    call: Floats
    name: Integers
    launches: Booleans
    waits: Booleans
    allocates: Booleans
    frees: Booleans  # frees memory, which waits for the device
    fetches: Booleans  # takes a batch from worker processes
    only_waits: Booleans  # a synchronizing call or a copy: it has no work of its own after what it waits for
    kind: Integers  # synchronization.kind as a position in WAITED, -1 for none
    device: Integers
    stream: Integers
    recorded: Integers  # when the event that is waited for was recorded
    mark: Integers
    is_outside: Booleans  # stands for a launch before the window, or one that is not in the trace
    pid: Integers


class Work(msgspec.Struct, frozen=True):
    """GPU slices in the order of their launches; `event` is the index of the launching event, `stream` numbers the streams."""

    slice_id: Integers
    event: Integers
    pid: Integers
    device: Integers
    raw_stream: Integers
    stream: Integers
    category: Integers  # position in categories.BUSY
    is_pageable: Booleans
    is_launched: Booleans
    is_migration: Booleans  # of unified memory: no call asks for it, it happens so long after the event before it
    is_behind_earlier: Booleans  # its device was busy with work from before the capture
    name: Integers
    call_name: Integers
    ts: Integers
    ts_end: Integers
    awaited: Integers  # position of the slice whose end its stream was told to wait for, or whose results it uses
    uses_tensor: Booleans  # an execution trace says what is awaited, no record of a wait


class Recorded(msgspec.Struct, frozen=True):
    """The steps that are replayed, from `ts` to `ts_end` (ns).

    The folds of events and slices are 0 or 1: lags in each half of the steps are predicted from the other half.
    """

    ts: int
    ts_end: int
    steps: list[ReplayStep]
    events: Events
    work: Work
    fold_of_event: Integers
    fold_of_slice: Integers
    marked_by_slice: Integers  # per step the position of the slice that starts it, or -1


def read(connection: duckdb.DuckDBPyConnection, steps: list[ReplayStep]) -> Recorded:
    """Read the calls and GPU slices that a replay of `steps` needs, from the start of the first step to the end of the last."""
    ts, ts_end = steps[0].ts, steps[-1].ts_end
    window = {"ts": ts, "ts_end": ts_end}
    calls = run(connection, "analysis/replay/replay_call.sql", kinds=list(WAITED), **window).fetchnumpy()
    slices = run(connection, "analysis/replay/replay_slice.sql", categories=list(BUSY), **window).fetchnumpy()
    slices["pid"] = _find_processes(slices, steps[0].pid)
    events, event_of_slice = _build_events(calls, slices, steps, ts)
    work = _build_work(slices, event_of_slice)
    starting = np.array([NONE if step.first_slice_id is None else step.first_slice_id for step in steps], np.int64)
    return Recorded(
        ts,
        ts_end,
        steps,
        events,
        work,
        _fold_of(events.ts, steps),
        _fold_of(events.ts[work.event] if len(work.event) else work.ts, steps),
        _find_positions(work.slice_id, starting),
    )


def _find_positions(ids: Integers, asked: Integers) -> Integers:
    """Return the index in `ids`, which are distinct, of each id in `asked`; -1 for unknown ids."""
    if not len(ids):
        return np.full(len(asked), NONE, dtype=np.int64)
    by_id = np.argsort(ids)
    place = by_id[np.minimum(np.searchsorted(ids[by_id], asked), len(ids) - 1)]
    return np.where(ids[place] == asked, place, NONE)


def _fold_of(ts: Integers, steps: list[ReplayStep]) -> Integers:
    """Return 0 or 1 for each time (ns): for an even or odd step; with a single step, for times up to their median or after it."""
    if len(steps) == 1:
        middle = np.median(ts) if len(ts) else 0
        return np.asarray(ts > middle, dtype=np.int64)
    starts = np.array([step.ts for step in steps])
    return np.asarray(np.maximum(np.searchsorted(starts, ts, side="right") - 1, 0) % 2, dtype=np.int64)


def _to_integers(column: npt.NDArray[Any]) -> Integers:
    """Return the column as int64, -1 for NULL."""
    found = np.ma.filled(column, NONE) if np.ma.isMaskedArray(column) else column
    return np.asarray(found).astype(np.int64, casting="unsafe")


def _find_processes(slices: dict[str, Any], training: int) -> Integers:
    """Return the process (pid) of each GPU slice.

    Where it is unknown, it is the process with most slices on the device; `training` where none is known there.
    """
    pid, device = _to_integers(slices["pid"]), _to_integers(slices["device"])
    for one in np.unique(device[pid == NONE]).tolist():
        known, sizes = np.unique(pid[(device == one) & (pid != NONE)], return_counts=True)
        pid[(device == one) & (pid == NONE)] = known[sizes.argmax()] if len(known) else training
    return pid


def _to_booleans(column: npt.NDArray[Any]) -> Booleans:
    """Return the column as booleans, false for NULL."""
    return np.asarray(np.ma.filled(column, False), dtype=bool)


def _infer_launch_times(slices: dict[str, Any], launched: Integers, is_launched: Booleans) -> Integers:
    """Return the launch time of each GPU slice, ns; slices without a known one were launched before the capture.

    They take the earliest known launch time of the slices that run after them on their device.
    """
    if is_launched.all():
        return launched
    found = launched.copy()
    ts, device = _to_integers(slices["ts"]), _to_integers(slices["device"])
    for one in np.unique(device[~is_launched]).tolist():
        here = np.flatnonzero(device == one)
        here = here[np.argsort(ts[here], kind="stable")]
        found[here] = np.minimum.accumulate(launched[here][::-1])[::-1]
    return np.where(is_launched, launched, found)


def _build_events(
    calls: dict[str, Any], slices: dict[str, Any], steps: list[ReplayStep], ts: int
) -> tuple[Events, Integers]:
    """Return all host events in the order of time, and for each GPU slice the index of the event that launched it.

    `calls` is emptied meanwhile, to save memory. `ts` is the start of the first step, ns.
    """
    ids = _to_integers(calls.pop("slice_id"))
    launch = _to_integers(slices["launch_id"])
    launched = _infer_launch_times(slices, _to_integers(slices["launched"]), launch >= 0)
    is_known = np.isin(launch, ids) if len(ids) else np.zeros(len(launch), dtype=bool)
    # One event for each launch before the window; without a launch, one for each slice, at the window's start.
    outside_key = np.where(launch >= 0, launch, -2 - np.arange(len(launch)))[~is_known]
    outside, first = np.unique(outside_key, return_index=True)
    outside_ts = launched[~is_known][first]
    lasts_on_gpu = len(slices["ts_end"]) and int(slices["ts_end"].max()) >= steps[-1].ts_end
    last = steps[-1].own_end if lasts_on_gpu and steps[-1].own_end is not None else steps[-1].ts_end
    mark_ts = [*(step.ts for step in steps), last]
    n_calls, n_out, n_marks = len(ids), len(outside), len(mark_ts)

    def column(name: str, outside_value: Any, mark_value: Any) -> Integers:
        parts = [
            _to_integers(calls.pop(name)),
            np.broadcast_to(np.asarray(outside_value, dtype=np.int64), (n_out,)),
            np.broadcast_to(np.asarray(mark_value, dtype=np.int64), (n_marks,)),
        ]
        return np.concatenate(parts)

    runs = np.concatenate([_to_integers(calls["ts"]), _to_integers(slices["ts"])[~is_known][first], mark_ts])
    start = column("ts", outside_ts, mark_ts)
    end = column("ts_end", outside_ts, mark_ts)
    thread_of_mark = NONE if steps[0].thread_id is None else steps[0].thread_id
    is_mark = np.concatenate([np.zeros(n_calls + n_out, dtype=bool), np.ones(n_marks, dtype=bool)])
    is_outside = np.concatenate(
        [np.zeros(n_calls, dtype=bool), np.ones(n_out, dtype=bool), np.zeros(n_marks, dtype=bool)]
    )
    slice_id = np.concatenate([ids, outside, np.full(n_marks, NONE)])
    order = np.lexsort((slice_id, runs, ~is_mark, start))
    # One by one: of a large trace all of them twice are hundreds of megabytes.
    columns: dict[str, Any] = {"slice_id": slice_id[order], "ts": start[order], "ts_end": end[order]}
    del start, end, runs, slice_id
    columns["thread"] = column("thread_id", NONE, thread_of_mark)[order]
    columns["pid"] = column("pid", NONE, steps[0].pid)[order]
    columns["name"] = column("name", 0, 0)[order]
    for name in ("kind", "device", "stream", "recorded"):
        columns[name] = column(name, NONE, NONE)[order]
    for name in ("launches", "waits", "allocates", "frees", "fetches", "only_waits"):
        columns[name] = column(name, name == "launches", 0).astype(bool)[order]
    columns["mark"] = np.concatenate([np.full(n_calls + n_out, NONE), np.arange(n_marks)])[order]
    columns["is_outside"] = is_outside[order]
    lane = assign_lanes(
        columns["pid"],
        columns["thread"],
        columns["ts"],
        columns["ts_end"],
        columns["is_outside"],
        columns["mark"] != NONE,
    )
    begun, gap, call = _host_times(lane, columns["ts"], columns["ts_end"], columns["is_outside"], ts)
    by_id = np.argsort(columns["slice_id"], kind="stable")
    key = np.where(is_known, launch, 0)
    key[~is_known] = outside_key
    found = by_id[np.searchsorted(columns["slice_id"][by_id], key)] if len(key) else np.zeros(0, dtype=np.int64)
    events = Events(**columns, lane=lane, begun=begun, gap=gap, call=call)
    # A migration hangs on the last event of the host before it.
    host = np.flatnonzero(~events.is_outside)
    moved = np.flatnonzero(_to_booleans(slices["is_migration"]) & (launch < 0))
    found[moved] = host[
        np.maximum(np.searchsorted(events.ts[host], _to_integers(slices["ts"])[moved], side="right") - 1, 0)
    ]
    return events, found


def _host_times(
    lane: Integers, ts: Integers, ts_end: Integers, is_outside: Booleans, start: int
) -> tuple[Integers, Floats, Floats]:
    """Return for each event its begin in its lane, the host's time since the event before it, and its own time; ns.

    An event begins when the event before it in its lane has ended. Launches from outside take no time; their gap is the time
    between them.
    """
    begun, gap, call = ts.copy(), np.zeros(len(ts)), np.zeros(len(ts))
    for here in split_by(lane):
        begins, ends = ts[here], ts_end[here]
        if is_outside[here[0]]:
            gap[here] = np.diff(begins, prepend=start)
            continue
        last = np.maximum.accumulate(np.concatenate([[start], ends[:-1]]))
        last = np.maximum(last, start)
        begun[here] = np.maximum(begins, last)
        gap[here] = begun[here] - last
        call[here] = np.maximum(ends - begun[here], 0)
    return begun, gap, call


def _number_keys(*keys: Integers) -> Integers:
    """Return for each element the number, from 0, of its combination of keys, in the order of the keys."""
    order = np.lexsort(keys[::-1])
    begins = np.zeros(len(order), dtype=bool)
    for key in keys:
        begins[1:] |= np.diff(key[order]) != 0
    found = np.zeros(len(order), dtype=np.int64)
    found[order] = np.cumsum(begins)
    return found


def _build_work(slices: dict[str, Any], event: Integers) -> Work:
    """Return the GPU slices in the order of launches. `slices` is emptied meanwhile, to save memory."""
    order = np.lexsort((_to_integers(slices["slice_id"]), _to_integers(slices["ts"]), event))

    def integers(name: str) -> Integers:
        return _to_integers(slices.pop(name)[order])

    def booleans(name: str) -> Booleans:
        return _to_booleans(slices.pop(name)[order])

    device, stream, pid = (integers(name) for name in ("device", "stream", "pid"))
    slice_id, awaited_id = integers("slice_id"), integers("waited_for_id")
    awaited = np.full(len(slice_id), NONE, dtype=np.int64)
    awaits = np.flatnonzero(awaited_id != NONE)
    awaited[awaits] = _find_positions(slice_id, awaited_id[awaits])
    return Work(
        slice_id=slice_id,
        event=event[order],
        pid=pid,
        device=device,
        raw_stream=stream,
        stream=_number_keys(pid, device, stream),
        category=integers("category"),
        is_pageable=booleans("is_pageable"),
        is_launched=integers("launch_id") >= 0,
        is_migration=booleans("is_migration"),
        is_behind_earlier=booleans("is_behind_earlier"),
        name=integers("name"),
        call_name=integers("call_name"),
        ts=integers("ts"),
        ts_end=integers("ts_end"),
        awaited=np.where(awaited < np.arange(len(awaited)), awaited, NONE),
        uses_tensor=booleans("is_tensor_wait"),
    )
