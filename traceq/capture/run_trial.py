"""What works inside the processes of a program under `traceq experiment`: turns knobs, and measures steps.

The steps are found as by `traceq record`. Those that count are measured without a profiler; a window of profiled steps may
follow, and then the parent ends the program.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from traceq.capture import files
from traceq.capture.energy import SHORTEST, Energy
from traceq.capture.knobs import registry
from traceq.capture.knobs.knob import Hooks
from traceq.capture.run_torch import Recorder, Say
from traceq.capture.work import Work

# Steps that are measured at most beyond those asked for: each is kept.
_MOST = 5_000


def install(options: Mapping[str, Any], say: Say) -> None:
    """Turn the knobs and watch this process; called when it has imported torch."""
    torch = sys.modules["torch"]
    trial = options["trial"]
    hooks, work = Hooks(), Work()
    registry.seed(torch, trial["seed"])
    registry.apply(torch, trial["values"], hooks)
    work.watch(torch)
    TrialRecorder(options, say, hooks, work).watch(torch)


class TrialRecorder(Recorder):
    """A recording that measures the steps before its window, which it may do without."""

    def __init__(self, options: Mapping[str, Any], say: Say, hooks: Hooks, work: Work) -> None:
        super().__init__(options, say)
        self._trial = options["trial"]
        self._hooks = hooks
        self._work = work
        self._energy: Energy | None = None
        self._joules: float | None = None
        self._began = 0.0
        self._first = 0
        self._has_other_profiler = False

    def foreign_profiler(self) -> None:
        """The program's own profiler makes its steps longer in all settings alike; there is no window beside it."""
        if not self._is_own:
            self._has_other_profiler = True

    def _at_border(self) -> None:
        # The first mark of a step comes before one: no module has been called.
        while self._completed >= 1 and self._hooks.at_first_step:
            self._hooks.at_first_step.pop(0)()
        if self._window is None and self._completed == super()._opening() - self._trial["steps"]:
            self._begin()
        super()._at_border()

    def _begin(self) -> None:
        """The steps that count begin."""
        self._work.begin()
        self._energy = Energy(sys.modules["torch"])
        self._first = self._borders
        self._joules, self._began = self._energy.joules(), time.monotonic()

    def _opening(self) -> int:
        """Steps to complete before the window: those that count take some time together, or are very many."""
        least = super()._opening()
        is_long = time.monotonic() - self._began >= self._trial["least_seconds"]
        return least if is_long or self._completed >= least + _MOST else max(least, self._completed + 1)

    def _open(self) -> None:
        self._say("measured", **self._measured())
        if self._trial["profile"] and not self._has_other_profiler:
            super()._open()
        else:
            self._end(None)

    def _at_exit(self) -> None:
        if self._window is None and not self._over:
            if self._completed >= super()._opening():
                self._say("measured", **self._measured())
                self._end(None)
            else:
                self._say("few", made=self._completed)
        super()._at_exit()

    def _measured(self) -> dict[str, Any]:
        torch: Any = sys.modules["torch"]
        lengths = self._clock.lengths(self._first, self._borders)
        names = [value if name == registry.ABLATE else name for name, value in self._trial["values"].items()]
        return {
            "in_job": files.rank(),
            "steps_ns": lengths,
            "energy_j": self._used(len(lengths)),
            "work": self._work.each(len(lengths)),
            "gpu_memory_peak": _gpu_memory_peak(torch),
            "idle_knobs": self._hooks.idle(names),
            "threads": torch.get_num_threads(),
        }

    def _used(self, steps: int) -> float | None:
        """Joules a step, None where too little time has passed to tell."""
        now = self._energy.joules() if self._energy else None
        if now is None or self._joules is None or time.monotonic() - self._began < SHORTEST:
            return None
        return (now - self._joules) / steps


def _gpu_memory_peak(torch: Any) -> int | None:
    """Bytes that tensors took at most, of the device with most."""
    if not torch.cuda.is_initialized():
        return None
    return max(int(torch.cuda.max_memory_allocated(each)) for each in range(torch.cuda.device_count()))
