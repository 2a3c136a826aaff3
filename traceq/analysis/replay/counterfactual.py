"""The changes that a replay can make: the time of something taken away, scaled, overlapped, moved or launched at once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from traceq.analysis.categories import BUSY, IDLE
from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.replay_host import NO_CAUSE, HostTime
from traceq.analysis.replay.scan import as_predicted
from traceq.analysis.replay.waits import COPY, QUEUE, SYNCHRONIZATION, previous_with_key
from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb

    from traceq.analysis.replay.graph import Graph
    from traceq.analysis.replay.recorded import Booleans, Floats, Recorded
    from traceq.analysis.replay.scan import Weights

# Copies with engines of their own: those within a device run on it, as kernels do.
COPIES = ("copy_h2d", "copy_d2h")

# Where threads that launch stood still (host_stall): time of other categories.
STALLS = "host_preempted"

_BLOCKING_COPY_CALL = 5_000.0  # what the call takes when it does not block, ns
_GRAPH_SPACING = 1_000.0  # from one node of a CUDA graph to the next, ns
_WHOLE = 0.99  # of a call, which counts as all of it
# What is captured in a graph: the host's time to prepare and launch kernels.
_CAPTURED = ("idle_launch", "idle_python")
# Of a host that prepares launches nothing may be recorded: at best that goes with the kernels, too.
_AT_BEST = "idle_unattributed"

KINDS = {
    "remove": "takes all of it away",
    "scale": "multiplies its time by a factor",
    "overlap": "drops its order against the kernels of the device: communication or copies",
    "move": "lets it run beside the rest: host work in other threads (factor: how many), kernels on a stream of their own",
    "graph": "launches the kernels between two waits at once, as one CUDA graph does",
    "fuse": "takes kernels away together with the host's time to prepare and launch them",
    "transfer": "takes out of collectives what is more than the fastest of their kind took: waiting for other ranks",
    "halve": "takes half of what collectives need for their bytes, as half the bytes do; what they wait for ranks stays",
}


class ReplayChange(NamedTuple):
    """A requested change: its kind (of KINDS), what it changes, and a factor.

    The factor is the share of the time that stays; for move, the number of threads. `what` is a category of the ledger,
    host:PATTERN, or kernel:PATTERN (any GPU work by name), with GLOB patterns. For fuse, a factor of 1 also takes away
    host time of unknown cause. `slower` is the share by which moved host work slows down the rest, as it takes cores
    and memory.
    """

    kind: str
    what: str
    factor: float = 0.0
    slower: float = 0.0


# Moved work slows the rest down by so many times what is likely, at worst.
_AT_WORST = 2.0
# The slow-down was seen where what moved took this part of the rest of the step (decision 0018); less slows it down less.
_MOVED_OF_REST = 0.4


def change_extremes(change: ReplayChange) -> tuple[ReplayChange, ReplayChange]:
    """Return the change at its worst and at its best.

    At worst, moved work slows the rest down twice as much, and fused kernels leave their launches. At best, the rest is not
    slowed down, and with fused kernels goes host time of unknown cause too. Other changes are returned unchanged.
    """
    if change.kind == "fuse":
        return ReplayChange("remove", change.what), change._replace(factor=1.0)
    return change._replace(slower=_AT_WORST * change.slower), change._replace(slower=0.0)


class Scenario(msgspec.Struct, frozen=True):
    """A graph with its weights; its steps take at least `least` ns together, whatever a replay of the graph says."""

    graph: Graph
    weights: Weights
    least: float = 0.0


class ReplayWorld(msgspec.Struct, frozen=True, dict=True):
    """A trace as replays need it: connection, recorded events, and dependency graph."""

    connection: duckdb.DuckDBPyConnection
    recorded: Recorded
    graph: Graph

    @cached_property
    def host(self) -> HostTime:
        """The host's time by cause; read from the database on first use."""
        return HostTime(self.connection, self.recorded)

    @cached_property
    def transfers(self) -> Floats:
        """For each GPU slice of the recorded work the longest time it takes if no rank comes late, ns.

        It is known for collectives (replay_transfer.sql) and infinite for all others.
        """
        found = run(self.connection, "analysis/replay/replay_transfer.sql").fetchnumpy()
        ids, times = np.asarray(found["slice_id"]), np.asarray(found["transfer"], dtype=np.float64)
        slice_id, transfers = self.recorded.work.slice_id, np.full(len(self.recorded.work.slice_id), np.inf)
        here = np.flatnonzero(np.isin(slice_id, ids))
        order = np.argsort(ids, kind="stable")
        transfers[here] = times[order][np.searchsorted(ids[order], slice_id[here], side="right") - 1]
        return transfers

    @cached_property
    def baseline(self) -> Scenario:
        """The scenario without changes: the graph with lags as predicted from the other half of the steps."""
        return Scenario(self.graph, as_predicted(self.graph))


def apply_change(world: ReplayWorld, scenario: Scenario, change: ReplayChange) -> Scenario:
    """Return the scenario with one more change.

    Raises ValueError for an unknown kind of change, or if its `what` names nothing that a replay knows.
    """
    if change.kind in ("remove", "scale", "fuse"):
        weights = scenario.weights
        # With fused kernels goes what the host does to launch them.
        launches = () if change.kind != "fuse" else (*_CAPTURED, _AT_BEST) if change.factor else _CAPTURED
        for what in (change.what, *launches):
            weights = _scale_time(world, weights, what, change.factor if change.kind == "scale" else 0.0)
        return replace(scenario, weights=weights)
    if change.kind == "overlap":
        return _with_overlap(scenario, _find_slices(world, change.what) & ~_find_blocking_copies(world))
    if change.kind == "move":
        return _move_work(world, scenario, change)
    if change.kind == "graph":
        return _launch_as_graph(world, scenario)
    if change.kind == "transfer":
        return replace(
            scenario, weights=replace(scenario.weights, dur=np.minimum(scenario.weights.dur, world.transfers))
        )
    if change.kind == "halve":
        dur, transfer = scenario.weights.dur, world.transfers
        half = np.where(_find_slices(world, change.what), np.minimum(dur, transfer) / 2, 0.0)
        return replace(scenario, weights=replace(scenario.weights, dur=dur - half))
    raise ValueError(f"unknown change {change.kind!r}; known are {', '.join(KINDS)}")


def _scale_time(world: ReplayWorld, weights: Weights, what: str, left: float) -> Weights:
    """Return weights with the time of `what` scaled to the share `left` (0 to 1).

    `what` is a category of the ledger, host_preempted, host:PATTERN or kernel:PATTERN; other names raise ValueError.
    """
    if what in BUSY or what.startswith("kernel:"):
        return replace(weights, dur=np.where(_find_slices(world, what), weights.dur * left, weights.dur))
    if what == "idle_launch_latency":
        return _with_lower_latency(world, weights, left)
    if what == "idle_dependency":
        return replace(weights, awaiting=weights.awaiting if left else np.full_like(weights.awaiting, -np.inf))
    if what == "idle_earlier_work":
        return weights
    if what == STALLS:
        gap, call = world.host.stall_times()
    elif what.startswith("host:"):
        gap, call = world.host.times_in_slices(what.removeprefix("host:"))
    elif what in IDLE:
        gap, call = world.host.cause_times(NO_CAUSE if what == "idle_unattributed" else what)
    else:
        raise ValueError(f"there is no {what!r}: a category of the ledger, host:PATTERN or kernel:PATTERN is known")
    weights = _subtract_host_time(world, weights, gap * (1 - left), call * (1 - left), stands_still=what == STALLS)
    return _without_host_waits(world, weights) if what == "idle_sync" and not left else weights


def _subtract_host_time(
    world: ReplayWorld, weights: Weights, gap: Floats, call: Floats, *, stands_still: bool = False
) -> Weights:
    """Return weights with less time between the host's events (`gap`) and in them (`call`); both are what to take off, in ns.

    With `stands_still`, calls that only wait lose time too: the thread stood still in them.
    """
    events, waits = world.recorded.events, world.graph.waits
    tail = weights.tail
    # What frees or allocates memory works after it has waited; one that is gone as a whole does not wait either.
    works = (~events.only_waits[waits.event] | stands_still) & (waits.kind[waits.event] != QUEUE)
    if works.any():
        taken = call[waits.event]
        left = np.where(taken >= events.call[waits.event] * _WHOLE, -np.inf, np.maximum(tail - taken, 0.0))
        tail = np.where(works & (taken > 0), left, tail)
    # A batch of which nothing is left is there at once.
    paced = world.graph.paces.event
    pace = np.where(call[paced] >= events.call[paced] * _WHOLE, -np.inf, weights.pace - call[paced])
    return replace(
        weights,
        pace=pace,
        gap=_subtract_time(weights.gap, gap),
        call=_subtract_time(weights.call, call),
        lead=_subtract_time(weights.lead, call),
        tail=tail,
    )


def _subtract_time(times: Floats, taken: Floats) -> Floats:
    """Return `times` - `taken` (ns), not below 0; times that are negative already stay.

    Host clocks of launches from before the window have negative gaps.
    """
    return np.asarray(np.where(taken > 0, np.maximum(times - taken, np.minimum(times, 0.0)), times))


def _find_slices(world: ReplayWorld, what: str) -> Booleans:
    """Return a mask of the GPU slices that `what` names: a busy category, "copies", or kernel:PATTERN (GLOB).

    Raises ValueError for other names.
    """
    work = world.recorded.work
    if what.startswith("kernel:"):
        found = run(world.connection, "analysis/replay/replay_kernels.sql", pattern=what.removeprefix("kernel:"))
        return np.isin(work.slice_id, found.fetchnumpy()["slice_id"])
    if what == "copies":
        return np.isin(work.category, [BUSY.index(name) for name in COPIES])
    if what not in BUSY:
        raise ValueError(f"there is no GPU work {what!r}: {', '.join(BUSY)}, copies or kernel:PATTERN is known")
    return np.asarray(work.category == BUSY.index(what))


def _with_lower_latency(world: ReplayWorld, weights: Weights, left: float) -> Weights:
    """Return weights with launch and queue latencies scaled to the share `left` (0 to 1).

    Copies of pageable memory, migrations, and work launched before the capture keep their launch latency; nodes of one CUDA
    graph keep the time between them.
    """
    work = world.recorded.work
    stays = work.is_pageable | work.is_migration | work.is_behind_earlier | ~work.is_launched
    launch = np.where(stays, weights.launch, weights.launch - (1 - left) * np.maximum(world.graph.launch.usual, 0.0))
    # Nodes of one graph follow one another at the GPU's own pace.
    graph = world.graph
    is_node = (graph.before >= 0) & (work.event == work.event[np.maximum(graph.before, 0)])
    stream = np.where(is_node, weights.stream, weights.stream - (1 - left) * np.maximum(graph.stream.usual, 0.0))
    return replace(weights, launch=launch, stream=stream)


def _without_host_waits(world: ReplayWorld, weights: Weights) -> Weights:
    """Return weights with which the host never blocks on the GPU, except on a full launch queue or to free memory."""
    waits, events = world.graph.waits, world.recorded.events
    kind = waits.kind[waits.event]
    gone = np.isin(kind, (SYNCHRONIZATION, COPY)) & events.only_waits[waits.event]
    call = weights.call.copy()
    asks = (waits.kind == SYNCHRONIZATION) & events.only_waits
    call[asks] = 0.0
    blocks = waits.kind == COPY
    call[blocks] = np.minimum(call[blocks], _BLOCKING_COPY_CALL)
    return replace(weights, call=call, tail=np.where(gone, -np.inf, weights.tail))


def _with_overlap(scenario: Scenario, which: Booleans) -> Scenario:
    """Return the scenario with these GPU slices on streams of their own.

    There they neither wait for kernels nor hold kernels up.
    """
    graph, weights = scenario.graph, scenario.weights
    if not which.any():
        return scenario
    # A copy to the host, or a collective, keeps waiting for what it sends; what is launched after it does not wait for it.
    sends = which & (graph.category != BUSY.index("copy_h2d"))
    source = np.where(sends & (graph.awaited == NONE), graph.before, graph.awaited)
    lag = np.where(sends & (graph.awaited == NONE), weights.stream, weights.awaiting)
    drops = (source >= 0) & (which[np.maximum(source, 0)] & ~which | which & ~sends)
    lag = np.where(drops, -np.inf, lag)
    moved = _on_own_stream(scenario, which)
    return replace(moved, graph=replace(moved.graph, awaited=source), weights=replace(weights, awaiting=lag))


def _find_blocking_copies(world: ReplayWorld) -> Booleans:
    """Return a mask of the GPU slices that overlap with nothing: copies of pageable memory, or copies that block the host."""
    work = world.recorded.work
    return np.asarray(work.is_pageable | (world.graph.waits.kind[work.event] == COPY))


def _on_own_stream(scenario: Scenario, which: Booleans) -> Scenario:
    """Return the scenario in which the marked slices of each stream are on another stream, in their order."""
    graph = scenario.graph
    if not which.any():
        return scenario
    stream = graph.stream_of * 2 + which
    before = previous_with_key(stream)
    before = np.where(
        (graph.before == NONE) & (before >= 0) & (graph.before[np.maximum(before, 0)] == NONE), NONE, before
    )
    return replace(scenario, graph=replace(graph, before=before, stream_of=stream))


def _move_work(world: ReplayWorld, scenario: Scenario, change: ReplayChange) -> Scenario:
    """Return the scenario with the work beside the rest: host work in `factor` threads, kernels on a stream of their own.

    Moved host work slows the rest down by up to `slower`; the steps take no less than each thread's share of the work.
    """
    if change.what in BUSY or change.what.startswith("kernel:"):
        return _on_own_stream(scenario, _find_slices(world, change.what))
    weights = _scale_time(world, scenario.weights, change.what, 0.0)
    moved = float((scenario.weights.gap - weights.gap).sum() + (scenario.weights.call - weights.call).sum())
    steps = world.recorded.steps
    rest = max(steps[-1].ts_end - steps[0].ts - moved, 1.0)
    slower = change.slower * min(1.0, moved / rest / _MOVED_OF_REST)
    # Clocks of what was launched before the window hold when that was, and no work of this host.
    gap = np.where(world.recorded.events.is_outside, weights.gap, weights.gap * (1 + slower))
    weights_beside = replace(weights, gap=gap, call=weights.call * (1 + slower))
    return Scenario(scenario.graph, weights_beside, max(scenario.least, moved / max(change.factor, 1.0)))


def _launch_as_graph(world: ReplayWorld, scenario: Scenario) -> Scenario:
    """Return the scenario in which kernels that follow one another on a stream are nodes of one CUDA graph.

    The host's time to prepare and launch all but the first of them is gone, and nodes follow one another within 1 us.
    """
    work, weights = world.recorded.work, scenario.weights
    captured, inside = _find_captured(world)
    for cause in _CAPTURED:
        gap, call = world.host.cause_times(cause)
        weights = _subtract_host_time(world, weights, np.where(captured, gap, 0.0), np.where(captured, call, 0.0))
    launch = np.where(inside & captured[work.event], np.minimum(weights.launch, 0.0), weights.launch)
    stream = np.where(inside, np.minimum(weights.stream, _GRAPH_SPACING), weights.stream)
    return replace(scenario, weights=replace(weights, launch=launch, stream=stream))


def _find_captured(world: ReplayWorld) -> tuple[Booleans, Booleans]:
    """Return a mask of the launches that would join one CUDA graph with the launch before, and a mask of GPU slices.

    The second marks the further nodes of these graphs: kernels and memsets that directly follow on the same stream.
    """
    events, work, graph = world.recorded.events, world.recorded.work, world.graph
    kernel = np.isin(work.category, [BUSY.index("compute"), BUSY.index("memset")]) & (graph.awaited == NONE)
    only_kernels = np.ones(len(events.ts), dtype=bool)
    only_kernels[work.event[~kernel]] = False
    launches = events.launches & ~events.waits & ~events.is_outside & only_kernels
    place = previous_with_key(events.lane)
    captured = launches & (place >= 0) & launches[np.maximum(place, 0)]
    other = np.maximum(graph.before, 0)
    follows = kernel & (graph.before >= 0) & kernel[other]
    same = captured[work.event] & (work.event[other] == place[work.event])
    apart = np.zeros(len(events.ts), dtype=bool)
    first = np.flatnonzero(np.diff(work.event, prepend=NONE))
    apart[work.event[first]] = ~(follows & same)[first]
    captured &= ~apart
    return captured, np.asarray(follows & captured[work.event])
