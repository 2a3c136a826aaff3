"""Executes the steps of a trace again without the time of one cause: how much of an upper bound is left.

The model: each process has one host clock, which its launching threads share; between two calls that concern a GPU it
advances by what it did in the trace, less what is taken away. Work starts when its launch has reached the device, what
was launched before on its stream (and, for copies, in its direction) has ended, and what its stream was told to wait
for has; what it waited longer in the trace, it waits again. A call that waits for the GPU returns when what it waited for
has ended. With nothing taken away this gives the trace as recorded.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """What a replay needs of each host event (call or start of a step) and each GPU slice; lists by position, times in ns."""

    pid: list[int]
    gap: list[float]  # host time before the event
    call: list[float]  # host time in the call
    slices: list[range]  # GPU slices it launches
    waits: list[tuple[int, ...]]  # GPU slices whose end it waits for
    had_to_wait: list[bool]  # whether any of them was still to end
    tail: list[float]  # from that end to its return
    is_mark: list[bool]
    latency: list[float]
    spacing: list[float]
    lag: list[float]
    residual: list[float]
    dur: list[float]
    before: list[int]  # the slice before it on its stream, -1 for none
    engine: list[int]  # the copy before it in its direction
    awaited: list[int]  # the slice its stream was told to wait for
    category: list[str]
    waits_for_gpu: bool = True


def span(model: Model) -> float:
    """From the first mark to the last, or to the end of all work when that is later, ns."""
    clock: dict[int, float] = defaultdict(float)
    end = [0.0] * len(model.dur)
    passed: list[float] = []
    for number, slices in enumerate(model.slices):
        now = clock[model.pid[number]] + model.gap[number]
        for one in slices:
            start = now + model.latency[one]
            if model.before[one] >= 0:
                start = max(start, end[model.before[one]] + model.spacing[one])
            if model.engine[one] >= 0:
                start = max(start, end[model.engine[one]])
            if model.awaited[one] >= 0:
                start = max(start, end[model.awaited[one]] + model.lag[one])
            end[one] = start + model.residual[one] + model.dur[one]
        waits = model.waits[number] if model.waits_for_gpu else ()
        if not waits:
            now += model.call[number]
        elif model.had_to_wait[number]:
            now = max(now, max(end[one] for one in waits) + model.tail[number])
        else:
            now = max(now + model.call[number], *(end[one] for one in waits))
        clock[model.pid[number]] = now
        if model.is_mark[number]:
            passed.append(now)
    return max(passed[-1], max(end, default=0.0)) - passed[0]
