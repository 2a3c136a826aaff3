"""The window of a recording: what a profiler does in it. All of it happens on the thread that trains."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traceq.capture import files
from traceq.capture.overhead import Clock
from traceq.capture.session import RecordingPlan, describe, make_profiler
from traceq.capture.snapshot.seen import Seen
from traceq.capture.snapshot.write import write_beside


class RecordWindow:
    """No window: nsys collects all of the program, and marks are set from the first step to the last."""

    def __init__(self) -> None:
        self._steps = 0

    def open(self) -> None:
        """Open the window before its first step, or that of its warm-up."""

    def advance(self) -> bool:
        """End a step and begin the next; return False when it was the last one of the window."""
        self._steps += 1
        return True

    def close(self) -> Path | None:
        """End; the trace that this process has written, if it writes one and there is a step in it."""

    def recorded(self) -> int:
        """Return the number of whole steps that are recorded."""
        return self._steps


class TorchWindow(RecordWindow):
    """torch.profiler, and a file per process; `before` is how many steps the clock has measured before.

    What was seen of the program stands beside the trace, with the rest of what it was made with.
    """

    def __init__(self, options: Mapping[str, Any], clock: Clock, before: int, seen: Seen) -> None:
        super().__init__()
        self._seen = seen
        self._options = options
        self._clock = clock
        self._before = before
        self._path: Path | None = None
        self._profiler: Any = None

    def open(self) -> None:
        """Start the profiler, which warms up first."""
        options = self._options
        chosen = {key: options[key] for key in ("warmup", "steps", "stacks", "memory")}
        plan = RecordingPlan(Path(options["directory"]), options["name"], skip=0, **chosen)
        self._profiler = make_profiler(self._write, plan)
        self._profiler.start()

    def advance(self) -> bool:
        """Let the profiler go on to the next step; with the last one it writes its file."""
        self._steps += 1
        if self._steps == self._options["warmup"] + self._options["steps"]:
            self._describe()
            self._profiler.step()
            return False
        self._profiler.step()
        return True

    def close(self) -> Path | None:
        """Stop the profiler; in the middle of the window what is there is written, unless no step is whole."""
        if not self.recorded():
            self._profiler.on_trace_ready = None
        elif self._path is None:
            self._describe()
        self._profiler.stop()
        return self._path

    def recorded(self) -> int:
        """Return the number of steps after the warm-up."""
        return max(0, self._steps - int(self._options["warmup"]))

    def _describe(self) -> None:
        """Say in the trace what the profiler costs; PyTorch takes it only while it records."""
        start = self._before + int(self._options["warmup"])
        # The first step of a run is like no other, and the first of the clock's begins with the import of torch.
        describe(self._profiler, self._clock, (2, self._before), (start, start + self.recorded()))

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
    """A range between cudaProfilerStart and cudaProfilerStop, for which nsys waits; nsys writes the trace."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        self._wanted = int(options["steps"])

    def open(self) -> None:
        """Let nsys collect. RuntimeError without CUDA."""
        torch: Any = sys.modules["torch"]
        if not torch.cuda.is_available():
            raise RuntimeError(
                "nsys waits for the range of cudaProfilerStart, and there is no CUDA: use --steps 0, or --backend torch"
            )
        torch.cuda.cudart().cudaProfilerStart()

    def advance(self) -> bool:
        """Count a step; return False after the last one."""
        return super().advance() and self._steps < self._wanted

    def close(self) -> None:
        """Let nsys stop, once the device has done what the window launched."""
        torch: Any = sys.modules["torch"]
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
