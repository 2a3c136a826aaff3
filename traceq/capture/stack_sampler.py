"""Sample the Python stacks of a process's threads, so that time between recorded operators has the names of functions."""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from traceq.capture.called_function import name_called_function
from traceq.capture.thread_stacks import name_function, prevent_collection

# A sample costs the sampled thread some 400 us, most of it for handing over the interpreter's lock and back: 1.6 % of a step
# (tests/benchmarks/sampling_cost.py).
PERIOD_S = 0.025

# How long a thread of Python that runs keeps the interpreter's lock while the sampler waits for it. With Python's own 5 ms most
# samples would be taken where the thread gives the lock away by itself: in calls of C that are short.
_SWITCH_S = 0.0005

# Deeper stacks keep their innermost frames.
_DEEPEST = 128

# Functions of traceq around the program's are left out.
_OWN = f"{Path(__file__).parents[1]}{os.sep}"

# More than this is the trace of minutes: what follows is not sampled.
_MOST_RUNS = 100_000

# Shorter collections are of young objects only, and many.
_SHORTEST_COLLECTION_NS = 100_000


class StackSampler:
    """A thread that notes which Python functions the other threads are in, and each garbage collection.

    It needs the interpreter's lock for each sample: a thread that does not release it in a long call of C is seen when the
    call ends, in the function that made the call.
    """

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._native_ids: dict[int, int | None] = {}
        self._codes: dict[CodeType, int] = {}
        self._calls: dict[tuple[CodeType, int], dict[str, Any]] = {}
        self._runs: list[_SampleRun] = []
        self._open: dict[int, _SampleRun] = {}
        self._collections: list[tuple[int, int, int, int]] = []
        self._collection_ts = 0
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def begin_sampling(self) -> None:
        """Begin to sample, in a thread that does not keep the process alive."""
        gc.callbacks.append(self._note_collection)
        self._thread = threading.Thread(target=self._sample_until_stopped, name="traceq stack sampler", daemon=True)
        self._thread.start()

    def end_sampling(self) -> dict[str, Any]:
        """End sampling, and return the samples: {} before begin_sampling(), or without a sample.

        "functions" are names as PyTorch writes those of Python functions, "own" the indices of those that are of no installed
        library; "stacks" are lists of indices from the outermost on, "runs" lists of native thread id, index of the stack, first
        and last time (ns since 1970) and number of samples, in a row and equal; "collections" are lists of native
        thread id, begin, end (ns since 1970) and generation; "threads" are the names of threads by native id.
        """
        if self._thread is None:
            return {}
        gc.callbacks.remove(self._note_collection)
        end = time.time_ns()
        self._stopped.set()
        thread, self._thread = self._thread, None
        thread.join()
        runs = [run for run in self._runs if run.ts <= end]
        if not runs:
            return {}
        return {
            "pid": os.getpid(),
            "period_ns": round(self._period_s * 1e9),
            **_describe_runs(runs, self._codes, self._calls),
            "collections": [row for row in self._collections if row[0] != thread.native_id],
            "threads": {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id},
        }

    def _sample_until_stopped(self) -> None:
        own = threading.get_ident()
        usual = sys.getswitchinterval()
        try:
            while len(self._runs) < _MOST_RUNS and not self._stopped.wait(self._period_s):
                with prevent_collection():
                    running = self._take_sample(own)
                # Several threads that run would take the lock from one another all the time.
                sys.setswitchinterval(_SWITCH_S if running <= 1 else usual)
        finally:
            sys.setswitchinterval(usual)

    def _take_sample(self, own: int) -> int:
        """Note where each thread is; return how many have moved on since the last sample."""
        moved = 0
        frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
        now = time.time_ns()
        if frames.keys() != self._native_ids.keys():
            known = {thread.ident: thread.native_id for thread in threading.enumerate()}
            self._native_ids = {ident: known.get(ident) for ident in frames}
        for ident, frame in frames.items():
            native_id = self._native_ids[ident]
            if ident == own or native_id is None:
                continue
            stack = self._read_stack(frame)
            run = self._open.get(native_id)
            if run is not None and run.stack == stack:
                run.last_ts = now
                run.samples += 1
            else:
                moved += run is not None
                self._open[native_id] = run = _SampleRun(native_id, stack, now)
                self._runs.append(run)
        return moved

    def _read_stack(self, innermost: FrameType) -> _Stack:
        """Return the numbers of the functions from the innermost on, after the instruction (byte offset) that this one is at."""
        # A collection that ends lets go of the lock in what notes it.
        if innermost.f_code is StackSampler._note_collection.__code__ and innermost.f_back is not None:
            innermost = innermost.f_back
        codes = self._codes
        # Read once: the thread may go on in between.
        offset = innermost.f_lasti
        self._calls.setdefault((innermost.f_code, offset), innermost.f_globals)
        stack = [offset]
        frame: FrameType | None = innermost
        while frame is not None and len(stack) <= _DEEPEST:
            code = frame.f_code
            stack.append(codes.setdefault(code, len(codes)))
            frame = frame.f_back
        return tuple(stack)

    def _note_collection(self, phase: str, info: dict[str, int]) -> None:
        """Note a garbage collection; Python calls this on the thread that collects, at its "start" and "stop"."""
        now = time.time_ns()
        if phase == "start":
            self._collection_ts = now
        elif now - self._collection_ts >= _SHORTEST_COLLECTION_NS and len(self._collections) < _MOST_RUNS:
            self._collections.append((threading.get_native_id(), self._collection_ts, now, info["generation"]))


# The instruction (byte offset) of the innermost function, then numbers of functions from the innermost on.
_Stack = tuple[int, ...]


class _SampleRun:
    """Equal samples in a row of a thread; times are ns since 1970."""

    __slots__ = ("last_ts", "native_id", "samples", "stack", "ts")

    def __init__(self, native_id: int, stack: _Stack, ts: int) -> None:
        self.native_id = native_id
        self.stack = stack
        self.ts = self.last_ts = ts
        self.samples = 1


def _describe_runs(
    runs: Sequence[_SampleRun], codes: dict[CodeType, int], calls: dict[tuple[CodeType, int], dict[str, Any]]
) -> dict[str, Any]:
    """Return "functions", "own", "stacks" and "runs" as end_sampling() does, with the C functions that innermost functions call.

    Runs of a thread in a row that then have the same names become one.
    """
    libraries = tuple(f"{path}{os.sep}" for path in sysconfig.get_paths().values())
    folders = [str(Path(folder).absolute()) for folder in sys.path if folder]
    by_number = list(codes)
    functions: dict[str, int] = {}
    numbers = [
        -1 if code.co_filename.startswith(_OWN) else functions.setdefault(name_function(code, folders), len(functions))
        for code in by_number
    ]
    own = {
        numbers[number]
        for number, code in enumerate(by_number)
        if numbers[number] >= 0 and not code.co_filename.startswith(("<", *libraries))
    }
    called = {key: name_called_function(*key, names) for key, names in calls.items()}
    stacks: dict[tuple[int, ...], int] = {}
    found: list[list[int]] = []
    last: dict[int, list[int]] = {}
    for run in runs:
        frames = [numbers[code] for code in reversed(run.stack[1:]) if numbers[code] >= 0]
        if name := called[by_number[run.stack[1]], run.stack[0]]:
            frames.append(functions.setdefault(name, len(functions)))
        stack = stacks.setdefault(tuple(frames), len(stacks))
        row = last.get(run.native_id)
        if row is not None and row[1] == stack:
            row[3:] = run.last_ts, row[4] + run.samples
        else:
            last[run.native_id] = row = [run.native_id, stack, run.ts, run.last_ts, run.samples]
            found.append(row)
    return {
        "functions": list(functions),
        "own": sorted(own),
        "stacks": [list(stack) for stack in stacks],
        "runs": found,
    }
