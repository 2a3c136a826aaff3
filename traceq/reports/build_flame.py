"""Builds flame graphs: the time of steps by call path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from traceq.analysis.categories import BY_NAME
from traceq.database.query import ask
from traceq.database.sql import run
from traceq.reports.call_paths import CallSlices, Numbers, Paths, Periods, find_paths, number_keys, sum_at
from traceq.reports.flame import FlameGraph, Frame
from traceq.reports.queries import read_columns, read_rows

if TYPE_CHECKING:
    import duckdb

# Frames below this share of all host time and of all GPU time are put together, and more of them if there are too many.
_LEAST_SHARE, _FRAMES, _OF_ALL_TRACES = 0.001, 4_000, 16_000

# So many calls are read at once, unless one thread has more.
_CALLS = 4_000_000

# Temporary tables: names and kinds by label.
_TABLES = ("flame_name", "flame_work_name")

# No path: nothing that is known launched it.
_NONE = -1


class _Leaves(NamedTuple):
    """GPU work or idle time, in columns: `around` is the number of the call path around each, -1 as long as it is unknown.

    That is the path of `call_id`, else the thread `thread_id` itself, else none. `label` is a place in `kinds`, the (kind,
    name) of paths; `dur` is added to their `side`, ns, in the batch of steps `batch`.
    """

    side: str
    kinds: Sequence[tuple[str, str]]
    call_id: Numbers
    thread_id: Numbers
    label: Numbers
    dur: Numbers
    batch: Numbers
    around: Numbers


def build_flame(connection: duckdb.DuckDBPyConnection, trace_id: int, traces: int = 1) -> FlameGraph | None:
    """Build the flame graph of the counted steps: host calls and the GPU work they launched; None without host time.

    With more `traces` on one page, the graph has fewer frames.
    """
    found = paths_of(connection, trace_id)
    if not any(path["host"] for path in found):
        return None
    return make_flame(_add_totals(found), min(_FRAMES, _OF_ALL_TRACES // traces))


def paths_of(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    batch_of: Mapping[int, int] | None = None,
    *,
    with_idle: bool = False,
) -> list[dict[str, Any]]:
    """Return the call paths of the counted steps and the GPU work they launched, each after its parent.

    A path has its number, parent, kind and name, calls, and ns on the host (`host`) and of its own GPU work
    (`own_gpu`). With `batch_of`, paths are of the steps in it alone; `in` has those of the sums that are not 0 for each
    batch of steps, by its number. `with_idle` adds paths with the ns in which a GPU was idle in all counted steps
    (`own_idle`), by cause: below the call that the host was in, or was late after.
    """
    steps = read_rows(connection, "flame_step", trace_id=trace_id)
    if batch_of is not None:
        steps = [step for step in steps if step["step"] in batch_of]
    if not steps:
        return []
    threads = read_rows(connection, "flame_thread", trace_id=trace_id)
    for table in _TABLES:
        run(connection, f"reports/sql/{table}.sql", trace_id=trace_id)
    periods = _join_steps(steps) if batch_of is None else _divide_steps(steps, batch_of)
    batches = _batch_steps(steps, batch_of)
    found = _order_paths(_read_levels(connection, trace_id, periods, batches, threads, with_idle=with_idle))
    for table in _TABLES:
        ask(connection, f"drop table temp.{table}")
    return found


def _join_steps(steps: Sequence[Mapping[str, Any]]) -> Periods:
    """Return steps as periods of one batch: those that follow one another are one period."""
    ts, ts_end = (np.array([step[end] for step in steps], np.int64) for end in ("ts", "ts_end"))
    is_apart = ts[1:] != ts_end[:-1]
    ts, ts_end = ts[np.append(True, is_apart)], ts_end[np.append(is_apart, True)]
    return Periods(ts, ts_end, np.zeros(len(ts), np.int64))


def _divide_steps(steps: Sequence[Mapping[str, Any]], batch_of: Mapping[int, int]) -> Periods:
    """Return each step as a period of its batch."""
    columns = zip(*((step["ts"], step["ts_end"], batch_of[step["step"]]) for step in steps), strict=True)
    return Periods(*(np.array(column, np.int64) for column in columns))


class _BatchedSteps(NamedTuple):
    """Steps by their numbers, which rise, and the batch of each."""

    number: Numbers
    batch: Numbers

    def find_batches(self, numbers: Numbers) -> Numbers:
        """Return the batches of the steps with these numbers, -1 for other numbers."""
        at = np.minimum(np.searchsorted(self.number, numbers), len(self.number) - 1)
        return np.where(self.number[at] == numbers, self.batch[at], _NONE)


def _batch_steps(steps: Sequence[Mapping[str, Any]], batch_of: Mapping[int, int] | None) -> _BatchedSteps:
    """Return the batch of each step; all are in batch 0 without `batch_of`."""
    numbers = sorted(step["step"] for step in steps)
    batches = [0 if batch_of is None else batch_of[number] for number in numbers]
    return _BatchedSteps(np.array(numbers, np.int64), np.array(batches, np.int64))


def _read_levels(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    periods: Periods,
    batches: _BatchedSteps,
    threads: Sequence[Mapping[str, Any]],
    *,
    with_idle: bool,
) -> list[list[dict[str, Any]]]:
    """Return the paths by level: threads, then calls of equal depth.

    GPU work is one level below the call that launched it, idle time below the call that the host was in. `batches` has
    the batch of each step.
    """
    labels, kinds_of_work = (_split_label(connection, table) for table in _TABLES)
    leaves = [_read_work(connection, trace_id, kinds_of_work, batches)]
    if with_idle:
        leaves.append(_read_idle(connection, trace_id))
    levels: list[list[dict[str, Any]]] = [[]]
    by_number: list[dict[str, Any]] = []
    by_thread: dict[int, dict[str, Any]] = {}
    for some in _read_batches(threads):
        read = read_columns(
            connection, "flame_call", trace_id=trace_id, first=some[0]["thread_id"], last=some[-1]["thread_id"]
        )
        found = find_paths(CallSlices(**read), periods, len(labels))
        for group in leaves:
            by = found.find_paths(group.call_id)
            group.around[by >= 0] = by[by >= 0] + len(by_number)
        names = {thread["thread_id"]: thread["name"] for thread in some}
        by_thread |= _add_calls(levels, by_number, found, names, labels)
    for group in leaves:
        _add_leaves(levels, by_number, by_thread, group, int(batches.batch.max()) + 1)
    return levels


def _read_work(
    connection: duckdb.DuckDBPyConnection, trace_id: int, kinds: Sequence[tuple[str, str]], batches: _BatchedSteps
) -> _Leaves:
    """Return the GPU work of the steps that have a batch in `batches`."""
    work = read_columns(connection, "flame_work", trace_id=trace_id)
    batch = batches.find_batches(work["step"])
    launch_id, label, dur, batch = (
        column[batch >= 0] for column in (work["launch_id"], work["label"], work["dur"], batch)
    )
    nowhere = np.full(len(dur), _NONE)
    return _Leaves("own_gpu", kinds, launch_id, nowhere, label, dur, batch, nowhere.copy())


def _read_idle(connection: duckdb.DuckDBPyConnection, trace_id: int) -> _Leaves:
    """Return the idle time of the counted steps, all in batch 0."""
    idle = read_columns(connection, "flame_idle", trace_id=trace_id)
    causes, label = np.unique(idle["cause"].astype(str), return_inverse=True)
    kinds = [(cause, BY_NAME[cause].label) for cause in causes.tolist()]
    batch, nowhere = np.zeros(len(label), np.int64), np.full(len(label), _NONE)
    return _Leaves("own_idle", kinds, idle["slice_id"], idle["thread_id"], label, idle["dur"], batch, nowhere)


def _read_batches(threads: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    for thread in threads:
        if batch and sum(each["calls"] for each in batch) + thread["calls"] > _CALLS:
            yield batch
            batch = []
        batch.append(thread)
    if batch:
        yield batch


def _split_label(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    """Return the (kind, name) of each label number of a table, in the order of the numbers."""
    found = ask(connection, f"select distinct label, kind, name from {table} order by label")  # noqa: S608 - a name of ours
    return [(row["kind"], row["name"]) for row in found]


def _make_path(
    around: dict[str, Any] | None, shown: tuple[str, str], count: int, sums_in: Mapping[str, Numbers], **times: int
) -> dict[str, Any]:
    """Return a path with its `times` in ns (host, own_gpu, own_idle), 0 where none is given.

    `sums_in` has those of the sums, and of `count`, that are not 0, by batch.
    """
    kind, name = shown
    return {
        "around": around,
        "level": 0 if around is None else around["level"] + 1,
        "kind": kind,
        "name": name,
        "count": count,
        "host": 0,
        "own_gpu": 0,
        "own_idle": 0,
        **times,
        "in": sums_in,
    }


def _add_calls(
    levels: list[list[dict[str, Any]]],
    by_number: list[dict[str, Any]],
    found: Paths,
    threads: Mapping[int, str],
    labels: Sequence[tuple[str, str]],
) -> dict[int, dict[str, Any]]:
    """Add threads and their call paths to `levels`, and the call paths also to `by_number`, in the order of their numbers.

    Returns the paths of the threads by thread_id.
    """
    by_thread: dict[int, dict[str, Any]] = {}
    above: Any = by_thread
    for depth, level in enumerate(found.levels):
        if depth == 0:
            for thread_id in np.unique(level.around).tolist():
                host_in = level.host_ns[level.around == thread_id].sum(axis=0)
                sums_in = {"count": np.zeros_like(host_in), "host": host_in}
                name = ("thread", threads[thread_id])
                by_thread[thread_id] = _make_path(None, name, 1, sums_in, host=int(host_in.sum()))
            levels[0] += by_thread.values()
        counts, hosts = (column.sum(axis=1).tolist() for column in (level.calls, level.host_ns))
        here = [
            _make_path(above[around], labels[label], count, {"count": count_in, "host": host_in}, host=host)
            for around, label, count, host, count_in, host_in in zip(
                level.around.tolist(), level.label.tolist(), counts, hosts, level.calls, level.host_ns, strict=True
            )
        ]
        if len(levels) == depth + 1:
            levels.append([])
        levels[depth + 1] += here
        by_number += here
        above = here
    return by_thread


def _add_leaves(
    levels: list[list[dict[str, Any]]],
    by_number: Sequence[dict[str, Any]],
    by_thread: Mapping[int, dict[str, Any]],
    leaves: _Leaves,
    batches: int,
) -> None:
    """Add GPU work or idle time to `levels`, below its call path or thread; beside the threads where neither is known.

    `batches` is the number of batches.
    """
    places_around = [None, *by_number, *by_thread.values()]
    around = leaves.around + 1
    for place, thread_id in enumerate(by_thread, len(by_number) + 1):
        around[(around == 0) & (leaves.thread_id == thread_id)] = place
    kinds = leaves.kinds
    keys, places = number_keys(around * len(kinds) + leaves.label, len(places_around) * len(kinds))
    places_in, length = places * batches + leaves.batch, len(keys) * batches
    counts = np.bincount(places_in, minlength=length).reshape(-1, batches)
    times = sum_at(places_in, leaves.dur, length).reshape(-1, batches)
    levels.append([])
    for key, count_in, dur_in in zip(keys.tolist(), counts, times, strict=True):
        above, label = divmod(key, len(kinds))
        sums_in = {"count": count_in, leaves.side: dur_in}
        total = {leaves.side: int(dur_in.sum())}
        path = _make_path(places_around[above], kinds[label], int(count_in.sum()), sums_in, **total)
        levels[path["level"]].append(path)


def _order_paths(levels: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the paths of all levels in one list, parents before children, the longest of a level first.

    The place in the list is written to each path as `path`.
    """
    found: list[dict[str, Any]] = []
    for level in levels:
        for path in level:
            path["parent"] = path["around"] and path["around"]["path"]

        def place(path: Mapping[str, Any]) -> tuple[int, int, int, str, str, int]:
            return -path["host"], -path["own_gpu"], -path["own_idle"], path["kind"], path["name"], path["parent"] or 0

        for path in sorted(level, key=place):
            path["path"] = len(found)
            found.append(path)
    return found


def make_flame(paths: Sequence[Mapping[str, Any]], most: int) -> FlameGraph:
    """Make the flame graph of `paths` (parents first, with total times) of at most `most` frames.

    Paths below a share of the time are merged; the share rises until the frames are few enough.
    """
    share = _LEAST_SHARE
    while len(frames := _make_frames(paths, share)) > most:
        share *= 1.5
    return FlameGraph(frames, share)


def _add_totals(paths: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return copies of the paths with `gpu` added: the time of GPU work launched in the path or in a path below it, ns."""
    found = {path["path"]: {**path, "gpu": path["own_gpu"]} for path in paths}
    for path in sorted(found.values(), key=lambda each: -each["level"]):
        if path["parent"] is not None:
            found[path["parent"]]["gpu"] += path["gpu"]
    return list(found.values())


def _make_frames(paths: Sequence[Mapping[str, Any]], share: float) -> tuple[Frame, ...]:
    outermost = [path for path in paths if path["parent"] is None]
    host, gpu = (sum(path[side] for path in outermost) for side in ("host", "gpu"))
    frames = [Frame("all", "all", -1, 1, host, gpu)]
    numbers: dict[int | None, int] = {None: 0}
    smaller: dict[int, list[int]] = {}
    for path in paths:
        if path["parent"] not in numbers:
            continue  # inside one that is too small
        around = numbers[path["parent"]]
        times = (path["count"], path["host"], path["gpu"])
        if (path["host"] and path["host"] >= share * host) or (path["gpu"] and path["gpu"] >= share * gpu):
            numbers[path["path"]] = len(frames)
            frames.append(Frame(path["name"], path["kind"], around, *times))
        else:
            smaller[around] = [
                before + more for before, more in zip(smaller.get(around, (0, 0, 0)), times, strict=True)
            ]
    frames += [
        Frame("(smaller)", "smaller", around, *times)
        for around, times in sorted(smaller.items())
        if times[1] or times[2]
    ]
    return tuple(frames)
