"""Sample the Python stacks of a process's threads, so that time between recorded operators has the names of functions."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

# 100 samples a second: a function of 10 ms is seen, and a sample of 30 frames takes some 20 µs.
PERIOD_S = 0.01

# Deeper stacks keep their innermost frames.
_DEEPEST = 128

# More than this is the trace of minutes: what follows is not sampled.
_MOST_RUNS = 100_000


class StackSampler:
    """A thread that notes which Python functions the other threads are in, every PERIOD_S from start() to stop().

    Equal stacks in a row are one run. It needs the interpreter's lock for each sample: a thread that does not release it
    in a long call of C is seen at the end of the call.
    """

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._codes: dict[CodeType, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._runs: list[list[int]] = []
        self._open: dict[int, list[int]] = {}
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to sample, in a thread that does not keep the process alive."""
        self._thread = threading.Thread(target=self._sample_until_stopped, name="traceq stack sampler", daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, Any]:
        """End sampling, and return the samples: {} before start(), or without a sample.

        "functions" are names as PyTorch writes those of Python functions, "stacks" lists of their indices from the outermost
        on, "runs" lists of native thread id, index of the stack, first and last time (ns since 1970) and number of samples.
        """
        if self._thread is None:
            return {}
        self._stopped.set()
        self._thread.join()
        self._thread = None
        if not self._runs:
            return {}
        folders = [str(Path(each).absolute()) for each in sys.path if each]
        return {
            "pid": os.getpid(),
            "period_ns": round(self._period_s * 1e9),
            "functions": [_name_function(code, folders) for code in self._codes],
            "stacks": [list(reversed(stack)) for stack in self._stacks],
            "runs": self._runs,
        }

    def _sample_until_stopped(self) -> None:
        own = threading.get_ident()
        due = time.monotonic()
        while len(self._runs) < _MOST_RUNS:
            due = max(due + self._period_s, time.monotonic())
            if self._stopped.wait(max(0.0, due - time.monotonic())):
                return
            self._take_sample(own)

    def _take_sample(self, own: int) -> None:
        native_ids = {thread.ident: thread.native_id for thread in threading.enumerate()}
        frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
        now = time.time_ns()
        for ident, frame in frames.items():
            native_id = native_ids.get(ident)
            if ident == own or native_id is None:
                continue
            stack = self._number_stack(frame)
            run = self._open.get(native_id)
            if run is not None and run[1] == stack:
                run[3] = now
                run[4] += 1
            else:
                self._open[native_id] = run = [native_id, stack, now, now, 1]
                self._runs.append(run)

    def _number_stack(self, innermost: FrameType) -> int:
        """Return the number of the stack of functions that ends with this frame, a new one if it was not seen before."""
        stack: list[int] = []
        frame: FrameType | None = innermost
        codes = self._codes
        while frame is not None and len(stack) < _DEEPEST:
            code = frame.f_code
            stack.append(codes.setdefault(code, len(codes)))
            frame = frame.f_back
        return self._stacks.setdefault(tuple(stack), len(self._stacks))


def _name_function(code: CodeType, folders: Sequence[str]) -> str:
    """Return FILE(LINE): NAME, as PyTorch's profiler does: the file below the folder of sys.path that it is in."""
    within = max((len(each) + 1 for each in folders if code.co_filename.startswith(f"{each}{os.sep}")), default=0)
    return f"{code.co_filename[within:]}({code.co_firstlineno}): {code.co_name}"
