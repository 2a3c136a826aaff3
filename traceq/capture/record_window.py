"""The window of a recording: what a profiler does in it. All of it happens on the thread that trains."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

from traceq.capture import files
from traceq.capture.overhead import Clock, Unprofiled
from traceq.capture.session import RecordingPlan, describe, make_profiler
from traceq.capture.snapshot.seen import Seen
from traceq.capture.snapshot.write import write_beside
from traceq.capture.stack_sampler import StackSampler

# In a second forty samples of stacks show what takes a tenth of a step.
_LONG_ENOUGH_NS = 1_000_000_000


class RecordWindow:
    """The window of a recording without limits: nsys collects all of the program, and all steps are marked."""

    def __init__(self) -> None:
        self._steps = 0
        # Steps to record; 0 without limits.
        self.wanted = 0

    def open(self) -> None:
        """Open the window before its first step, or before the first step of its warm-up; nothing to do without limits."""

    def advance(self) -> bool:
        """Count a step that ended; return whether another one of the window follows (here always)."""
        self._steps += 1
        return True

    def close(self) -> Path | None:
        """Close the window; return the path of the trace that this process wrote, None if it wrote none (here always)."""

    def recorded(self) -> int:
        """Return the number of whole steps recorded so far, without warm-up."""
        return self._steps

    def describe_progress(self) -> str:
        """Say how many steps have been recorded."""
        return f"recorded {self._steps} steps"


class TorchWindow(RecordWindow):
    """A window that torch.profiler records, with a trace per process.

    `before` are the iterations that `clock` has timed before the window, `losses` those of the first steps. The
    environment snapshot, with what was `seen` of the program, is written beside the trace.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        clock: Clock,
        before: Unprofiled,
        seen: Seen,
        losses: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._losses = losses
        self._seen = seen
        self._options = options
        self._clock = clock
        self._before = before
        self._path: Path | None = None
        self.wanted = int(options["steps"])
        self._sampler = StackSampler()
        self._profiler: Any = None

    def open(self) -> None:
        """Start the profiler, which warms up for the first `warmup` steps."""
        options = self._options
        self.wanted = self._choose_steps()
        chosen = {key: options[key] for key in ("warmup", "stacks", "memory")}
        plan = RecordingPlan(Path(options["directory"]), options["name"], skip=0, steps=self.wanted, **chosen)
        self._profiler = make_profiler(self._write, plan)
        self._profiler.start()

    def _choose_steps(self) -> int:
        """Return how many steps to record: what takes a second, between `steps` and `most_steps`, in whole cycles of workers.

        Ranks of a job record the same number of steps, `steps`, as each would choose another one.
        """
        least, most = int(self._options["steps"]), int(self._options["most_steps"])
        before = self._before
        earlier = [] if files.is_distributed() else self._clock.lengths(before.first, before.end)
        if not earlier or most <= least:
            return least
        enough = min(max(least, ceil(_LONG_ENOUGH_NS / max(1.0, mean(earlier)))), most)
        whole = ceil(enough / before.cycle) * before.cycle
        return whole if whole <= most else enough

    def describe_progress(self) -> str:
        """Say how many steps of the window have been recorded."""
        return f"recorded {self.recorded()} of {self.wanted} steps"

    def advance(self) -> bool:
        """Tell the profiler that a step ended; return whether another step of the window follows.

        After the window's last step the profiler writes the trace.
        """
        self._steps += 1
        if self._steps == self._options["warmup"] + self.wanted:
            self._describe()
            self._profiler.step()
            return False
        self._profiler.step()
        if self._steps == self._options["warmup"] and self._options["samples"] and not self._options["stacks"]:
            self._sampler.begin_sampling()
        return True

    def close(self) -> Path | None:
        """Stop the profiler and return the path of the trace; None if no step was recorded.

        Before the window's last step, the part recorded so far is written if it has a whole step.
        """
        try:
            if not self.recorded():
                self._profiler.on_trace_ready = None
            elif self._path is None:
                self._describe()
            self._sampler.end_sampling()
        finally:
            # A profiler that is left running crashes the process at its end.
            self._profiler.stop()
        return self._path

    def recorded(self) -> int:
        """Return the number of steps recorded after the warm-up."""
        return max(0, self._steps - int(self._options["warmup"]))

    def _describe(self) -> None:
        """Add the profiler's overhead to the trace, which PyTorch accepts only while it records."""
        start = self._before.end + int(self._options["warmup"])
        window = (start, start + self.recorded())
        describe(self._profiler, self._clock, self._before, window, self._sampler, self._losses)

    def _write(self, profiling: Any) -> None:
        name = self._options["name"]
        claim = Path(self._options["status"]) / f"rank{files.rank()}"
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            # One program after the other, or beside it, as the same rank.
            name = f"{name}-{os.getpid()}"
        self._path = files.save(profiling.export_chrome_trace, Path(self._options["directory"]), name)
        write_beside(self._path, sys.modules["torch"], self._seen)


class CudaRange(RecordWindow):
    """A window between cudaProfilerStart and cudaProfilerStop, in which nsys collects and then writes the trace."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.wanted = int(options["steps"])

    def open(self) -> None:
        """Call cudaProfilerStart. Raises RuntimeError without CUDA."""
        torch: Any = sys.modules["torch"]
        if not torch.cuda.is_available():
            raise RuntimeError(
                "nsys waits for cudaProfilerStart, but there is no CUDA: use --steps 0, or --backend torch"
            )
        torch.cuda.cudart().cudaProfilerStart()

    def advance(self) -> bool:
        """Count a step; return whether another step of the window follows."""
        return super().advance() and self._steps < self.wanted

    def describe_progress(self) -> str:
        """Say how many steps of the window have been recorded."""
        return f"recorded {self._steps} of {self.wanted} steps"

    def close(self) -> None:
        """Call cudaProfilerStop once the device has finished the window's work."""
        torch: Any = sys.modules["torch"]
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
