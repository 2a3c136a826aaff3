"""The dependency graph of the steps: which host event or GPU slice waits for which, and for how long after it.

An edge has two lags: `usual`, that of its kind in the other half of the steps, and `unexplained`, what its kind takes beyond what
a GPU or driver needs. Kinds are functions and kernels by name, so that a lag is that of the same work in another step.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from traceq.analysis.categories import BUSY
from traceq.analysis.replay.recorded import NONE, Booleans, Floats, Integers, Recorded, Work
from traceq.analysis.replay.usual import combine_keys, kind_medians, predict_from_other_fold
from traceq.analysis.replay.waits import (
    COPY,
    QUEUE,
    Paces,
    Waits,
    group_alike,
    paces_of_workers,
    previous_with_key,
    waits_of_host,
)

# More than this no launch, queue, event or return takes by itself, ns: launches take 2 to 10 us and several times that under a
# profiler, queued kernels follow within 1 to 10 us, a host thread wakes up within 100 us. What takes longer waits for something.
_MOST_LATENCY = 100_000.0
_MOST_SPACING = 20_000.0
_MOST_RETURN = 200_000.0
# What a call that waits takes on the host when there is nothing to wait for, ns.
_WAITING_CALL = 5_000.0


# Which edge a slice waited for last, in the order in which they are compared.
_LAUNCH, _STREAM, _EVENT = range(3)

# A launch takes microseconds; one that takes longer does something first, ns.
_LONG_CALL = 30_000.0
# What starts so long after everything known, ns, waited for something else.
_LATE = 50_000.0
# Of a wait this share may be left after what is held to be its reason.
_LITTLE = 0.05
# GPU clocks of one device are exact, those of several agree to this, ns.
_CLOCK_ERROR = 1_000


class Lag(NamedTuple):
    """Lags of edges: the usual part, and the part that nothing in the trace explains; ns."""

    usual: Floats
    unexplained: Floats

    @property
    def whole(self) -> Floats:
        """Usual plus unexplained lag, ns."""
        return np.asarray(self.usual + self.unexplained)


class Graph(msgspec.Struct, frozen=True):
    """Dependency graph; nodes are host events and GPU slices by index (see recorded.py), -1 is no edge. Times in ns.

    A slice starts at the latest of four times: its launch's start + `lead` + `launch`; the end of the slice before it
    on its stream + `stream`; the end of the copy before it on its copy engine; the end of the slice that its stream
    waits for + `awaiting`. A host event starts `gap` after the one before it in its lane. It returns after `call`, and
    not before the work that it waits for + `tail`.
    """

    lane: Integers
    gap: Floats
    call: Floats
    lead: Floats  # time in a call before what it launches is on its way
    mark: Integers
    marked_by_slice: Integers
    waits: Waits
    tail: Lag  # per edge of waits
    paces: Paces
    event: Integers  # of each slice: the host event that launches it
    stream_of: Integers
    before: Integers
    engine: Integers
    awaited: Integers
    is_graph: Booleans  # whether what is awaited is another node of the same CUDA graph
    uses_tensor: Booleans  # whether it is awaited for its results, as an execution trace says
    launch: Lag
    stream: Lag
    awaiting: Lag
    dur: Floats
    category: Integers
    ends_on_gpu: bool
    span: int  # from the first mark to the last, or to the end of all work when that is later, as recorded, ns


def build_graph(recorded: Recorded) -> Graph:
    """Build the dependency graph of the recorded steps, with lags predicted from the other half of the steps.

    GPU work launched before the end of the window belongs to it: the window lasts until that work ends.
    """
    events, work = recorded.events, recorded.work
    waits = waits_of_host(recorded)
    # Migrations of unified memory are in nobody's way but by what they copy for.
    before = np.where(
        work.is_migration, NONE, previous_with_key(np.where(work.is_migration, -1 - work.stream, work.stream))
    )
    engine = _previous_copies(work)
    awaited, is_graph = _find_awaited(recorded)
    lead = _find_leads(recorded, waits)
    awaited = _infer_waits(recorded, lead, before, engine, awaited)
    launch, stream, awaiting = _predict_work_lags(recorded, lead, before, engine, awaited)
    tail = _predict_tails(recorded, waits)
    call = events.call.copy()
    call[waits.had_to] = np.minimum(_after_waiting(recorded, waits)[waits.had_to], _WAITING_CALL)
    paces = paces_of_workers(recorded)
    call[paces.event] = np.minimum(call[paces.event], _WAITING_CALL)
    gap = events.gap
    end = recorded.ts_end
    ends_on_gpu = bool(len(work.ts_end) and work.ts_end.max() >= end)
    if ends_on_gpu:
        if recorded.steps[-1].own_end is None:
            # The last step ends with the GPU, and not with what the host did until then.
            gap = gap.copy()
            gap[np.flatnonzero(events.mark >= 0)[-1]] = 0.0
        end = int(work.ts_end.max())
    return Graph(
        lane=events.lane,
        gap=gap,
        call=call,
        lead=lead,
        mark=events.mark,
        marked_by_slice=recorded.marked_by_slice,
        waits=waits,
        tail=tail,
        paces=paces,
        event=work.event,
        stream_of=work.stream,
        before=before,
        engine=engine,
        awaited=awaited,
        is_graph=is_graph,
        uses_tensor=work.uses_tensor & (work.awaited != NONE),
        launch=launch,
        stream=stream,
        awaiting=awaiting,
        dur=(work.ts_end - work.ts).astype(np.float64),
        category=work.category,
        ends_on_gpu=ends_on_gpu,
        span=int(end - recorded.ts),
    )


def _previous_copies(work: Work) -> Integers:
    """Return for each copy the last one in the same direction on its device, if it ended before this one began; -1 otherwise.

    The two may share a copy engine. Work that is no copy to or from a GPU has -1.
    """
    found = np.full(len(work.ts), NONE, dtype=np.int64)
    for name in ("copy_h2d", "copy_d2h"):
        here = np.flatnonzero(work.category == BUSY.index(name))
        place = previous_with_key(work.device[here])
        other = np.where(place >= 0, here[np.maximum(place, 0)], NONE) if len(here) else here
        done = (other >= 0) & (work.ts_end[np.maximum(other, 0)] <= work.ts[here])
        found[here] = np.where(done, other, NONE)
    return found


def _find_awaited(recorded: Recorded) -> tuple[Integers, Booleans]:
    """Return for each slice the slice that its stream waits for (-1: none), and a mask of the waits inside a CUDA graph.

    Inside a CUDA graph of several streams the awaited slice is the node on another stream that ended last before it began.
    """
    work = recorded.work
    awaited = work.awaited.copy()
    is_graph = np.zeros(len(awaited), dtype=bool)
    if not len(awaited):
        return awaited, is_graph
    starts = np.flatnonzero(np.diff(work.event, prepend=-1))
    lasts = np.append(starts[1:], len(awaited))
    several = np.minimum.reduceat(work.stream, starts) != np.maximum.reduceat(work.stream, starts)
    several &= ~recorded.events.is_outside[work.event[starts]]
    for first, last in zip(starts[several].tolist(), lasts[several].tolist(), strict=True):
        ends = work.ts_end[first:last]
        order = np.argsort(ends, kind="stable")
        place = np.searchsorted(ends[order], work.ts[first:last], side="right") - 1
        other = np.where(place >= 0, order[np.maximum(place, 0)] + first, NONE)
        mine = np.arange(first, last)
        use = (other >= 0) & (other < mine) & (awaited[first:last] == NONE)
        use &= work.stream[np.maximum(other, 0)] != work.stream[first:last]
        awaited[mine[use]] = other[use]
        is_graph[mine[use]] = True
    return awaited, is_graph


def _infer_waits(recorded: Recorded, lead: Floats, before: Integers, engine: Integers, awaited: Integers) -> Integers:
    """Return `awaited` with waits between streams that the trace does not record.

    A stream that waits for another waits for the slice launched there last. A slice that nothing else held up and that
    starts right when that slice ends waited for it; then so do the other slices of the same name.
    """
    work = recorded.work
    candidate = awaited.copy()
    on_stream = group_alike(work.stream)
    if len(on_stream) <= 1:
        return candidate
    since_call, since = _times_since(recorded, lead, before, engine, awaited)
    is_late = (np.minimum(since_call, np.minimum.reduce(since)) > _LATE) & work.is_launched
    is_open = (awaited == NONE) & work.is_launched
    most = np.maximum(_MOST_SPACING, _LITTLE * np.minimum(since_call, since[0]))
    late = np.flatnonzero(is_late & is_open)
    late = late[np.argsort(work.ts[late], kind="stable")]
    in_time = np.flatnonzero(~is_late & is_open)
    in_time_by_name = {
        int(work.name[alike[0]]): alike for alike in (in_time[place] for place in group_alike(work.name[in_time]))
    }
    latest = np.full(len(candidate), np.iinfo(np.int64).min)
    # Streams may be as many as slices: of each only what starts soon enough after one of its slices is looked at.
    starts, furthest = work.ts[late], int(most[late].max(initial=0)) + 1
    for there in on_stream if len(late) else ():
        ends = work.ts_end[there]
        begin = np.searchsorted(starts, ends.min() - _CLOCK_ERROR)
        here, last, lag = _last_launched(work, late[begin : np.searchsorted(starts, ends.max() + furthest)], there)
        fits = lag <= most[here]
        here, last = here[fits], last[fits]
        # Those of the same name that were not held up may wait for it as well, as long as it had ended by then.
        for name in np.unique(work.name[here]).tolist():
            others, before_others, _ = _last_launched(work, in_time_by_name.get(name, late[:0]), there)
            here, last = np.append(here, others), np.append(last, before_others)
        better = work.ts_end[last] > latest[here]
        candidate[here[better]] = last[better]
        latest[here[better]] = work.ts_end[last[better]]
    is_late |= ~work.is_launched & (since[0] > _MOST_SPACING)
    return _await_just_ended(work, candidate, np.flatnonzero(is_late & (candidate == NONE) & ~work.is_migration))


def _last_launched(work: Work, here: Integers, there: Integers) -> tuple[Integers, Integers, Integers]:
    """Return slices of `here`, for each the last of `there` launched before it, and the time since that ended, ns.

    `there` are slices of one stream. Left out are slices without one, with one that had not ended, of the same stream or of
    another process.
    """
    here = here[(work.stream[here] != work.stream[there[0]]) & (work.pid[here] == work.pid[there[0]])]
    place = np.searchsorted(work.event[there], work.event[here]) - 1
    here, last = here[place >= 0], there[place[place >= 0]]
    lag = work.ts[here] - work.ts_end[last]
    ended = lag >= -_CLOCK_ERROR
    return here[ended], last[ended], lag[ended]


def _await_just_ended(work: Work, awaited: Integers, late: Integers) -> Integers:
    """Return `awaited` with waits added for the slices `late`.

    Each waits for an earlier slice on another stream of its device that ended within 20 us before it starts, if there is one.
    """
    found = awaited.copy()
    order = np.argsort(work.ts_end, kind="stable")
    ends = work.ts_end[order]
    for one in late.tolist():
        at = int(np.searchsorted(ends, work.ts[one] + _CLOCK_ERROR, side="right")) - 1
        while at >= 0 and work.ts[one] - ends[at] <= _MOST_SPACING:
            other = int(order[at])
            if other < one and work.stream[other] != work.stream[one] and work.device[other] == work.device[one]:
                found[one] = other
                break
            at -= 1
    return found


def _find_leads(recorded: Recorded, waits: Waits) -> Floats:
    """Return for each event how long its call is busy, beyond the usual, before its launch is on the way to the GPU, ns.

    It is 0 but for launches of more than 30 us: these load a module or are not scheduled before the GPU hears of them.
    """
    events = recorded.events
    usual = kind_medians(events.name, events.call, np.ones(len(events.ts), dtype=bool))
    is_long = events.launches & (events.call > _LONG_CALL) & (waits.kind == NONE)
    return np.where(is_long, np.maximum(events.call - np.minimum(usual, _LONG_CALL), 0.0), 0.0)


def _times_since(
    recorded: Recorded, lead: Floats, before: Integers, engine: Integers, awaited: Integers
) -> tuple[Floats, list[Floats]]:
    """Return for each slice the time since its launch was called, and a list of the times since three predecessors ended.

    These are the slice before it on its stream, the slice that its stream waits for, and the copy before it on its copy
    engine. Times are in ns, infinite without a launch or predecessor.
    """
    work = recorded.work
    # Whole numbers first: a time since 1970 as a double is 256 ns rough.
    since_call = (work.ts - recorded.events.ts[work.event]) - lead[work.event]
    since_call = np.where(work.is_launched, since_call, np.inf)
    return since_call, [
        np.where(other >= 0, work.ts - work.ts_end[other], np.inf).astype(np.float64)
        for other in (before, awaited, engine)
    ]


def _predict_work_lags(
    recorded: Recorded, lead: Floats, before: Integers, engine: Integers, awaited: Integers
) -> tuple[Lag, Lag, Lag]:
    """Return the lags of slices from their launch, from the slice before on the stream, and from the awaited slice."""
    work, fold = recorded.work, recorded.fold_of_slice
    n = len(work.ts)
    none = Lag(np.zeros(n), np.zeros(n))
    if not n:
        return none, none, none
    since_call, (since_before, since_awaited, since_engine) = _times_since(recorded, lead, before, engine, awaited)
    # What of a call's slices comes first: a graph is launched once.
    is_first = np.concatenate([[True], work.event[1:] != work.event[:-1]])
    binding, rough_latency = _find_binding_edge(
        recorded, (since_call, since_before, since_awaited, since_engine), before, is_first
    )
    either = _find_doubtful(since_call, since_before, binding)
    pair = combine_keys(work.name, work.name[np.maximum(before, 0)])
    classes = combine_keys(work.category, work.category[np.maximum(before, 0)])
    launch = _predict_lag(
        # The clocks of several GPUs stand differently to that of the host.
        [
            combine_keys(work.call_name, work.name, is_first, work.device),
            combine_keys(work.call_name, work.category, is_first, work.device),
        ],
        np.where(work.is_launched, since_call, 0.0),
        ((binding == _LAUNCH) | either) & work.is_launched & ~work.is_behind_earlier,
        fold,
        _MOST_LATENCY,
    )
    own = work.is_launched & work.is_pageable & is_first
    # The host copies pageable memory itself, inside the call, before it gives it to the GPU: that is its own time.
    in_call = np.minimum(since_call, recorded.events.call[work.event] + np.maximum(rough_latency, 0.0))
    launch.usual[own] = np.where(binding[own] == _LAUNCH, in_call[own], launch.usual[own])
    # What was launched before the window behind other work is held up by that.
    earlier = recorded.events.is_outside[work.event] & work.is_launched & (before == NONE)
    own = work.is_behind_earlier | work.is_migration | earlier
    launch.usual[own] = (work.ts - recorded.events.ts[work.event] - lead[work.event])[own]
    launch.unexplained[own] = 0.0
    alone = ~work.is_launched & ~work.is_migration & (before == NONE) & (awaited == NONE)
    unknown = ~work.is_launched & ~work.is_migration
    launch.usual[unknown] = -np.inf
    launch.unexplained[unknown] = 0.0
    launch.usual[alone] = 0.0
    launch.unexplained[alone] = work.ts[alone] - recorded.ts
    stream = _predict_lag(
        [pair, classes],
        np.where(before >= 0, since_before, 0.0),
        ((binding == _STREAM) | either) & (before >= 0),
        fold,
        _MOST_SPACING,
    )
    pair = combine_keys(work.name, work.name[np.maximum(awaited, 0)])
    awaiting = _predict_lag(
        [pair], np.where(awaited >= 0, since_awaited, 0.0), (binding == _EVENT) & (awaited >= 0), fold, _MOST_SPACING
    )
    return launch, stream, awaiting


def _find_binding_edge(
    recorded: Recorded, since: tuple[Floats, Floats, Floats, Floats], before: Integers, is_first: Booleans
) -> tuple[Integers, Floats]:
    """Return which edge each slice waited for last (0: launch, 1: stream, 2: event, 3: copy engine).

    The second result is the rough latency of its launch, ns. `since` are times since launch, slice before, awaited slice
    and copy before.
    """
    work, n = recorded.work, len(recorded.work.ts)
    since_call, since_before, since_awaited, since_engine = since
    # What waited for no other work when it was launched shows latency, what was launched long before shows spacing.
    idle_at_launch = (
        (since_before >= since_call)
        & (since_awaited >= since_call)
        & (since_engine >= since_call)
        & work.is_launched
        & is_first
    )
    kind = combine_keys(work.call_name, work.category)
    rough_latency, _ = predict_from_other_fold([kind], since_call, idle_at_launch, np.zeros(n, dtype=np.int64))
    rough_latency = np.nan_to_num(np.minimum(rough_latency, _MOST_LATENCY), nan=0.0)
    queued = (since_call > since_before + 2 * rough_latency) & (before >= 0)
    rough_spacing = np.nanmedian(since_before[queued]) if queued.any() else 0.0
    rough_spacing = min(float(rough_spacing), _MOST_SPACING)
    # The edge that leaves least unexplained; of those that leave nothing, the one that with rough lags would have let the slice
    # start last.
    times = np.stack(since)
    most = np.array([_MOST_LATENCY, _MOST_SPACING, _MOST_SPACING, _MOST_SPACING])[:, None]
    rough = np.stack([rough_latency, *[np.full(n, lag) for lag in (rough_spacing, rough_spacing, 0.0)]])
    unexplained = np.maximum(times - most, 0.0)
    binding = np.argmin(np.where(unexplained == unexplained.min(axis=0), times - rough, np.inf), axis=0)
    return binding, rough_latency


def _find_doubtful(since_call: Floats, since_before: Floats, binding: Integers) -> Booleans:
    """Return a mask of slices that start late, where either launch or stream order may have held them.

    The launch was under way when the stream became free. Both count as the reason, so that taking away one of them saves
    nothing.
    """
    under_way = (since_call >= since_before) & (since_call <= since_before + _MOST_LATENCY)
    is_late = (since_call > _MOST_LATENCY) & (since_before > _MOST_SPACING)
    return np.asarray(under_way & is_late & ((binding == _LAUNCH) | (binding == _STREAM)))


def _predict_lag(keys: list[Integers], value: Floats, counts: Booleans, fold: Integers, most: float) -> Lag:
    """Return the lag of each edge, predicted from edges of the same kind (`keys`, from narrow to broad) in the other fold.

    Only edges that `counts` marks tell. Above `most` ns a lag is unexplained, if enough edges told it.
    """
    found, is_known = predict_from_other_fold(keys, value, counts, fold, most)
    found = np.nan_to_num(found, nan=0.0)
    return Lag(np.minimum(found, most), np.where(is_known, np.maximum(found - most, 0.0), 0.0))


def _after_waiting(recorded: Recorded, waits: Waits) -> Floats:
    """Return for each event how long its call takes after all that it waits for is done, ns; without a wait its whole length."""
    until = np.full(len(recorded.events.ts), np.iinfo(np.int64).min)
    np.maximum.at(until, waits.event, _wait_ends(recorded, waits))
    after = recorded.events.ts_end - np.maximum(until, recorded.events.ts)
    return np.asarray(np.maximum(after, 0), dtype=np.float64)


def _wait_ends(recorded: Recorded, waits: Waits) -> Integers:
    """Return for each wait the time at which its condition is met, ns: the slice's end, or for a full launch queue its start."""
    work = recorded.work
    return np.where(waits.kind[waits.event] == QUEUE, work.ts[waits.slice], work.ts_end[waits.slice])


def _predict_tails(recorded: Recorded, waits: Waits) -> Lag:
    """Return for each wait the lag from the time at which its condition is met to the return of the call."""
    events, work = recorded.events, recorded.work
    if not len(waits.event):
        return Lag(np.zeros(0), np.zeros(0))
    until = _wait_ends(recorded, waits)
    latest = np.full(len(events.ts), np.iinfo(np.int64).min)
    np.maximum.at(latest, waits.event, until)
    tail = (events.ts_end[waits.event] - latest[waits.event]).astype(np.float64)
    had_to = waits.had_to[waits.event]
    # Of each call one edge counts: that to what ended last.
    binding = np.zeros(len(tail), dtype=bool)
    last = np.flatnonzero(until == latest[waits.event])
    binding[last[np.unique(waits.event[last], return_index=True)[1]]] = True
    device = work.device[waits.slice]
    keys = [
        combine_keys(events.name[waits.event], waits.kind[waits.event], device),
        combine_keys(waits.kind[waits.event], device),
    ]
    lag = _predict_lag(keys, tail, had_to & binding, recorded.fold_of_event[waits.event], _MOST_RETURN)
    # The host copies from pageable memory, or frees memory, by itself after the GPU is done.
    is_pageable = (waits.kind[waits.event] == COPY) & work.is_pageable[waits.slice]
    works = ~events.only_waits[waits.event] & (waits.kind[waits.event] != QUEUE)
    own = had_to & (is_pageable | works)
    lag.usual[own] = tail[own]
    lag.usual[works & ~had_to] = 0.0
    lag.unexplained[own | works] = 0.0
    return lag
