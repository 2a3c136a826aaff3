"""traceq.profile: the PyTorch profiler around a training loop, with options that let every analysis work."""

from __future__ import annotations

import atexit
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from traceq import annotate
from traceq.annotate import emit, names
from traceq.common.text import printable
from traceq.errors import MissingTool

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from traceq.capture.session import RecordingSession
    from traceq.capture.slow_steps import FollowSession

_T = TypeVar("_T")

# Code that can be left and entered again in the middle of a with block: its marks need not nest with others.
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def profile(
    directory: str | os.PathLike[str] | None = "traces",
    *,
    steps: int = 5,
    warmup: int = 2,
    skip: int = 5,
    name: str = "trace",
    first: int = 0,
    stacks: bool = False,
    memory: bool = False,
    samples: bool = True,
    ring: int = 5,
    on_slow: float | None = None,
) -> ProfiledRun:
    """Profile some steps of a training loop: `with traceq.profile("traces") as run:`, with run.step() around each step.

    After `skip` steps at full speed and `warmup` steps (at least 1) in which the profiler starts, `steps` steps are recorded
    and written to DIRECTORY/NAME.rank0.pt.trace.json.gz, with the rank of this process; a file of that name that an earlier
    run of the program left is replaced, the second trace of this run is NAME-2. That happens as soon as the last of them has
    ended, and the loop waits for it. A line on stderr says how to see the result, or why there is none: nothing that goes
    wrong with profiling ends the training.

    `first` is the number of the first step, for training that is resumed; `stacks` records Python's calls as well (costly,
    and the trace then holds the paths of source files); `memory` records each allocation, and then only what runs in this
    thread and in those that PyTorch starts from it. Without `stacks`, `samples` has the trace say which functions run between
    operators, and in which files they are (at most 2 % of a step). With None for a directory nothing is profiled, and steps
    are marked all the same.

    With `on_slow`, no window is recorded: the whole training is followed, and the last `ring` steps are written each time
    that a step lasts more than `on_slow` times as long as usual (the median of up to 101 steps before it, without the first
    `skip`). These traces hold marks, fetches, garbage collections and samples of Python stacks, no operators and kernels.
    They are DIRECTORY/NAME-slowSTEP.rank0.pt.trace.json.gz, at most 50. PyTorch is not needed.

    The trace of a window holds what operators and kernels did, with shapes, synchronizations and the marks of
    traceq.annotate, and under "traceq" how much longer profiled steps took than those before.

    Raises ValueError where a number is too small, the name is no file name or options do not go together, MissingTool where
    there is no PyTorch.
    """
    given = (("steps", steps, 1), ("warmup", warmup, 1), ("skip", skip, 0), ("first", first, 0), ("ring", ring, 1))
    for what, number, least in given:
        if number < least:
            raise ValueError(f"{what}={number}: must be at least {least}")
    if not name or Path(name).name != name:
        raise ValueError(f"name={name!r}: must be the beginning of a file name, without directories")
    if directory is None:
        return ProfiledRun(None, first)
    if on_slow is not None:
        return _follow_steps(Path(directory), name, skip, first, ring, on_slow, profiles=stacks or memory)
    if importlib.util.find_spec("torch") is None:
        raise MissingTool("traceq.profile needs PyTorch, which is not installed here: pip install torch")
    from traceq.capture.session import RecordingPlan, RecordingSession

    # The program may change its directory before the trace is written.
    plan = RecordingPlan(Path(directory).absolute(), name, skip, warmup, steps, first, stacks, memory, samples)
    return ProfiledRun(RecordingSession(plan, _say), first)


def _follow_steps(
    directory: Path, name: str, skip: int, first: int, ring: int, factor: float, *, profiles: bool
) -> ProfiledRun:
    """Return the run of a training that is followed for slow steps. Raises ValueError for a `factor` of 1 or less."""
    from traceq.capture.slow_steps import FollowPlan, FollowSession

    if not factor > 1:
        raise ValueError(f"on_slow={factor}: must be more than 1, such as 2 for steps of twice their usual time")
    if profiles:
        raise ValueError("on_slow= goes without stacks=True and memory=True: no profiler runs while steps are followed")
    plan = FollowPlan(directory.absolute(), name, skip, first, ring, factor)
    return ProfiledRun(FollowSession(plan, _say), first)


def _say(text: str) -> None:
    sys.stderr.write(f"traceq: {printable(text)}\n")
    sys.stderr.flush()


class ProfiledRun:
    """A training loop that traceq.profile records; made by that function.

    Each step is marked traceq.step#N, from its begin to its end. PyTorch adds ProfilerStep#K, from the end of the step
    before to the end of this one (so that it holds the fetch of the data as well), with K = N - `first`.
    """

    def __init__(self, session: RecordingSession | FollowSession | None, first: int) -> None:
        self._session = session
        self._number = first
        self._mark: emit.Mark | None = None
        self._depth = 0  # of steps within steps, of those made by step()
        self._pid = os.getpid()

    def __enter__(self) -> Self:
        if self._session is not None:
            self._session.begin_session()
            # For who never leaves the block, as when a framework skips its last hook after an error.
            atexit.register(self.__exit__)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        _traceback: TracebackType | None = None,
    ) -> None:
        """End the recording; a step that advance() left open is recorded as unfinished."""
        if self._session is not None and self._is_here():
            self._session.end_session(error, within_step=self._mark is not None)
            self._session = None
        atexit.unregister(self.__exit__)
        self._end_mark()

    def step(self, **payload: float) -> ProfiledStep:
        """Return the context manager to put around one iteration; keywords are its payload, as in traceq.annotate.step.

        A step that ends by an exception counts as a step, but not for the overhead. A step within a step is a
        part of it.
        """
        return ProfiledStep(self, payload)

    def advance(self, **payload: float) -> None:
        """End an iteration and begin the next, instead of step(); keywords are the payload of the iteration that ends.

        The time before the first call has no mark, because nobody says where that iteration begins. Within
        step(), only the payload is added.
        """
        if self._mark is not None and payload:
            annotate.payload(**payload)
        if self._depth:
            return
        self.end_step(whole=True)
        self.begin_step({}, crosses=False)

    def loader(self, iterable: Iterable[_T], name: str = "loader") -> Iterable[_T]:
        """Return an iterable over the batches of `iterable` that marks each fetch with `name`, as traceq.annotate.loader does."""
        return annotate.loader(iterable, name)

    def enter_step(self, payload: dict[str, float], *, crosses: bool) -> None:
        """Begin a step; within another step, only add the payload to the open step.

        With `crosses`, the step's mark need not nest with other marks, as in a generator or coroutine.
        """
        self._depth += 1
        if self._depth == 1:
            self.begin_step(payload, crosses=crosses)
        else:
            annotate.payload(**payload)

    def leave_step(self, *, whole: bool) -> None:
        """End the step that enter_step began; within another step, only count down. `whole` is false after an exception."""
        self._depth -= 1
        if self._depth == 0:
            self.end_step(whole=whole)

    def begin_step(self, payload: dict[str, float], *, crosses: bool) -> None:
        """Open the mark of a step and write its payload; with `crosses`, the mark need not nest with other marks."""
        self._mark = emit.push(names.step(self._number), crosses=crosses)
        annotate.payload(**payload)

    def end_step(self, *, whole: bool) -> None:
        """Close the mark of the step, if open, and tell the profiler that a step ended; `whole` is false after an exception."""
        self._end_mark()
        self._number += 1
        if self._session is not None and self._is_here():
            self._session.end_step(whole=whole)

    def _end_mark(self) -> None:
        mark, self._mark = self._mark, None
        emit.pop(mark)

    def _is_here(self) -> bool:
        # A forked child has copies of all this, and of a profiler that only the parent may stop.
        return os.getpid() == self._pid


class ProfiledStep:
    """One iteration of a profiled training loop, as a context manager; ProfiledRun.step makes it."""

    def __init__(self, run: ProfiledRun, payload: dict[str, float]) -> None:
        self._run = run
        self._payload = payload

    def __enter__(self) -> None:
        crosses = bool(sys._getframe(1).f_code.co_flags & _SUSPENDS)  # noqa: SLF001 - the cheap way to the caller
        self._run.enter_step(self._payload, crosses=crosses)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run.leave_step(whole=kind is None)
