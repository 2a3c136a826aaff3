"""A ring of the last steps in memory: marks, garbage collections, samples of Python stacks, counters of each step.

What is kept of a step is bounded, and what it costs: the ring is kept over a whole training.
"""

from __future__ import annotations

import gc
import resource
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from threading import get_ident, get_native_id
from types import CodeType
from typing import Any, NamedTuple

from traceq.annotate import names, to_ring
from traceq.capture.thread_stacks import Stacks, read_stacks

# Seconds between samples, while a step lasts as usual and once it lasts longer.
# Each takes the interpreter's lock from the training thread, and on a busy machine its CPU: that costs more than the sample.
PERIOD_S, SLOW_PERIOD_S = 0.1, 0.005

# Of one CPU; where a sample takes more than that, samples are further apart.
_MOST_COST, _MOST_COST_SLOW = 0.003, 0.02

# Samples are also further apart than this part of the time since the step began: about 200, and 460 more for ten times the time.
_SHARE_OF_STEP = 1 / 200
_LONGEST_PERIOD_S = 0.25

_FETCH = names.fetch("")[:-1]

_MOST_THREADS = 8
_MOST_MARKS = 5000  # a step
_MOST_PAUSES = 1000  # a step
_LEAST_PAUSE_NS = 100_000

_OF_THREAD = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # of the process on macOS

# More than judging a step takes.
_LONG_BETWEEN_NS = 1_000_000

# Reading the counters of PyTorch's allocator takes some 0.1 ms.
_LEAST_BETWEEN_READINGS_NS = 100_000_000


@dataclass(slots=True)
class KeptMark:
    """A mark with the thread that began it; times are perf_counter's (ns), `end` is None while it is open."""

    name: str
    thread: int
    begin: int
    end: int | None = None


@dataclass(slots=True)
class Pause:
    """A garbage collection: times are perf_counter's (ns)."""

    thread: int
    begin: int
    end: int
    generation: int
    collected: int


class StackSpan(NamedTuple):
    """A stack of functions (the outermost first), and the time from `begin` to `end` (ns) that a sample of it stands for."""

    stack: tuple[CodeType, ...]
    begin: int
    end: int


class ThreadUse(NamedTuple):
    """The use of a thread: CPU time (ns), page faults that read a disk, times that it waited or lost its CPU."""

    cpu_ns: int
    major_faults: int
    waits: int
    preemptions: int


class KeptStep:
    """The details of a step that the ring keeps, from the end of the step before to its own end; times are perf_counter's (ns).

    `used` is the use of the training thread before and after it, `memory` by GPU what PyTorch's allocator says at its end.
    """

    __slots__ = ("begin", "end", "instants", "marks", "memory", "number", "pauses", "samples", "used")

    def __init__(self, number: int, begin: int, used: ThreadUse) -> None:
        self.number = number
        self.begin = begin
        self.end = 0
        self.used = used, used
        self.marks: list[KeptMark] = []
        self.instants: list[tuple[int, int, str]] = []  # time, thread, name
        self.pauses: list[Pause] = []
        self.samples: list[tuple[int, Stacks]] = []
        self.memory: dict[int, dict[str, int]] = {}

    def spread_samples(self, thread: int) -> list[StackSpan]:
        """Return the samples of the thread, each from half way to the one before until half way to the next, within the step.

        The first begins as long before as it ends after, and the last the other way round: what was before is not known.
        """
        samples = [(ts, stack) for ts, stacks in self.samples for native_id, stack in stacks if native_id == thread]
        times = [ts for ts, _ in samples]
        gaps = [later - ts for ts, later in pairwise(times)] or [round(PERIOD_S * 1e9)]
        before, after = [gaps[0], *gaps], [*gaps, gaps[-1]]
        return [
            StackSpan(stack[::-1], max(self.begin, ts - gap // 2), min(self.end, ts + next_gap // 2))
            for (ts, stack), gap, next_gap in zip(samples, before, after, strict=False)
        ]


class Ring:
    """The last `size` steps that ended, and the one that runs. Steps begin and end in one thread, the training's."""

    def __init__(self, size: int, first: int) -> None:
        self.steps: deque[KeptStep] = deque(maxlen=size)
        self.thread = get_native_id()
        self._memory_read = 0
        self._pause_begun = 0
        self.current = KeptStep(first, time.perf_counter_ns(), _read_use())
        self._sampler = _Sampler(self.current)

    def start_listening(self) -> None:
        """Listen to marks and collections, and sample stacks from now on. Raises RuntimeError where another ring does."""
        if to_ring.listener is not None:
            raise RuntimeError("another ring of steps is kept in this process, and there can be only one")
        to_ring.listener = self
        gc.callbacks.append(self._on_collection)
        self._sampler.start_sampling()

    def stop_listening(self) -> None:
        """Stop listening and sampling."""
        if to_ring.listener is self:
            to_ring.listener = None
        self.forget_collections()
        self._sampler.stop_sampling()

    def forget_collections(self) -> None:
        """Stop listening to collections; all that a forked child has to do, which has no sampling thread."""
        if self._on_collection in gc.callbacks:
            gc.callbacks.remove(self._on_collection)

    def end_step(self) -> KeptStep:
        """End the step that runs, and return it; what follows belongs to no step until begin_step()."""
        step = self.current
        step.end = time.perf_counter_ns()
        step.used = step.used[0], _read_use()
        if step.end - self._memory_read > _LEAST_BETWEEN_READINGS_NS:
            self._memory_read = step.end
            step.memory = read_memory()
        self.steps.append(step)
        return step

    def begin_step(self, number: int, late: int | None) -> None:
        """Begin the step `number`; samples are closer once it lasts `late` (ns), if that is known."""
        begin, last = time.perf_counter_ns(), self.current
        used = (
            last.used[1] if begin - last.end < _LONG_BETWEEN_NS else _read_use()
        )  # without what a trace took to write
        self.current = KeptStep(number, begin, used)
        self._sampler.follow_step(self.current, late)

    def begin_mark(self, name: str) -> KeptMark | None:
        """Keep the begin of a mark of this thread; None beyond 5,000 marks of a step."""
        marks = self.current.marks
        if len(marks) >= _MOST_MARKS:
            return None
        mark = KeptMark(name, get_native_id(), time.perf_counter_ns())
        marks.append(mark)
        return mark

    def end_mark(self, mark: KeptMark) -> None:
        """Keep the end of a mark."""
        mark.end = time.perf_counter_ns()

    def is_fetching(self) -> bool:
        """Return whether the mark that was begun last is that of a fetch, and still open."""
        last = self.current.marks[-1] if self.current.marks else None
        return last is not None and last.end is None and last.name.startswith(_FETCH)

    def note_instant(self, name: str) -> None:
        """Keep a mark without duration."""
        instants = self.current.instants
        if len(instants) < _MOST_MARKS:
            instants.append((time.perf_counter_ns(), get_native_id(), name))

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        now = time.perf_counter_ns()
        if phase == "start":
            self._pause_begun = now
        elif now - self._pause_begun >= _LEAST_PAUSE_NS and len(self.current.pauses) < _MOST_PAUSES:
            self.current.pauses.append(
                Pause(get_native_id(), self._pause_begun, now, info["generation"], info["collected"])
            )


def _read_use() -> ThreadUse:
    """Return what the calling thread has used so far."""
    usage = resource.getrusage(_OF_THREAD)
    cpu = round((usage.ru_utime + usage.ru_stime) * 1e9)
    return ThreadUse(cpu, usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw)


def read_memory() -> dict[int, dict[str, int]]:
    """Return by GPU what PyTorch's allocator holds (bytes) and what it had to do so far; {} where no GPU is in use."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return {}
    found = {}
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats_as_nested_dict(device)
        if stats.get("num_device_alloc") or stats.get("reserved_bytes", {}).get("all", {}).get("current"):
            found[device] = {
                "allocated": stats["allocated_bytes"]["all"]["current"],
                "reserved": stats["reserved_bytes"]["all"]["current"],
                **{
                    name: stats[name] for name in ("num_alloc_retries", "num_device_alloc", "num_ooms") if name in stats
                },
            }
    return found


class _Sampler:
    """A thread that samples the Python stacks of the others into the step that runs.

    It needs the interpreter's lock for each sample: a thread that does not release it in a long call of C is seen at
    the end of the call.
    """

    def __init__(self, step: KeptStep) -> None:
        self._stopping = threading.Lock()
        self._thread: threading.Thread | None = None
        self._step = step
        self._late: int | None = None

    def start_sampling(self) -> None:
        """Begin to sample into the step."""
        self._stopping.acquire()
        self._thread = threading.Thread(target=self._sample_until_stopped, name="traceq ring", daemon=True)
        self._thread.start()

    def follow_step(self, step: KeptStep, late: int | None) -> None:
        """Sample into this step from now on; more often once it lasts `late` (ns)."""
        self._step, self._late = step, late

    def stop_sampling(self) -> None:
        """End sampling."""
        if self._thread is not None:
            self._stopping.release()
            self._thread.join()
            self._thread = None

    def _sample_until_stopped(self) -> None:
        own, wait = get_ident(), PERIOD_S
        # A lock with a time limit: an Event makes a lock for each wait.
        while not self._stopping.acquire(timeout=wait):
            wait = self._take_sample(own)

    def _take_sample(self, own: int) -> float:
        """Take a sample; return the seconds until the next one is due."""
        step, late = self._step, self._late
        began, now = time.thread_time(), time.perf_counter_ns()
        step.samples.append((now, read_stacks(own, _MOST_THREADS)))
        is_slow = late is not None and now - step.begin > late
        cost = (time.thread_time() - began) / (_MOST_COST_SLOW if is_slow else _MOST_COST)
        period = max(SLOW_PERIOD_S if is_slow else PERIOD_S, (now - step.begin) / 1e9 * _SHARE_OF_STEP)
        if late is not None and not is_slow and late / 1e9 > PERIOD_S:
            # In time for the moment when the step is late; for shorter steps that would be a sample for each of them.
            period = min(period, max(SLOW_PERIOD_S, (step.begin + late - now) / 1e9))
        return min(max(cost, period), _LONGEST_PERIOD_S)
