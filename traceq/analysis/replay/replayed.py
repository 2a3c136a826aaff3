"""Fills dependency, replay_step, critical_path and replay: the counted steps as a graph, and what they last without a cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from traceq.analysis.categories import CATEGORIES
from traceq.analysis.replay.counterfactual import (
    COPIES,
    STALLS,
    ReplayChange,
    ReplayWorld,
    Scenario,
    apply_change,
    change_extremes,
)
from traceq.analysis.replay.critical_path import find_critical_path
from traceq.analysis.replay.graph import build_graph
from traceq.analysis.replay.path_table import fill_path
from traceq.analysis.replay.recorded import NONE, ReplayStep, read
from traceq.analysis.replay.savings import (
    ReplayAccuracy,
    ReplaySaving,
    estimate_saving,
    marks_of,
    measure_accuracy,
    sum_unexplained,
)
from traceq.analysis.replay.too_large import TooLarge, too_many_slices
from traceq.analysis.replay.waits import KINDS, QUEUE, previous_with_key
from traceq.common.units import parse_size
from traceq.database.sql import run
from traceq.database.tables import insert_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import duckdb

    from traceq.analysis.replay.graph import Graph, Lag
    from traceq.analysis.replay.recorded import Booleans, Floats, Integers, Recorded


_KINDS = ("thread", "hand_over", "launch", "stream", "copy_engine", "event", "graph", "tensor", *KINDS)


def build_edges(recorded: Recorded, graph: Graph) -> Iterator[dict[str, Any]]:
    """Yield the edges of the graph as columns of the table dependency, a part for each kind of edge; lags in ns.

    Columns are kind, source_id, target_id (slice ids), lag, usual and unexplained.
    """
    for kind, *columns in _build_parts(recorded, graph):
        found: dict[str, Any] = {"kind": pa.DictionaryArray.from_arrays(pa.array(kind), pa.array(_KINDS))}
        for name, column in zip(("source_id", "target_id", "lag", "usual", "unexplained"), columns, strict=True):
            is_whole = np.issubdtype(column.dtype, np.integer)
            found[name] = column if is_whole else np.nan_to_num(column, neginf=0.0).round().astype(np.int64)
        yield found


def _build_parts(recorded: Recorded, graph: Graph) -> Iterator[list[Any]]:
    """Yield the edges by kind as lists of columns: kind (index into _KINDS), source, target, lag, usual, unexplained; ns."""
    work = recorded.work
    yield _between_calls(recorded)
    here = np.flatnonzero(work.is_launched)
    given = recorded.events.ts[work.event[here]]
    lead = graph.lead[work.event[here]]
    yield _build_part(
        "launch",
        recorded.events.slice_id[work.event[here]],
        work.slice_id[here],
        work.ts[here] - given,
        lead + graph.launch.usual[here],
        graph.launch.unexplained[here],
    )
    for kind, others, lag, mask in (
        ("stream", graph.before, graph.stream, None),
        ("copy_engine", graph.engine, None, None),
        ("event", graph.awaited, graph.awaiting, ~(graph.is_graph | graph.uses_tensor)),
        ("tensor", graph.awaited, graph.awaiting, graph.uses_tensor),
        ("graph", graph.awaited, graph.awaiting, graph.is_graph),
    ):
        yield _between_slices(recorded, kind, others, lag, mask)
    yield _return_edges(recorded, graph)


def _build_part(kind: str, *columns: Any) -> list[Any]:
    """Return the columns of edges as a list, after a first column that holds the index of `kind` in _KINDS for each edge."""
    return [np.full(len(columns[0]), _KINDS.index(kind), np.int8), *columns]


def _between_calls(recorded: Recorded) -> list[Any]:
    """Return the edges between calls that follow one another in a lane: of one thread, or handed over to another."""
    events = recorded.events
    calls = np.flatnonzero((events.mark == NONE) & ~events.is_outside)
    place = previous_with_key(events.lane[calls])
    calls, other = calls[place >= 0], calls[place[place >= 0]]
    # Whole numbers first: times since 1970 are too large for a float.
    usual = (events.begun[calls] - events.begun[other]) - events.call[other]
    # Of threads that take turns one may begin before the other has ended, now and then: the replay waits for the end.
    lag = events.ts[calls] - events.ts_end[other]
    turns = (events.thread[calls] != events.thread[other]).astype(np.int8)
    return [turns, events.slice_id[other], events.slice_id[calls], lag, usual, np.zeros(len(calls))]


def _between_slices(
    recorded: Recorded, kind: str, others: Integers, lag: Lag | None, mask: Booleans | None
) -> list[Any]:
    """Return the edges of a kind between GPU slices: from `others`, by slice (-1: none), to the slice.

    `lag` has their lags (None: 0); `mask` selects slices (None: all).
    """
    work = recorded.work
    here = np.flatnonzero((others >= 0) if mask is None else (others >= 0) & mask)
    other = others[here]
    usual = np.zeros(len(here)) if lag is None else lag.usual[here]
    unexplained = np.zeros(len(here)) if lag is None else lag.unexplained[here]
    return _build_part(
        kind, work.slice_id[other], work.slice_id[here], work.ts[here] - work.ts_end[other], usual, unexplained
    )


def _return_edges(recorded: Recorded, graph: Graph) -> list[Any]:
    """Return the edges from GPU work to the returns of the calls that waited for it."""
    events, work, waits = recorded.events, recorded.work, graph.waits
    kind = waits.kind[waits.event]
    until = np.where(kind == QUEUE, work.ts[waits.slice], work.ts_end[waits.slice])
    first = _KINDS.index(KINDS[0])
    return [
        (first + kind).astype(np.int8),
        work.slice_id[waits.slice],
        events.slice_id[waits.event],
        events.ts_end[waits.event] - until,
        graph.tail.usual,
        graph.tail.unexplained,
    ]


# More slices are not replayed, but the first counted steps that have so many; or as many as there is memory for.
_MOST_SLICES = 1_000_000

# What arrays take for each GPU slice at most, bytes. While they are there DuckDB holds half of what it may: they have so much of
# its limit, of which an ingest leaves a quarter, and some of what the process takes beside it (decision 0028).
_BYTES_PER_SLICE = 1100
_OF_LIMIT, _BESIDE = 0.8, 100 << 20

# Data loading in this many worker processes, which slow the training thread down by this: an assumption, of which
# docs/decisions/0018-causal-model.md tells.
_WORKERS = 4.0
SLOWER = 0.075

# Scenarios that are no category of the ledger: what is asked, and the category whose time it is about.
SPECIAL = {
    "data_in_workers": (ReplayChange("move", "idle_data", _WORKERS, SLOWER), "idle_data"),
    "communication_waiting": (ReplayChange("transfer", "communication"), "communication"),
    "communication_overlap": (ReplayChange("overlap", "communication"), "communication"),
    "communication_half": (ReplayChange("halve", "communication"), "communication"),
    "copies_overlap": (ReplayChange("overlap", "copies"), "copies"),
    "fusion": (ReplayChange("fuse", "compute"), "compute"),
    "launch_graph": (ReplayChange("graph", "kernels"), "idle_launch"),
    # Whoever claims idle time without a cause has to know that the host alone was late.
    "host_unrecorded": (ReplayChange("remove", "idle_unattributed"), "idle_unattributed"),
    STALLS: (ReplayChange("remove", STALLS), STALLS),
}
# No thread of the job stands still: the other ranks come as soon as this one, and collectives do not wait for them.
_OF_THE_JOB = ReplayChange("remove", "stalls of all ranks")
UNKNOWN_CAUSE = "idle_unattributed"
_UNCAPPED = ("idle_sync", "idle_dependency", "idle_allocation", "idle_profiler")


def fill_replay(
    connection: duckdb.DuckDBPyConnection, trace_id: int, free_memory: Callable[[], None] = lambda: None
) -> None:
    """Fill dependency, replay_step, critical_path and replay for a trace; nothing without counted steps.

    A trace that is too large gets only a note. `free_memory` is called when all is read, before the arrays of the
    replay are made.
    """
    try:
        world = read_world(connection)
    except TooLarge as error:
        why = {"trace_id": trace_id, "count": error.count, "text": error.note}
        run(connection, "analysis/replay/replay_too_large.sql", **why)
        return
    if world is None:
        return
    free_memory()
    path = find_critical_path(world.recorded, world.graph)
    for part in build_edges(world.recorded, world.graph):
        _insert(connection, "dependency", {"trace_id": trace_id, **part})
    steps = world.recorded.steps
    bounds = {"first_step": steps[0].step, "last_step": steps[-1].step}
    fill_path(connection, trace_id, path, world.recorded)
    unexplained = sum_unexplained(path)
    # Of a large trace the path takes as much memory as the graph.
    del path
    removable: dict[str, int] = dict(run(connection, "analysis/replay/replay_removable.sql", **bounds).fetchall())
    on_path: dict[str, int] = dict(run(connection, "analysis/replay/replay_on_path.sql").fetchall())
    asked = _choose_changes(removable)
    if not run(connection, "analysis/replay/replay_transfer.sql").fetchone():
        # Nothing says how long a transfer takes by itself.
        asked.pop("communication_waiting", None)
    # Worst and best are the change itself where nothing is moved.
    variants = dict.fromkeys(
        variant for change in asked.values() for variant in [change, _path_category(change), *change_extremes(change)]
    )
    marks = marks_of(_all_scenarios(world, variants, asked))
    _insert(connection, "replay_step", _step_rows(trace_id, world, marks[0]))
    told = measure_accuracy(world, marks[0], unexplained)
    spans = marks[:, -1] - marks[:, 0]
    replayed = [*variants, _OF_THE_JOB] if _is_of_the_job(asked) else [*variants]
    saved = dict(zip(replayed, np.maximum(spans[0] - spans[1:], 0.0).tolist(), strict=True))
    rows = [
        _build_row(
            trace_id, name, removable[_category_of(name, removable)], change, saved, _on_path(name, on_path), told
        )
        for name, change in asked.items()
    ]
    _insert(connection, "replay", rows)


def _all_scenarios(
    world: ReplayWorld, variants: Iterable[ReplayChange], asked: dict[str, ReplayChange]
) -> Iterator[Scenario]:
    """Yield the scenarios to replay: the baseline, then each of `variants` applied to it.

    Last comes, if asked for, a job in which no rank's threads stand still.
    """
    yield world.baseline
    for variant in variants:
        yield apply_change(world, world.baseline, variant)
    if _is_of_the_job(asked):
        yield apply_change(world, apply_change(world, world.baseline, asked[STALLS]), asked["communication_waiting"])


def _is_of_the_job(asked: dict[str, ReplayChange]) -> bool:
    """Return whether stalls of all ranks are to be replayed: stalls and waiting for ranks are both asked for."""
    return STALLS in asked and "communication_waiting" in asked


def read_world(connection: duckdb.DuckDBPyConnection) -> ReplayWorld | None:
    """Return the steps to replay, with their graph, of the only trace that the connection sees; None without counted steps.

    Raises TooLarge where a single step takes more memory than there is, or too many threads make calls.
    """
    most = _most_slices(connection)
    steps = [ReplayStep(*row) for row in run(connection, "analysis/replay/replay_step.sql").fetchall()]
    chosen = _choose_steps(steps, min(most, _MOST_SLICES))
    if not chosen:
        return None
    if chosen[0].slices > most:
        raise too_many_slices(chosen[0].slices, chosen[0].slices * _BYTES_PER_SLICE)
    recorded = read(connection, chosen)
    return ReplayWorld(connection, recorded, build_graph(recorded))


def _most_slices(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many GPU slices can be replayed at most, given DuckDB's memory limit and 1,100 bytes for each."""
    ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    return int(_OF_LIMIT * parse_size(limit) + _BESIDE) // _BYTES_PER_SLICE


def _choose_steps(steps: list[ReplayStep], most: int) -> list[ReplayStep]:
    """Return the steps to replay, in a row: from the first counted one to the last counted one at most.

    They have no more than `most` GPU slices together, but at least one step is returned; none without counted steps.
    """
    counted = [number for number, step in enumerate(steps) if step.counts]
    if not counted:
        return []
    chosen: list[ReplayStep] = []
    slices = 0
    for step in steps[counted[0] : counted[-1] + 1]:
        slices += step.slices
        if chosen and slices > most:
            break
        chosen.append(step)
    return chosen


def _choose_changes(removable: Iterable[str]) -> dict[str, ReplayChange]:
    """Return the changes to replay by name of the scenario; `removable` are the categories in the ledger.

    These are to remove each category, and the changes of SPECIAL that are about one of them.
    """
    held = set(removable)
    asked = {name: ReplayChange("remove", name) for name in CATEGORIES if name in held and name != "idle_earlier_work"}
    for name, (change, _) in SPECIAL.items():
        if _category_of(name, held) in held:
            asked[name] = change
    return asked


def _category_of(name: str, held: Iterable[str]) -> str:
    """Return the ledger's category that a scenario is about; for copies, the first kind of copies in `held`."""
    category = SPECIAL[name][1] if name in SPECIAL else name
    return category if category != "copies" else next((one for one in COPIES if one in held), category)


def _on_path(name: str, on_path: dict[str, int]) -> int:
    """Return the time of a scenario's category on the critical path, ns; `on_path` is the time by category."""
    category = SPECIAL[name][1] if name in SPECIAL else name
    return sum(dur for cause, dur in on_path.items() if cause == category or (category == "copies" and cause in COPIES))


def _path_category(change: ReplayChange) -> ReplayChange:
    """Return a quarter of the change: to scale its category to 75 %, if the change is to remove it.

    Other changes, and those that drop edges, are returned unchanged.
    """
    if change.kind == "remove" and change.what not in ("idle_sync", "idle_dependency"):
        return ReplayChange("scale", change.what, 0.75)
    return change


def _build_row(
    trace_id: int,
    name: str,
    removable: int,
    change: ReplayChange,
    saved: dict[ReplayChange, float],
    on_path: int,
    told: ReplayAccuracy,
) -> dict[str, Any]:
    """Return the row of table replay for a scenario, with its saving and bounds, ns.

    `saved` is the replayed saving by change; `removable` and `on_path` are the time of its category in the ledger and on the
    critical path; ns.
    """
    is_category = name not in SPECIAL
    limit = told.span
    if name.endswith("_overlap"):
        # Nothing can be hidden but what is on the path.
        limit = min(limit, on_path)
    elif is_category and name not in _UNCAPPED:
        # The path is that of the recording, and the saving that of a replay.
        limit = min(limit, np.floor(on_path + (told.error + told.unexplained) * told.span))
    whole, worst, best = (min(saved[variant], limit) for variant in (change, *change_extremes(change)))
    if name == STALLS:
        whole, worst, best = _saving_of_stalls(saved, change)
    quarter = whole / 4 if _path_category(change) == change else max(saved[_path_category(change)], whole / 4)
    # Where edges are dropped, more may go than the time on them; the path does not tell the profiler's own work.
    most = on_path if is_category and name not in _UNCAPPED else None
    found = estimate_saving(whole, told, most)._replace(
        low=estimate_saving(worst, told).low, high=estimate_saving(best, told, most).high
    )
    if name == UNKNOWN_CAUSE:
        found = ReplaySaving(None, 0.0, found.high)
    if name == "communication_half":
        removable //= 2
    if not told.is_tied:
        found = ReplaySaving(None, 0.0, float(removable))
    most = max(removable, 1)
    return {
        "trace_id": trace_id,
        "scenario": name,
        "removable": removable,
        "saved": None if found.likely is None else round(found.likely),
        "saved_low": round(found.low),
        "saved_high": round(found.high),
        "saved_quarter": round(min(quarter, whole)),
        "on_path": on_path if is_category else None,
        "share": None if found.likely is None else min(found.likely / most, 1.0),
        "share_low": min(found.low / most, 1.0),
        "share_high": min(found.high / most, 1.0),
        "error": told.error,
        "unexplained": told.unexplained,
    }


def _saving_of_stalls(saved: dict[ReplayChange, float], change: ReplayChange) -> tuple[float, float, float]:
    """Return the likely, worst and best saving if the host never stands still, ns.

    At worst the other ranks come as late as they did; at best none of them stands still either. The likely saving is
    the part of the best one that waiting for ranks does not explain, but at least the worst.
    """
    alone = saved[change]
    of_the_job = max(saved.get(_OF_THE_JOB, alone), alone)
    waiting = saved.get(SPECIAL["communication_waiting"][0], 0.0)
    return max(alone, of_the_job - waiting), alone, of_the_job


def _step_rows(trace_id: int, world: ReplayWorld, marks: Floats) -> dict[str, Any]:
    """Return the columns of replay_step: recorded and predicted duration of each step, ns, and the error as a share."""
    recorded, predicted = world.recorded, np.diff(marks)
    # Not of floats: a step of a damaged trace can last months.
    dur = np.diff([*(step.ts for step in recorded.steps), recorded.ts + world.graph.span])
    return {
        "trace_id": trace_id,
        "step": np.array([step.step for step in recorded.steps]),
        "dur": dur,
        "predicted": predicted.round().astype(np.int64),
        "error": np.abs(predicted - dur) / np.maximum(dur, 1.0),
    }


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]] | dict[str, Any]) -> None:
    """Insert rows (dicts, or columns by name, where a number stands for all rows) into the table; none for empty ones."""
    if isinstance(rows, list):
        if not rows:
            return
        insert_rows(connection, table, pa.Table.from_pylist(rows))
    else:
        length = max((len(column) for column in rows.values() if not isinstance(column, int)), default=0)
        if not length:
            return
        columns = {name: [column] * length if isinstance(column, int) else column for name, column in rows.items()}
        insert_rows(connection, table, pa.table(columns))
