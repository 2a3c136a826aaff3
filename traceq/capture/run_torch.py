"""Record inside the processes of a program under `traceq record`: find its steps, open and end the window.

A step lasts from the end of an optimizer's step to the end of its next one. The first optimizer that makes a step is the
one; where the program marks its steps with traceq.annotate, those are the steps instead, as long as it goes on marking
them. Nothing here may break the program: what goes wrong is said to the parent in a line, and the recording of this
process is over.
"""

from __future__ import annotations

import atexit
import ctypes
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
from traceq.capture.loader_workers import LoaderWorkers
from traceq.capture.losses import LossWatch
from traceq.capture.memory_history import MemoryHistory
from traceq.capture.overhead import Clock, Unprofiled
from traceq.capture.phases import Phases
from traceq.capture.prefetch import PrefetchWatch
from traceq.capture.prints import PrintedLines
from traceq.capture.record_window import CudaRange, RecordWindow, TorchWindow
from traceq.capture.snapshot.seen import Seen
from traceq.capture.snapshot.write import write
from traceq.capture.watch import watch_starts
from traceq.formats import printed
from traceq.formats.made_with import SUFFIX

Say = Callable[..., None]

_STEP = names.step(0)[:-1]

# Steps of the optimizer without a step mark after which the program has stopped marking: one may follow each mark, or two.
_UNMARKED = 3


def install(options: Mapping[str, Any], say: Say) -> None:
    """Start recording in this process; called when the program has imported torch.

    `options` are those that the parent handed over, and `say(kind, **facts)` reports an event to the parent.
    """
    Recorder(options, say).watch(sys.modules["torch"])


class Recorder:
    """The recording of one process, from waiting for its window of steps through the window to the written trace."""

    def __init__(self, options: Mapping[str, Any], say: Say) -> None:
        self._options = options
        self._say = say
        self._undo: list[Callable[[], None]] = []
        self._phases = Phases(self._begin_due_step)
        self._printed = PrintedLines(lambda: self._completed)
        self._workers = LoaderWorkers(Path(options["status"]))
        self._history = MemoryHistory(sys.modules["torch"])
        self.losses = LossWatch()
        self._prefetch = PrefetchWatch()
        self._start_over()

    def _start_over(self) -> None:
        self._clock = Clock()
        self._seen = Seen()
        self.losses.start_over()
        self._optimizer: weakref.ref[Any] | None = None
        self._marks_its_steps = self._stopped_marking = False
        self._completed = self._boundaries = self._unmarked = self._advanced = 0
        self._steady: int | None = None
        self._window: RecordWindow | None = None
        self._over = False
        self._is_steady = False
        self._within_backward = self._is_due = self._is_own = self._is_busy = self._sigterm_came = False

    def watch(self, torch: Any) -> None:
        """Install the hooks in torch that see steps, backward passes, the program's marks and other profilers."""
        self._undo = [
            watch.watch_optimizers(torch, self.on_optimizer_begin, self.on_optimizer_end),
            watch.watch_backward_passes(torch, self.on_backward_begin, self.on_backward_end),
            watch.watch_program_marks(self.on_mark_begin, self.on_mark_end),
            watch_starts(self.on_other_profiler),
            self._seen.watch(torch),
            self.losses.watch_steps(torch),
            self._prefetch.watch_fetches(),
        ]
        if self._options.get("workers"):
            with suppress(Exception):  # a PyTorch that is different inside: then nothing is known of its workers
                self._undo.append(self._workers.watch_workers())
        if self._options.get("printed"):
            self._printed.watch_streams()
        os.register_at_fork(after_in_child=self._on_fork)
        atexit.register(self._at_exit)

    # What the hooks tell.

    def on_optimizer_begin(self) -> bool:
        """Begin the phase optimizer; return whether its mark was begun."""
        return self._phases.begin("optimizer")

    def on_optimizer_end(self, optimizer: Any, *, begun: bool, done: bool) -> None:
        """End the phase optimizer if it was `begun`; a step `done` by the program's first optimizer ends the training step.

        That is not so where the program's own marks define the steps.
        """
        self._phases.end(begun=begun)
        if self._over or not done or not self._is_the_first(optimizer) or self._is_within_marks():
            return
        self._is_due = True
        if not watch.open_program_marks():
            self._begin_due_step()

    def on_backward_begin(self) -> bool:
        """Count a backward pass and begin the phase backward; return whether its mark was begun."""
        self._seen.backward_begins()
        begun = self._phases.begin("backward")
        self._within_backward = True
        return begun

    def on_backward_end(self, *, begun: bool) -> None:
        """End the phase backward if it was `begun`, and begin a step that waited for its end."""
        self._phases.end(begun=begun)
        self._within_backward = False
        if not watch.open_program_marks():
            self._begin_due_step()

    def on_mark_begin(self, name: str) -> None:
        """Begin a step that was due; if the mark is one of the program's own steps, count a step."""
        self._begin_due_step()
        # A step within a step is a part of it.
        if name.startswith(_STEP) and not self._over and not _is_step_open():
            self._program_step()

    def on_mark_end(self) -> None:
        """Begin a step that is due once no mark of the program is open any more."""
        if not watch.open_program_marks():
            self._begin_due_step()

    def _program_step(self) -> None:
        self._unmarked = 0
        if not self._marks_its_steps:
            if self._window is not None or self._stopped_marking:
                return
            self._marks_its_steps, self._completed = True, -1
        self._on_step_boundary(self._completed + 1)

    def _is_within_marks(self) -> bool:
        """Return whether the program's own marks define the training's steps; asked when an optimizer has made a step.

        After three optimizer steps outside of marks (not for nsys without limits) they no longer do: then the
        next steps are the optimizer's, or an open window ends with a reason.
        """
        if not self._marks_its_steps or _is_step_open():
            return self._marks_its_steps
        self._unmarked += 1
        if self._unmarked < _UNMARKED or type(self._window) is RecordWindow:
            return True
        if self._window is not None:
            self._finish("the program stopped marking its steps in the window")
            return True
        self._marks_its_steps, self._stopped_marking = False, True
        return False

    def _begin_due_step(self) -> None:
        """Begin the next step, if one has ended at a place where the next could not begin.

        Such places are a backward pass, where autograd calls an optimizer per parameter, and a mark of the
        program, which the step's mark would cross.
        """
        if self._is_due and not self._within_backward and not self._over:
            self._is_due = False
            self._on_step_boundary(self._completed + 1)

    def on_other_profiler(self) -> None:
        """End the recording before a profiler that the program starts, because only one can run at a time; report why."""
        if not self._is_own and not self._over:
            self._finish(
                "the program uses its own PyTorch profiler, which has priority: switch it off to record everything"
            )

    def _is_the_first(self, optimizer: Any) -> bool:
        # A program that makes a new optimizer, for the next phase of its training, goes on with that.
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
        return self._optimizer() is optimizer

    # Borders of steps.

    def _on_step_boundary(self, completed: int) -> None:
        """Open, advance or close the window between two steps; `completed` is the number of steps ended so far.

        An error ends the recording and is reported. A SIGTERM that came meanwhile is handled at the end.
        """
        try:
            self._is_busy = True
            self._clock.end(whole=True)
            self._completed = completed
            self._boundaries += 1
            if completed > 0 and self._window is None:
                self._seen.step_ended()
                self.losses.step_ended()
            if completed == 1 and self._window is None:
                self._say("step")
            self._is_steady = self._prefetch.end_step()
            if self._is_steady and self._steady is None:
                self._steady = self._boundaries
            self._act_at_boundary()
            self._clock.begin()
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            self._give_up(error)
        finally:
            self._is_busy = False
        if self._sigterm_came:
            self._on_sigterm()

    def _act_at_boundary(self) -> None:
        if self._window is None:
            if self._completed >= self._steps_before_window():
                self._open()
            return
        self._phases.end_step()
        # Writing the trace takes long, in which the workers fill their queue.
        if self._advanced == self._options["warmup"] + self._window.wanted - 1:
            self._workers.end_sampling()
        if self._run_as_own(self._window.advance):
            self._advanced += 1
            if self._advanced == self._options["warmup"]:
                self._workers.begin_sampling()
            self._next_step()
        else:
            self._finish(None)

    def _steps_before_window(self) -> int:
        """Return the number of steps to complete before the window opens.

        It is at least 1 unless the program marks its steps, because the begin of the first step is unknown.
        """
        warmup = self._options["warmup"] if self._options["backend"] == "nsys" else 0
        return max(int(self._options["skip"]) + warmup, 0 if self._marks_its_steps else 1)

    def _open(self) -> None:
        # Within the window their work would be the program's.
        self.losses.end_watch()
        self._prefetch.end_watch()
        if self._options["backend"] == "torch":
            losses = self.losses.describe_steps()
            # The first step of a run is like no other, and the first of the clock's begins with the import of torch.
            before = Unprofiled(2, self._boundaries, self._steady, self._prefetch.longest_cycle())
            self._window = TorchWindow(self._options, self._clock, before, self._seen, losses)
        else:
            self._window = CudaRange(self._options) if self._options["steps"] else RecordWindow()
        self._seen.window_opens()
        self._printed.window_opens()
        self._say("window")
        if self._options.get("memory_history") and (reason := self._history.begin_history()):
            self._say("reason", text=reason)
        self._run_as_own(self._window.open)
        self._phases.start(sys.modules["torch"])
        self._catch_sigterm()
        self._next_step()

    def _next_step(self) -> None:
        if not self._marks_its_steps:
            self._phases.next_step(self._completed)

    def _run_as_own(self, action: Callable[[], Any]) -> Any:
        """Return the result of `action`; a profiler that it starts is not taken for one of the program."""
        self._is_own = True
        try:
            return action()
        finally:
            self._is_own = False

    # Ends.

    def _finish(self, reason: str | None) -> None:
        """End the recording: close an open window, report its trace and any `reason` to the parent, and remove all hooks."""
        if self._over:
            return
        self._over = True
        path = None
        try:
            self._phases.stop()
            self._workers.end_sampling()
            self._printed.window_closes()
            path = self._run_as_own(self._window.close) if self._window else None
            recorded = self._window.recorded() if self._window else 0
            if reason:
                self._say("reason", text=f"{reason} ({self._describe_progress()})")
            if path is None:
                self._write_for_nsys()
            else:
                self._printed.keep_beside(path)
            self._say("end", path=path and str(path), steps=recorded)
        except Exception as error:  # noqa: BLE001 - the program must go on, whatever fails here
            self._say("reason", text=_describe_failure(error))
        finally:
            self._end_history(path)
            self._take_away()

    def _end_history(self, trace: Path | None) -> None:
        try:
            self._history.end_history(trace)
        except Exception as error:  # noqa: BLE001 - the trace is there, whatever PyTorch says of its memory
            self._say("reason", text=f"no memory history: {type(error).__name__}: {' '.join(str(error).split())}")

    def _write_for_nsys(self) -> None:
        """With nsys, write this process's environment snapshot and printed values into the status directory.

        The parent puts them beside the trace. Failures are ignored. Without nsys there is no trace: read no more lines.
        """
        if self._options["backend"] != "nsys":
            self._printed.stop_reading()
            return
        with suppress(Exception):
            stem = Path(self._options["status"]) / f"rank{files.rank()}"
            self._printed.keep_at(stem.with_name(f"{stem.name}{printed.SUFFIX}"))
            write(stem.with_name(f"{stem.name}{SUFFIX}"), sys.modules["torch"], self._seen)

    def _describe_progress(self) -> str:
        if self._window is None:
            return f"made {self._completed} of the {self._steps_before_window()} steps before the window"
        return self._window.describe_progress()

    def _give_up(self, error: Exception) -> None:
        self._over = True
        self._say("reason", text=_describe_failure(error))
        self._printed.stop_reading()
        self._workers.end_sampling()
        self._end_history(None)
        self._phases.stop()
        if self._window is not None:
            # A second failure of the same profiler says no more than the first, which is told.
            with suppress(Exception):
                self._run_as_own(self._window.close)
        self._take_away()

    def _take_away(self) -> None:
        while self._undo:
            self._undo.pop()()
        self._release_sigterm()

    def _at_exit(self) -> None:
        if self._window is None:
            if self._completed or self._marks_its_steps:
                self._finish("the program ended before the window began: lower --skip and --warmup")
            return
        self._end_last_step()
        # A window may be longer than what was asked for, so as to last a second.
        is_enough = self._window.recorded() >= int(self._options["steps"])
        self._finish(None if is_enough else "the program ended in the window")

    def _end_last_step(self) -> None:
        """End the program's last step, after which no other begins to end it."""
        self._begin_due_step()
        if not self._over and self._marks_its_steps and not _is_step_open():
            self._on_step_boundary(self._completed + 1)

    def _catch_sigterm(self) -> None:
        """On SIGTERM, as from a batch system, write the trace and then end, unless the program handles SIGTERM itself."""
        if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, _number: int = signal.SIGTERM, _frame: object = None) -> None:
        self._sigterm_came = True
        if self._is_busy:
            return  # perhaps with the file; once that is done, this is called again
        self._finish("the program was terminated in the window")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def _release_sigterm(self) -> None:
        if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _on_fork(self) -> None:
        """Reset the recording in a forked child; if the parent was in its window already, the child records nothing."""
        had_window = self._window is not None
        if isinstance(self._window, TorchWindow):
            _end_without_destructors()
        self._phases.forget()
        self._printed.drop_lines()
        self._start_over()
        if had_window or not self._undo:
            self._over = True
            self._take_away()


def _is_step_open() -> bool:
    """Return whether a step mark made by the program is open on this thread."""
    return any(name.startswith(_STEP) for name in watch.open_program_marks())


def _describe_failure(error: Exception) -> str:
    if isinstance(error, OSError):
        place = error.filename2 or error.filename
        return f"{place}: cannot be written: {error.strerror}; choose another directory with -o"
    return f"recording failed: {type(error).__name__}: {' '.join(str(error).split())}"


def _end_without_destructors() -> None:
    """Let this process, a forked child, end with its exit code but without C++ destructors, where the C library allows it.

    The destructors of PyTorch's profiler (2.13) wait for a thread that only the parent has: the child would hang or
    abort at its end. What Python does at exit is done before, as ever.
    """
    libc = ctypes.CDLL(None)
    # GNU's: the function is called first, and with the exit code.
    if hasattr(libc, "on_exit"):
        libc.on_exit(libc["_exit"], None)
