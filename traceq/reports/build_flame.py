"""Builds flame graphs: the time of steps by call path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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


def build_flame(connection: duckdb.DuckDBPyConnection, trace_id: int, traces: int = 1) -> FlameGraph | None:
    """Build the flame graph of the counted steps: host calls and the GPU work they launched; None without host time.

    With more `traces` on one page, the graph has fewer frames.
    """
    found = paths_of(connection, trace_id)
    if not any(path["host"] for path in found):
        return None
    return make_flame(_add_totals(found), min(_FRAMES, _OF_ALL_TRACES // traces))


def paths_of(
    connection: duckdb.DuckDBPyConnection, trace_id: int, batch_of: Mapping[int, int] | None = None
) -> list[dict[str, Any]]:
    """Return the call paths of the counted steps and the GPU work they launched, each after its parent.

    A path has its number, parent, kind and name, calls, and ns on the host (`host`) and of its own GPU work
    (`own_gpu`). With `batch_of`, paths are of the steps in it alone; `in` has those of the sums that are not 0 for each
    batch of steps, by its number.
    """
    steps = read_rows(connection, "flame_step", trace_id=trace_id)
    if batch_of is not None:
        steps = [step for step in steps if step["step"] in batch_of]
    threads = read_rows(connection, "flame_thread", trace_id=trace_id) if steps else []
    if not threads:
        return []
    for table in _TABLES:
        run(connection, f"reports/sql/{table}.sql", trace_id=trace_id)
    periods = _join_steps(steps) if batch_of is None else _divide_steps(steps, batch_of)
    found = _order_paths(_read_levels(connection, trace_id, periods, _batches_by_step(steps, batch_of), threads))
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


def _batches_by_step(steps: Sequence[Mapping[str, Any]], batch_of: Mapping[int, int] | None) -> Numbers:
    """Return an array of the batch at the place of each step's number, -1 at others; all are in batch 0 without `batch_of`."""
    found = np.full(1 + max(step["step"] for step in steps), _NONE)
    for step in steps:
        found[step["step"]] = 0 if batch_of is None else batch_of[step["step"]]
    return found


def _read_levels(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    periods: Periods,
    batches: Numbers,
    threads: Sequence[Mapping[str, Any]],
) -> list[list[dict[str, Any]]]:
    """Return the paths by level: threads, then calls of equal depth; GPU work is one level below the call that launched it.

    `batches` has the batch of each step.
    """
    labels, kinds_of_work = (_split_label(connection, table) for table in _TABLES)
    work = _keep_batches(read_columns(connection, "flame_work", trace_id=trace_id), batches)
    launched_by = np.full(len(work["dur"]), _NONE)
    levels: list[list[dict[str, Any]]] = [[]]
    by_number: list[dict[str, Any]] = []
    for some in _read_batches(threads):
        read = read_columns(
            connection, "flame_call", trace_id=trace_id, first=some[0]["thread_id"], last=some[-1]["thread_id"]
        )
        found = find_paths(CallSlices(**read), periods, len(labels))
        by = found.find_paths(work["launch_id"])
        launched_by[by >= 0] = by[by >= 0] + len(by_number)
        _add_calls(levels, by_number, found, {thread["thread_id"]: thread["name"] for thread in some}, labels)
    _add_work(levels, by_number, launched_by, work, kinds_of_work, int(batches.max()) + 1)
    return levels


def _keep_batches(work: Mapping[str, Numbers], batches: Numbers) -> dict[str, Numbers]:
    """Return the columns of the GPU work whose step is in a batch, with the column `batch` added."""
    batch = np.append(batches, _NONE)[np.minimum(work["step"], len(batches))]
    return {name: column[batch >= 0] for name, column in {**work, "batch": batch}.items()}


def _read_batches(threads: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    for thread in threads:
        if batch and sum(each["calls"] for each in batch) + thread["calls"] > _CALLS:
            yield batch
            batch = []
        batch.append(thread)
    yield batch


def _split_label(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    """Return the (kind, name) of each label number of a table, in the order of the numbers."""
    found = ask(connection, f"select distinct label, kind, name from {table} order by label")  # noqa: S608 - a name of ours
    return [(row["kind"], row["name"]) for row in found]


def _make_path(
    around: dict[str, Any] | None, shown: tuple[str, str], sums: tuple[int, int, int], sums_in: Mapping[str, Numbers]
) -> dict[str, Any]:
    """Make a path; `sums` are its calls, host ns and own GPU ns, `sums_in` those of them that are not 0 by batch."""
    kind, name = shown
    count, host, own_gpu = sums
    return {
        "around": around,
        "level": 0 if around is None else around["level"] + 1,
        "kind": kind,
        "name": name,
        "count": count,
        "host": host,
        "own_gpu": own_gpu,
        "in": sums_in,
    }


def _add_calls(
    levels: list[list[dict[str, Any]]],
    by_number: list[dict[str, Any]],
    found: Paths,
    threads: Mapping[int, str],
    labels: Sequence[tuple[str, str]],
) -> None:
    """Add threads and their call paths to `levels`, and the call paths also to `by_number`, in the order of their numbers."""
    above: Any = {}
    for depth, level in enumerate(found.levels):
        if depth == 0:
            for thread_id in np.unique(level.around).tolist():
                host_in = level.host_ns[level.around == thread_id].sum(axis=0)
                sums_in = {"count": np.zeros_like(host_in), "host": host_in}
                above[thread_id] = _make_path(None, ("thread", threads[thread_id]), (1, int(host_in.sum()), 0), sums_in)
            levels[0] += above.values()
        counts, hosts = (column.sum(axis=1).tolist() for column in (level.calls, level.host_ns))
        here = [
            _make_path(above[around], labels[label], (count, host, 0), {"count": count_in, "host": host_in})
            for around, label, count, host, count_in, host_in in zip(
                level.around.tolist(), level.label.tolist(), counts, hosts, level.calls, level.host_ns, strict=True
            )
        ]
        if len(levels) == depth + 1:
            levels.append([])
        levels[depth + 1] += here
        by_number += here
        above = here


def _add_work(
    levels: list[list[dict[str, Any]]],
    by_number: Sequence[dict[str, Any]],
    launched_by: Numbers,
    work: Mapping[str, Numbers],
    kinds_of_work: Sequence[tuple[str, str]],
    batches: int,
) -> None:
    """Add GPU work to `levels`, below the call path that launched it; `batches` is the number of batches.

    Work that an unknown call launched stands beside the threads.
    """
    size = (len(by_number) + 1) * len(kinds_of_work)
    keys, places = number_keys((launched_by + 1) * len(kinds_of_work) + work["label"], size)
    places_in, length = places * batches + work["batch"], len(keys) * batches
    counts = np.bincount(places_in, minlength=length).reshape(-1, batches)
    times = sum_at(places_in, work["dur"], length).reshape(-1, batches)
    levels.append([])
    for key, count_in, dur_in in zip(keys.tolist(), counts, times, strict=True):
        by, label = divmod(key, len(kinds_of_work))
        around = by_number[by - 1] if by else None
        sums = (int(count_in.sum()), 0, int(dur_in.sum()))
        path = _make_path(around, kinds_of_work[label], sums, {"count": count_in, "own_gpu": dur_in})
        levels[path["level"]].append(path)


def _order_paths(levels: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the paths of all levels in one list, parents before children, the longest of a level first.

    The place in the list is written to each path as `path`.
    """
    found: list[dict[str, Any]] = []
    for level in levels:
        for path in level:
            path["parent"] = path["around"] and path["around"]["path"]

        def place(path: Mapping[str, Any]) -> tuple[int, int, str, str, int]:
            return -path["host"], -path["own_gpu"], path["kind"], path["name"], path["parent"] or 0

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
