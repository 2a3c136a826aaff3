"""What works inside the processes of a program under `traceq record`: finds its steps, and opens and ends the window.

A step lasts from the end of an optimizer's step to the end of its next one. The first optimizer that makes a step is the
one; where the program marks its steps with traceq.annotate, those are the steps instead, as long as it goes on marking
them. Nothing here may break the program: what goes wrong is said to the parent in a line, and the recording of this
process is over.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from traceq.annotate import names
from traceq.capture import files, watch
from traceq.capture.forked import end_without_destructors
from traceq.capture.others import watch_starts
from traceq.capture.overhead import Clock
from traceq.capture.phases import Phases
from traceq.capture.record_window import CudaRange, TorchWindow, Window
from traceq.capture.snapshot.seen import Seen
from traceq.capture.snapshot.write import write
from traceq.formats.made_with import SUFFIX

Say = Callable[..., None]

_STEP = names.step(0)[:-1]

# Steps of the optimizer without a step mark after which the program has stopped marking: one may follow each mark, or two.
_UNMARKED = 3


def install(options: Mapping[str, Any], say: Say) -> None:
    """Watch this process; called when it has imported torch."""
    Recorder(options, say).watch(sys.modules["torch"])


class Recorder:
    """The recording of one process: waits for its window, is in it, or is over."""

    def __init__(self, options: Mapping[str, Any], say: Say) -> None:
        self._options = options
        self._say = say
        self._undo: list[Callable[[], None]] = []
        self._phases = Phases(self._settle)
        self._start_over()

    def _start_over(self) -> None:
        self._clock = Clock()
        self._seen = Seen()
        self._optimizer: weakref.ref[Any] | None = None
        self._marks_its_steps = self._stopped_marking = False
        self._completed = self._borders = self._unmarked = 0
        self._window: Window | None = None
        self._over = False
        self._within_backward = self._is_due = self._is_own = self._is_busy = self._sigterm_came = False

    def watch(self, torch: Any) -> None:
        """Put the hooks in place."""
        self._undo = [
            watch.optimizers(torch, self.optimizing, self.optimized),
            watch.backward_passes(torch, self.differentiating, self.differentiated),
            watch.program_marks(self.program_marks, self.program_marked),
            watch_starts(self.foreign_profiler),
            self._seen.watch(torch),
        ]
        os.register_at_fork(after_in_child=self._forked)
        atexit.register(self._at_exit)

    # What the hooks tell.

    def optimizing(self) -> bool:
        """An optimizer's step begins."""
        return self._phases.begin("optimizer")

    def optimized(self, optimizer: Any, *, begun: bool, done: bool) -> None:
        """An optimizer's step ended: if it is the first optimizer's, a step of the training ended, too."""
        self._phases.end(begun=begun)
        if self._over or not done or not self._is_the_first(optimizer) or self._is_within_marks():
            return
        self._is_due = True
        if not watch.program_has_open():
            self._settle()

    def differentiating(self) -> bool:
        """A backward pass begins."""
        self._seen.backward_begins()
        begun = self._phases.begin("backward")
        self._within_backward = True
        return begun

    def differentiated(self, *, begun: bool) -> None:
        """A backward pass ended."""
        self._phases.end(begun=begun)
        self._within_backward = False
        if not watch.program_has_open():
            self._settle()

    def program_marks(self, name: str) -> None:
        """The program marks something: where its own mark was open when a step ended, that can be behind us now."""
        self._settle()
        # A step within a step is a part of it.
        if name.startswith(_STEP) and not self._over and not _is_step_open():
            self._program_step()

    def program_marked(self) -> None:
        """A mark of the program's ended."""
        if not watch.program_has_open():
            self._settle()

    def _program_step(self) -> None:
        self._unmarked = 0
        if not self._marks_its_steps:
            if self._window is not None or self._stopped_marking:
                return
            self._marks_its_steps, self._completed = True, -1
        self._border(self._completed + 1)

    def _is_within_marks(self) -> bool:
        """Whether the program's marks are the steps, now that an optimizer made one; not once it has stopped marking."""
        if not self._marks_its_steps or _is_step_open():
            return self._marks_its_steps
        self._unmarked += 1
        if self._unmarked < _UNMARKED or type(self._window) is Window:
            return True
        if self._window is not None:
            self._end("the program stopped marking its steps in the window")
            return True
        self._marks_its_steps, self._stopped_marking = False, True
        return False

    def _settle(self) -> None:
        """Begin the next step, if one ended where it could not begin.

        That is in a backward pass, for an optimizer per parameter that autograd calls, and in a mark of the program's, which
        the mark of the step would cross.
        """
        if self._is_due and not self._within_backward and not self._over:
            self._is_due = False
            self._border(self._completed + 1)

    def foreign_profiler(self) -> None:
        """The program starts a profiler: there can be one at a time, and the program's goes first."""
        if not self._is_own and not self._over:
            self._end("the program uses a PyTorch profiler of its own, which goes first: switch it off to record all")

    def _is_the_first(self, optimizer: Any) -> bool:
        # A program that makes a new optimizer, for the next phase of its training, goes on with that.
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
        return self._optimizer() is optimizer

    # Borders of steps.

    def _border(self, completed: int) -> None:
        """So many steps are completed, and the next begins."""
        try:
            self._is_busy = True
            self._clock.end(whole=True)
            self._completed = completed
            self._borders += 1
            if completed > 0 and self._window is None:
                self._seen.step_ended()
            if completed == 1 and self._window is None:
                self._say("step")
            self._at_border()
            self._clock.begin()
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            self._give_up(error)
        finally:
            self._is_busy = False
        if self._sigterm_came:
            self._terminated()

    def _at_border(self) -> None:
        if self._window is None:
            if self._completed >= self._opening():
                self._open()
        elif self._advance():
            self._next_step()
        else:
            self._end(None)

    def _opening(self) -> int:
        """Steps to complete before the window; the first begins where nobody knows, unless the program marks it."""
        warmup = self._options["warmup"] if self._options["backend"] == "nsys" else 0
        return max(int(self._options["skip"]) + warmup, 0 if self._marks_its_steps else 1)

    def _open(self) -> None:
        self._window = self._made_window()
        self._seen.window_opens()
        self._say("window")
        self._own(self._window.open)
        self._phases.start(sys.modules["torch"])
        self._catch_sigterm()
        self._next_step()

    def _made_window(self) -> Window:
        if self._options["backend"] == "torch":
            return TorchWindow(self._options, self._clock, self._borders, self._seen)
        return CudaRange(self._options) if self._options["steps"] else Window()

    def _advance(self) -> bool:
        self._phases.end_step()
        return bool(self._window and self._own(self._window.advance))

    def _next_step(self) -> None:
        if not self._marks_its_steps:
            self._phases.next_step(self._completed)

    def _own(self, action: Callable[[], Any]) -> Any:
        """Do it, and do not take the profiler that it starts for the program's."""
        self._is_own = True
        try:
            return action()
        finally:
            self._is_own = False

    # Ends.

    def _end(self, reason: str | None) -> None:
        """The recording is over: end the window if it is open, and say what came of it."""
        if self._over:
            return
        self._over = True
        try:
            self._phases.stop()
            path = self._own(self._window.close) if self._window else None
            recorded = self._window.recorded() if self._window else 0
            if reason:
                self._say("reason", text=f"{reason} ({self._progress(recorded)})")
            if path is None:
                self._write_snapshot()
            self._say("end", path=path and str(path), steps=recorded)
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            self._say("reason", text=_why(error))
        finally:
            self._take_away()

    def _write_snapshot(self) -> None:
        """Write what the run was made with for the parent, which puts it beside the trace that nsys writes."""
        if self._options["backend"] == "nsys":
            with suppress(Exception):
                path = Path(self._options["status"]) / f"rank{files.rank()}{SUFFIX}"
                write(path, sys.modules["torch"], self._seen)

    def _progress(self, recorded: int) -> str:
        if self._window is None:
            return f"made {self._completed} of the {self._opening()} steps before the window"
        return f"recorded {recorded} of {self._options['steps']} steps"

    def _give_up(self, error: Exception) -> None:
        self._over = True
        self._say("reason", text=_why(error))
        self._phases.stop()
        if self._window is not None:
            # A second failure of the same profiler says no more than the first, which is told.
            with suppress(Exception):
                self._own(self._window.close)
        self._take_away()

    def _take_away(self) -> None:
        while self._undo:
            self._undo.pop()()
        self._release_sigterm()

    def _at_exit(self) -> None:
        if self._window is None:
            if self._completed or self._marks_its_steps:
                self._end("the program ended before the window began: lower --skip and --warmup")
            return
        self._last_border()
        self._end(None if type(self._window) is Window else "the program ended in the window")

    def _last_border(self) -> None:
        """The last step of a program may have come to its end without another one after it."""
        self._settle()
        if self._over or not self._marks_its_steps:
            return
        if not _is_step_open():
            self._border(self._completed + 1)

    def _catch_sigterm(self) -> None:
        """Write the trace when a batch system ends the job, unless the program has something to do then itself."""
        if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, _number: int = signal.SIGTERM, _frame: object = None) -> None:
        self._sigterm_came = True
        if self._is_busy:
            return  # perhaps with the file; once that is done, this is called again
        self._end("the program was terminated in the window")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def _release_sigterm(self) -> None:
        if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) == self._terminated:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _forked(self) -> None:
        """In a child: what is recorded is the parent's. One that was forked before the window may have its own."""
        had_window = self._window is not None
        if isinstance(self._window, TorchWindow):
            end_without_destructors()
        self._phases.forget()
        self._start_over()
        if had_window or not self._undo:
            self._over = True
            self._take_away()


def _is_step_open() -> bool:
    """Whether the program has a mark of a step open on this thread."""
    return any(name.startswith(_STEP) for name in watch.program_has_open())


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        place = error.filename2 or error.filename
        return f"{place}: cannot be written: {error.strerror}; choose another directory with -o"
    return f"recording failed: {type(error).__name__}: {' '.join(str(error).split())}"
