"""Answers what the counted steps of a trace would last after changes: before, after, how sure that is, and what limits then."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import astuple

from traceq.analysis.categories import BUSY, CATEGORIES
from traceq.analysis.ledger.host_timeline import fill_host_timeline
from traceq.analysis.replay.counterfactual import ReplayChange, Scenario, apply_change, change_extremes
from traceq.analysis.replay.critical_path import find_critical_path
from traceq.analysis.replay.replayed import UNKNOWN_CAUSE, read_world
from traceq.analysis.replay.savings import (
    ReplayAccuracy,
    ReplaySaving,
    estimate_saving,
    marks_of,
    measure_accuracy,
    sum_unexplained,
)
from traceq.analysis.replay.too_large import TooLarge
from traceq.database.sql import parse, run, statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from traceq.analysis.replay.counterfactual import ReplayWorld


# Every table and view that the SQL of this folder reads.
_READ = (
    "cpu_slice", "gpu_slice", "thread", "thread_state", "cpu_sample", "host_name", "synchronization", "cuda_event",
    "stream_wait", "step", "idle_gap", "idle_gap_cause", "idle_piece", "time_ledger", "data_fetch",
    "collective_slice", "host_stall", "stall_cost", "critical_path", "operator_dependency",
)  # fmt: skip
# Temp tables that other analyses make on their way, and the file in which each is defined.
_DEFINED_IN = {
    "_event_recorded": "analysis/ledger/stream_wait.sql",
    "_training_thread": "analysis/ledger/idle_interval.sql",
    "_idle_cause": "analysis/ledger/idle_gap_cause.sql",
}


def show_one_trace(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Make temp views that hide all traces but one, and the temp tables that replays read beside them.

    Slices that do not nest count as recorded: how they were cut while ingesting is not kept.
    """
    catalog = connection.execute("select current_database()").fetchone()
    for name in _READ:
        connection.execute(
            f'create or replace temp view {name} as select * from "{catalog[0] if catalog else ""}".main.{name}'  # noqa: S608 - names of ours
            f" where trace_id = {int(trace_id)}"
        )
    connection.execute("create or replace temp table _slice_cut (slice_id bigint, ts_end bigint)")
    connection.execute("create or replace temp table _slice_outlasting (slice_id bigint, inside bigint, depth bigint)")
    connection.execute("create or replace temp table _slice_ended_under (slice_id bigint)")
    for table, file in _DEFINED_IN.items():
        connection.execute(f"drop table if exists temp.{table}")
        connection.execute(_temp_table_definition(file, table))
    for name in ("_graph_node", "_phase_interval", "_host_slice", "_host_running", "_thread_without_python"):
        connection.execute(f"drop table if exists temp.{name}")
    for name in ("phase_interval", "host_slice", "host_running"):
        run(connection, f"analysis/ledger/{name}.sql")
    fill_host_timeline(connection)


def _temp_table_definition(file: str, table: str) -> duckdb.Statement:
    """Return the statement of the package's SQL file `file` that creates the temp table `table`."""
    begins = re.compile(rf"^create temp table {table}\b", re.MULTILINE)
    (found,) = (one for one in parse(statement(file)) if begins.search(one.query))
    return found


# What a part has on the critical path is what the steps get shorter by when it gets shorter by a little, by so much of it.
A_LITTLE = 0.01
# Waits without a length of their own.
NO_TIME = ("idle_earlier_work", "idle_dependency")


class NothingToReplay(ValueError):
    """Error for a trace without counted steps, or with a step that is too large for the memory."""


class ReplayLimit(NamedTuple):
    """A category of the ledger, or "other", and its time on the critical path after the changes, ns per step."""

    category: str
    dur_ns: float


class ReplayAnswer(NamedTuple):
    """The replayed steps before and after changes; times in ns per step, means over `steps` steps.

    `recorded_ns` is a step as recorded, `before_ns` as replayed, `after_ns` as replayed with the changes. `saved` is
    before less after, with bounds: likely is None where the replay gives only bounds, and all are negative where steps
    get longer. `told` is the accuracy of the replay. `found` tells for each change whether there was anything to change.
    `limits` add up to `after_ns`.
    """

    steps: int
    recorded_ns: float
    before_ns: float
    after_ns: float
    saved: ReplaySaving
    told: ReplayAccuracy
    found: tuple[bool, ...]
    limits: tuple[ReplayLimit, ...]


def read_one_world(connection: duckdb.DuckDBPyConnection, trace_id: int) -> ReplayWorld:
    """Hide the other traces of the database behind temp views, and read what a replay of this one needs.

    Raises NothingToReplay without counted steps, and for a trace that is too large.
    """
    show_one_trace(connection, trace_id)
    try:
        world = read_world(connection)
    except TooLarge as error:
        raise NothingToReplay(str(error)) from error
    if world is None:
        raise NothingToReplay("the trace has no counted steps, so nothing can be replayed")
    return world


def what_if(connection: duckdb.DuckDBPyConnection, trace_id: int, changes: Sequence[ReplayChange]) -> ReplayAnswer:
    """Replay the counted steps of a trace with all of `changes`, one after another.

    Raises NothingToReplay without counted steps, ValueError for an impossible change. The connection gets temp views
    that hide the other traces of the database: open a connection for this call alone.
    """
    world = read_one_world(connection, trace_id)
    after = world.baseline
    found = []
    for change in changes:
        before, after = after, apply_change(world, after, change)
        found.append(_has_effect(before, after))
    left = {name: share for name in CATEGORIES if name not in NO_TIME and (share := _share_left(name, changes))}
    shorter = [apply_change(world, after, ReplayChange("scale", name, 1 - A_LITTLE)) for name in left]
    marks = marks_of([world.baseline, after, *_extreme_scenarios(world, changes), *shorter])
    spans = (marks[:, -1] - marks[:, 0]).tolist()
    told = measure_accuracy(world, marks[0], sum_unexplained(find_critical_path(world.recorded, world.graph)))
    count = len(world.recorded.steps)
    saved = _estimate_saving([spans[0] - span for span in spans[1:4]], told, changes, _most_saved(connection, changes))
    parts = [max(spans[1] - span, 0.0) / A_LITTLE * share for span, share in zip(spans[4:], left.values(), strict=True)]
    return ReplayAnswer(
        steps=count,
        recorded_ns=told.span / count,
        before_ns=spans[0] / count,
        after_ns=spans[1] / count,
        saved=ReplaySaving(
            None if saved.likely is None else saved.likely / count, saved.low / count, saved.high / count
        ),
        told=told,
        found=tuple(found),
        limits=order_limits(dict(zip(left, parts, strict=True)), spans[1], count),
    )


def _extreme_scenarios(world: ReplayWorld, changes: Sequence[ReplayChange]) -> list[Scenario]:
    """Return the scenario with all changes at their worst, and with all at their best (see change_extremes)."""
    found = []
    for extreme in (0, 1):
        scenario = world.baseline
        for change in changes:
            scenario = apply_change(world, scenario, change_extremes(change)[extreme])
        found.append(scenario)
    return found


def _most_saved(connection: duckdb.DuckDBPyConnection, changes: Sequence[ReplayChange]) -> float | None:
    """Return the time on the critical path that the changes are about, ns: they save no more.

    None where that is unknown, as for a change that does more than remove or scale a category.
    """
    on_path: dict[str, int] = dict(run(connection, "analysis/replay/replay_on_path.sql").fetchall())
    most = 0.0
    for change in changes:
        if (
            not on_path
            or change.kind not in ("remove", "scale")
            or change.what not in CATEGORIES
            or change.what == "idle_sync"
        ):
            return None
        left = 0.0 if change.kind == "remove" else change.factor
        most += on_path.get(change.what, 0) * max(1 - left, 0.0)
    return most


def _estimate_saving(
    saved: Sequence[float], told: ReplayAccuracy, changes: Sequence[ReplayChange], most: float | None
) -> ReplaySaving:
    """Return the saving of the changes with its bounds, ns; negative where steps get longer.

    `saved` are the replayed savings: as asked, at worst, and at best. `most` is the most that can be saved (None: unknown).
    Likely is None if idle time of unknown cause is changed.
    """
    likely, worst, best = (_either_way(ns, told, most) for ns in saved)
    low, high = min(likely.low, worst.low), max(likely.high, best.high)
    if any(change.what == UNKNOWN_CAUSE for change in changes):
        return ReplaySaving(None, min(low, 0.0), high)
    return ReplaySaving(likely.likely, low, high)


def _either_way(saved: float, told: ReplayAccuracy, most: float | None) -> ReplaySaving:
    """Return the saving with its bounds, ns; for a negative `saved` (steps get longer) all are negative."""
    if saved >= 0:
        return estimate_saving(saved, told, most)
    longer = estimate_saving(-saved, told)
    return ReplaySaving(None if longer.likely is None else -longer.likely, -longer.high, -longer.low)


def _share_left(name: str, changes: Sequence[ReplayChange]) -> float:
    """Return the share (0 to 1) of a host category's time that the changes leave; 1 for GPU work."""
    kept = {"remove": 0.0, "move": 0.0}
    mine = [change for change in changes if change.what == name and name not in BUSY]
    return float(np.prod([change.factor if change.kind == "scale" else kept.get(change.kind, 1.0) for change in mine]))


def order_limits(parts: dict[str, float], whole: float, count: int) -> tuple[ReplayLimit, ...]:
    """Return the parts of the path (ns over `count` steps) as limits in ns per step, the longest first.

    They are scaled down to sum up to `whole` ns at most; time in none of them is "other".
    """
    total = sum(parts.values())
    found = {name: dur * min(whole / total, 1.0) for name, dur in parts.items() if dur > 0}
    if total < whole:
        found["other"] = whole - total
    return tuple(ReplayLimit(name, dur / count) for name, dur in sorted(found.items(), key=lambda part: -part[1]))


def _has_effect(before: Scenario, after: Scenario) -> bool:
    """Return whether the change between two scenarios had anything to change."""
    if before.graph is not after.graph or before.least != after.least:
        return True
    pairs = zip(astuple(before.weights), astuple(after.weights), strict=True)
    return any(one is not other and bool((one != other).any()) for one, other in pairs)
