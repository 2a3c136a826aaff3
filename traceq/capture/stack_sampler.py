"""Sample the Python stacks of a process's threads, so that time between recorded operators has the names of functions."""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
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
_MOST_SAMPLES = 100_000

# Beside the thread that starts first; of more threads a sample would take too long.
_MOST_THREADS = 16

# A sample of deep stacks or many threads takes longer: the next is then so much later that this share of a core is not exceeded.
_LARGEST_SHARE = 0.015

# Shorter collections are of young objects only, and many.
_SHORTEST_COLLECTION_NS = 100_000


class StackSampler:
    """A thread that notes which Python functions the other threads are in, and each garbage collection.

    It needs the interpreter's lock for each sample: a thread that does not release it in a long call of C is seen when the
    call ends, in the function that made the call.
    """

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._switch_s = sys.getswitchinterval()
        self._codes: dict[CodeType, int] = {}
        self._calls: dict[tuple[CodeType, int], dict[str, Any]] = {}
        self._samples: list[tuple[int, _Stack, int]] = []
        self._collections: list[tuple[int, int, int, int]] = []
        self._collection_ts = 0
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def begin_sampling(self) -> None:
        """Begin to sample, in a thread that does not keep the process alive; where none can be started, there are no samples."""
        thread = threading.Thread(target=self._sample_until_stopped, name="traceq stack sampler", daemon=True)
        with suppress(RuntimeError):
            thread.start()
            self._thread = thread
            _active.add(self)
            gc.callbacks.append(self._note_collection)

    def end_sampling(self) -> dict[str, Any]:
        """End sampling, and return the samples: {} before begin_sampling(), when called again, or without a sample.

        "functions" are names as PyTorch writes those of Python functions, "own" the indices of those that are of no installed
        library; "stacks" are lists of indices from the outermost on, "samples" lists of native thread id, index of the stack,
        and time (ns since 1970); "collections" are lists of native thread id, begin, end (ns since 1970) and generation;
        "threads" are the names of threads by native id.
        """
        if self._thread is None:
            return {}
        end = time.time_ns()
        self._stopped.set()
        thread, self._thread = self._thread, None
        self._note_no_collections()
        thread.join()
        samples = [sample for sample in self._samples if sample[2] <= end]
        found = {
            "pid": os.getpid(),
            "period_ns": round(self._period_s * 1e9),
            **_describe_samples(samples, self._codes, self._calls),
            "collections": [row for row in self._collections if row[0] != thread.native_id],
            "threads": {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id},
        }
        self._codes, self._calls, self._samples, self._collections = {}, {}, [], []
        return found if samples else {}

    def undo_in_child(self) -> None:
        """Undo in a forked child, which has no sampling thread, what sampling changed."""
        self._thread = None
        self._note_no_collections()
        sys.setswitchinterval(self._switch_s)

    def _note_no_collections(self) -> None:
        _active.discard(self)
        with suppress(ValueError):  # the program has emptied the list
            gc.callbacks.remove(self._note_collection)

    def _sample_until_stopped(self) -> None:
        own = threading.get_ident()
        wait = self._period_s
        last: dict[int, _Stack] = {}
        try:
            while len(self._samples) < _MOST_SAMPLES and not self._stopped.wait(wait):
                begin = time.thread_time()
                with prevent_collection():
                    stacks = self._take_sample(own)
                running = sum(last.get(native_id) not in (None, stack) for native_id, stack in stacks.items())
                last = stacks
                # Several threads that run would take the lock from one another all the time.
                sys.setswitchinterval(_SWITCH_S if running <= 1 else self._switch_s)
                wait = max(self._period_s, (time.thread_time() - begin) / _LARGEST_SHARE)
        finally:
            sys.setswitchinterval(self._switch_s)

    def _take_sample(self, own: int) -> dict[int, _Stack]:
        """Note where the threads that started first are; return their stacks by native thread id."""
        frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
        now = time.time_ns()
        stacks = {}
        # Which thread has an ident is asked each time: the next one gets that of a thread that has ended.
        for thread in threading.enumerate()[: _MOST_THREADS + 2]:
            if thread.ident in frames and thread.ident != own and thread.native_id is not None:
                stacks[thread.native_id] = stack = self._read_stack(frames[thread.ident])
                self._samples.append((thread.native_id, stack, now))
        return stacks

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
        elif now - self._collection_ts >= _SHORTEST_COLLECTION_NS and len(self._collections) < _MOST_SAMPLES:
            self._collections.append((threading.get_native_id(), self._collection_ts, now, info["generation"]))


# The instruction (byte offset) of the innermost function, then numbers of functions from the innermost on.
_Stack = tuple[int, ...]


# Samplers that sample now; a process that is forked meanwhile has copies of what they changed.
_active: weakref.WeakSet[StackSampler] = weakref.WeakSet()


def _undo_in_child() -> None:
    for sampler in list(_active):
        sampler.undo_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_undo_in_child)


def _describe_samples(
    samples: Sequence[tuple[int, _Stack, int]],
    codes: dict[CodeType, int],
    calls: dict[tuple[CodeType, int], dict[str, Any]],
) -> dict[str, Any]:
    """Return "functions", "own", "stacks" and "samples" as end_sampling() does, with the C functions that are called."""
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
    rows = []
    for native_id, (offset, *walked), ts in samples:
        frames = [numbers[code] for code in reversed(walked) if numbers[code] >= 0]
        if name := called[by_number[walked[0]], offset]:
            frames.append(functions.setdefault(name, len(functions)))
        rows.append([native_id, stacks.setdefault(tuple(frames), len(stacks)), ts])
    return {
        "functions": list(functions),
        "own": sorted(own),
        "stacks": [list(stack) for stack in stacks],
        "samples": rows,
    }
