"""Builds the model that traceq.analysis.replay.replay executes, from what was recorded."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from traceq.analysis.replay.replay import Model
from traceq.database.sql import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb


_NO_CALL = -1

# The clocks of host and GPU are this close together, ns.
_CLOCKS_APART = 100_000

_Stream = tuple[int, int, int]  # process, device, stream


@dataclass
class _Queue:
    """What was launched on a stream so far: when, and its position."""

    launched: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


class Step(NamedTuple):
    """A step as replay_step.sql has it."""

    step: int
    ts: int
    ts_end: int
    counts: bool
    slices: int
    pid: int


class Call(NamedTuple):
    """A call as replay_call.sql has it, or the mark of a step's start, which has no slice."""

    slice_id: int | None
    thread_id: int | None
    pid: int
    ts: int
    ts_end: int
    launches: bool
    waits: bool
    kind: str | None
    stream: int | None
    recorded: int | None


class Work(NamedTuple):
    """A GPU slice as replay_slice.sql has it."""

    slice_id: int
    launch_id: int
    pid: int
    device: int
    stream: int
    category: str
    ts: int
    ts_end: int
    waited_for_id: int | None


@dataclass(frozen=True)
class Recorded:
    """What is replayed: host events in the order of time, GPU work in the order of launches, and where the window starts."""

    ts: int
    events: list[Call]
    work: list[Work]
    steps: list[Step]


def read(connection: duckdb.DuckDBPyConnection, steps: list[Step]) -> Recorded:
    """What the trace has from the start of the first of `steps` to the end of the last."""
    ts = steps[0].ts
    window = {"ts": ts, "ts_end": steps[-1].ts_end}
    calls = [Call(*row) for row in run(connection, "analysis/replay/replay_call.sql", **window).fetchall()]
    work = [Work(*row) for row in run(connection, "analysis/replay/replay_slice.sql", **window).fetchall()]
    bounds = [*(step.ts for step in steps), steps[-1].ts_end]
    marks = [Call(None, None, steps[0].pid, at, at, False, False, None, None, None) for at in bounds]
    events = sorted([*calls, *marks], key=lambda call: (call.ts, call.slice_id is not None, call.slice_id or 0))
    return Recorded(ts, events, work, steps)


def model(recorded: Recorded) -> Model:
    """The model that gives the trace as it was recorded."""
    work = recorded.work
    position = {one.slice_id: number for number, one in enumerate(work)}
    launched: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(work):
        launched[one.launch_id].append(number)
    before = _previous((one.pid, one.device, one.stream) for one in work)
    engine = _copy_before(work)
    awaited = [-1 if one.waited_for_id is None else position.get(one.waited_for_id, -1) for one in work]
    awaited = [other if other < number else -1 for number, other in enumerate(awaited)]
    latency, spacing, lag, residual = _waits_of_work(recorded, before, engine, awaited)
    waits, had_to_wait, tail = _waits_of_host(recorded, launched)
    gap, call = host_times(recorded)
    ends = [one.ts_end for one in work]
    end = recorded.steps[-1].ts_end
    if ends and max(ends) >= end:
        # The last step ends with the GPU, and not with what the host did until then.
        last = max(number for number, each in enumerate(recorded.events) if each.slice_id is None)
        gap[last] = 0.0
    return Model(
        pid=[each.pid for each in recorded.events],
        gap=gap,
        call=call,
        slices=[
            _span(launched.get(_NO_CALL if each.slice_id is None else each.slice_id, [])) for each in recorded.events
        ],
        waits=waits,
        had_to_wait=had_to_wait,
        tail=tail,
        is_mark=[each.slice_id is None for each in recorded.events],
        latency=latency,
        spacing=spacing,
        lag=lag,
        residual=residual,
        dur=[float(one.ts_end - one.ts) for one in work],
        before=before,
        engine=engine,
        awaited=awaited,
        category=[one.category for one in work],
    )


def host_times(recorded: Recorded) -> tuple[list[float], list[float]]:
    """Per event the host's time since the end of the one before in its process, and its own, ns."""
    last: dict[int, int] = defaultdict(lambda: recorded.ts)
    gap: list[float] = []
    call: list[float] = []
    for each in recorded.events:
        start = max(each.ts, last[each.pid])
        gap.append(float(start - last[each.pid]))
        call.append(float(max(each.ts_end - start, 0)))
        last[each.pid] = max(last[each.pid], each.ts_end)
    return gap, call


def _span(numbers: Sequence[int]) -> range:
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)


def _previous(keys: Iterable[object]) -> list[int]:
    """Position of the one before with the same key, -1 for none."""
    last: dict[object, int] = {}
    found = []
    for number, key in enumerate(keys):
        found.append(last.get(key, -1))
        last[key] = number
    return found


def _copy_before(work: Sequence[Work]) -> list[int]:
    """The copy before in the same direction, where it had ended when this one started: they may share an engine."""
    last: dict[tuple[int, str], int] = {}
    found = []
    for number, one in enumerate(work):
        other = last.get((one.device, one.category), -1) if one.category in ("copy_h2d", "copy_d2h") else -1
        found.append(other if other >= 0 and work[other].ts_end <= one.ts else -1)
        last[one.device, one.category] = number
    return found


def _waits_of_work(
    recorded: Recorded, before: list[int], engine: list[int], awaited: list[int]
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Per slice what a launch takes to reach the device, the pause after what was before it and after what it waited for.

    Each is what is usual in this trace, or less where less was seen; what it waited longer is its residual.
    """
    work = recorded.work
    calls = {each.slice_id: each.ts for each in recorded.events if each.slice_id is not None}
    since_call = [float(one.ts - calls[one.launch_id]) for one in work]
    ends = [work[other].ts_end if other >= 0 else -1 for other in before]
    since_before = [float(one.ts - end) for one, end in zip(work, ends, strict=True)]
    since_awaited = [
        float(one.ts - work[other].ts_end) if other >= 0 else 0.0 for one, other in zip(work, awaited, strict=True)
    ]
    is_late = [since_call[n] <= since_before[n] or before[n] < 0 for n in range(len(work))]
    usual_latency = _usual(since_call[n] for n in range(len(work)) if is_late[n] and awaited[n] < 0)
    usual_spacing = _usual(since_before[n] for n in range(len(work)) if not is_late[n] and awaited[n] < 0)
    usual_lag = _usual(since for since, other in zip(since_awaited, awaited, strict=True) if other >= 0 and since >= 0)
    latency = [max(min(usual_latency, since), 0.0) for since in since_call]
    spacing = [min(usual_spacing, since) for since in since_before]
    lag = [min(usual_lag, since) for since in since_awaited]
    residual = []
    for number, one in enumerate(work):
        earliest = float(one.ts) - since_call[number] + latency[number]
        if before[number] >= 0:
            earliest = max(earliest, ends[number] + spacing[number])
        if engine[number] >= 0:
            earliest = max(earliest, work[engine[number]].ts_end)
        if awaited[number] >= 0:
            earliest = max(earliest, work[awaited[number]].ts_end + lag[number])
        wait = max(one.ts - earliest, 0.0)
        is_alone = before[number] < 0 or calls[one.launch_id] >= work[before[number]].ts
        if wait > usual_latency and awaited[number] < 0 and is_alone:
            # Launched after what was before it had begun, and long under way.
            latency[number] = since_call[number]
            wait = 0.0
        residual.append(wait)
    return latency, spacing, lag, residual


def _usual(times: Iterable[float]) -> float:
    found = list(times)
    return float(median(found)) if found else 0.0


def _waits_of_host(
    recorded: Recorded, launched: dict[int, list[int]]
) -> tuple[list[tuple[int, ...]], list[bool], list[float]]:
    """Per event the slices it waits for, whether it had to, and how long after the last of their ends it returned."""
    work = recorded.work
    queues: dict[_Stream, _Queue] = defaultdict(_Queue)
    waits: list[tuple[int, ...]] = []
    had_to: list[bool] = []
    tails: list[float] = []
    for each in recorded.events:
        own = launched.get(_NO_CALL if each.slice_id is None else each.slice_id, [])
        for number in own:
            queue = queues[work[number].pid, work[number].device, work[number].stream]
            queue.launched.append(each.ts)
            queue.numbers.append(number)
        found = _awaited_by(each, own, queues) if each.waits else []
        # What ended after the call had returned was not waited for.
        found = [number for number in found if work[number].ts_end <= each.ts_end + _CLOCKS_APART]
        end = max((work[number].ts_end for number in found), default=each.ts)
        waits.append(tuple(found))
        had_to.append(end > each.ts)
        tails.append(float(each.ts_end - end))
    return waits, had_to, tails


def _awaited_by(call: Call, own: Sequence[int], queues: dict[_Stream, _Queue]) -> list[int]:
    if own:  # a blocking copy
        return list(own)
    of_process = {key: queue for key, queue in queues.items() if key[0] == call.pid}
    # The default stream waits for all others.
    on_stream = [queue for key, queue in of_process.items() if key[2] == call.stream] or list(of_process.values())
    if call.kind == "event" and call.recorded is not None:
        before = [(queue, bisect_left(queue.launched, call.recorded)) for queue in on_stream]
        return [queue.numbers[at - 1] for queue, at in before if at]
    return [queue.numbers[-1] for queue in (on_stream if call.kind == "stream" else of_process.values())]
