"""Measure how much longer steps take with the profiler than without it, measured in the run itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any, NamedTuple


class Clock:
    """A clock that measures iterations of a training loop without waiting for a device.

    With a CUDA or XPU device in use, events on the current stream mark both ends and are read later: that is the
    true length even where the host runs ahead. Otherwise the host's clock is used. The time between `end` and
    `begin` (the profiler's start and stop) is in no iteration.
    """

    def __init__(self) -> None:
        self._begun: tuple[int, Any] = (time.perf_counter_ns(), None)
        self._cpu_begun = time.thread_time_ns()
        self._measured: list[tuple[tuple[int, Any], tuple[int, Any]] | None] = []
        self._cpu: list[int | None] = []

    def begin(self) -> None:
        """Begin an iteration: note the host's time, the thread's CPU time, and an event on the device if one is in use."""
        self._begun = (time.perf_counter_ns(), _record_event())
        self._cpu_begun = time.thread_time_ns()

    def end(self, *, whole: bool) -> None:
        """End the iteration; one that is not `whole` (it ended by an exception) has a number but is not measured."""
        self._cpu.append(time.thread_time_ns() - self._cpu_begun if whole else None)
        self._measured.append((self._begun, (time.perf_counter_ns(), _record_event())) if whole else None)

    def lengths(self, first: int, end: int) -> list[int]:
        """Return the lengths (ns) of the measured iterations among numbers first..end-1; waits until the device has done them."""
        return [_length_between(*ends) for ends in self._measured[first:end] if ends is not None]

    def cpu(self, first: int, end: int) -> list[int]:
        """Return the CPU time (ns) of the calling thread in each measured iteration among numbers first..end-1.

        Unlike the length, it depends little on other programs of the machine.
        """
        return [spent for spent in self._cpu[first:end] if spent is not None]


def _record_event() -> Any:
    """Record a CUDA or XPU event on the current stream and return it; None if no device is in use."""
    torch = sys.modules["torch"]
    if torch.cuda.is_initialized():
        if torch.cuda.is_current_stream_capturing():
            return None
        event = torch.cuda.Event(enable_timing=True)
    elif hasattr(torch, "xpu") and torch.xpu.is_initialized():
        event = torch.xpu.Event(enable_timing=True)
    else:
        return None
    event.record()
    return event


def _length_between(begin: tuple[int, Any], end: tuple[int, Any]) -> int:
    if begin[1] is None or end[1] is None:
        return end[0] - begin[0]
    end[1].synchronize()
    milliseconds: float = begin[1].elapsed_time(end[1])
    return round(milliseconds * 1e6)


class Unprofiled(NamedTuple):
    """Iterations of a clock before the profiler, from `first` up to `end`, and from when on they are a measure.

    From `steady` on no queue of prefetched batches makes them shorter; None if it still did at the end. Their pattern
    repeats after `cycle` of them, the number of a loader's workers.
    """

    first: int
    end: int
    steady: int | None = 0
    cycle: int = 1


def measure_overhead(
    clock: Clock, before: Unprofiled, profiled: tuple[int, int]
) -> dict[str, int | float | bool | None]:
    """Return, by name, typical lengths and CPU times (ns) of iterations without and with the profiler, counts and overhead.

    `profiled` is a range [from, up to) of iterations of the clock. `overhead_share` is how much longer the median
    profiled iteration is (0.1: 10 %), or the median of means of whole cycles. A typical length without any iteration is
    None, and so is the share without a whole cycle on both sides.
    """
    start = before.end if before.steady is None else max(before.first, before.steady)
    lengths, lengths_profiled = clock.lengths(start, before.end), clock.lengths(*profiled)
    without, within = (_average_cycles(times, before.cycle) for times in (lengths, lengths_profiled))
    # What a thread computes does not depend on who waits for whom.
    cpu_without, cpu_within = clock.cpu(before.first, before.end), clock.cpu(*profiled)
    return {
        "unprofiled_step_ns": _find_median(without or _average_cycles(lengths, len(lengths))),
        "profiled_step_ns": _find_median(within or _average_cycles(lengths_profiled, len(lengths_profiled))),
        "unprofiled_cpu_ns": _find_median(cpu_without),
        "profiled_cpu_ns": _find_median(cpu_within),
        "overhead_share": round(median(within) / median(without) - 1, 4) if without and within else None,
        "unprofiled_steps": len(lengths),
        "profiled_steps": len(lengths_profiled),
        **({} if before.cycle == 1 else {"is_steady": bool(without)}),
    }


def _average_cycles(lengths: Sequence[int], cycle: int) -> list[float]:
    """Return the mean of each `cycle` lengths; what is left at the end is dropped."""
    return (
        [fmean(lengths[place : place + cycle]) for place in range(0, len(lengths) - cycle + 1, cycle)] if cycle else []
    )


def _find_median(times: Sequence[float]) -> int | None:
    return round(median(times)) if times else None
