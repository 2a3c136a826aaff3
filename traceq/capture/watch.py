"""Changes that `traceq record` makes in torch from the start, to see steps, backward passes and other profilers."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Protocol

from traceq.annotate import emit

_WATCHED = "_traceq_watched"

# What every profiler written in Python calls, torch.profiler and emit_nvtx alike.
_STARTERS = ("_prepare_profiler", "_enable_profiler")


class _WatchedThreads(threading.local):
    """For each thread, whether an optimizer's step is running, and the program's open marks with their names."""

    def __init__(self) -> None:
        self.within = False
        self.open: list[tuple[emit.Mark, str]] = []


_threads = _WatchedThreads()


class StepEnded(Protocol):
    """Callback for the end of an optimizer's step."""

    def __call__(self, optimizer: Any, *, begun: bool, done: bool) -> None:
        """Handle the end of the step. `begun` is the result of the callback at its begin; `done` is false after an exception."""


def watch_optimizers(torch: Any, begin: Callable[[], bool], end: StepEnded) -> Callable[[], None]:
    """Call `begin` and `end` around steps of all optimizers made from now on; return the function that stops this.

    They run outside of torch's own wrapper of step(), whose range a step mark begun in a hook would cross.
    """
    optimizer = torch.optim.Optimizer
    original = getattr(optimizer, "_patch_step_function", None)
    if original is None:
        return _optimizer_hooks(end)
    steps: list[tuple[Any, Any]] = []

    def _patch_step_function(self: Any) -> None:
        original(self)
        class_: Any = type(self)
        if not hasattr(class_.step, _WATCHED):
            steps.append((class_, class_.step))
            class_.step = _watch_step(class_.step, begin, end)

    def undo() -> None:
        optimizer._patch_step_function = original  # noqa: SLF001 - as above
        for class_, step in steps:
            if getattr(class_.step, _WATCHED, None) is end and class_.step.__wrapped__ is step:
                class_.step = step

    optimizer._patch_step_function = _patch_step_function  # noqa: SLF001 - there is no public place outside the range
    return undo


def _watch_step(step: Callable[..., Any], begin: Callable[[], bool], end: StepEnded) -> Callable[..., Any]:
    @functools.wraps(step)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A subclass's step calls that of its parent: the outer one counts.
        if emit.is_compiling() or _threads.within:
            return step(self, *args, **kwargs)
        _threads.within, done, begun = True, False, begin()
        try:
            result = step(self, *args, **kwargs)
            done = True
        finally:
            _threads.within = False
            end(self, begun=begun, done=done)
        return result

    setattr(watched, _WATCHED, end)
    return watched


def _optimizer_hooks(end: StepEnded) -> Callable[[], None]:
    """Watch steps through public hooks, for a torch whose Optimizer differs inside; return the function that stops this."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def after(optimizer: Any, _args: object, _kwargs: object) -> None:
        if not emit.is_compiling():
            end(optimizer, begun=False, done=True)

    hook = register_optimizer_step_post_hook(after)
    return hook.remove


def watch_backward_passes(torch: Any, begin: Callable[[], bool], end: Callable[..., None]) -> Callable[[], None]:
    """Call `begin` and `end` around Tensor.backward and torch.autograd.backward; return the function that stops this.

    `end` receives the result of `begin`.
    """
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if emit.is_compiling():
            return original(*args, **kwargs)
        begun = begin()
        try:
            return original(*args, **kwargs)
        finally:
            end(begun=begun)

    return replace_attribute(torch.autograd, "backward", backward)


def watch_program_marks(begins: Callable[[str], None], ended: Callable[[], None]) -> Callable[[], None]:
    """Call `begins` with the name before, and `ended` after, each traceq.annotate mark of the program.

    Return the function that stops this.
    """
    begin_mark, pop_mark = emit.begin, emit.pop

    def begin(name: str, *, crosses: bool) -> emit.Mark:
        begins(name)
        mark = begin_mark(name, crosses=crosses)
        _threads.open.append((mark, name))
        return mark

    def pop(mark: emit.Mark | None) -> None:
        pop_mark(mark)
        if mark is not None:
            _threads.open = [opened for opened in _threads.open if opened[0] is not mark]
            ended()

    undo = ExitStack()
    undo.callback(_threads.open.clear)
    # Active also where no profiler listens yet: steps have to be known before.
    for name, ours in (("begin", begin), ("pop", pop), ("is_active", emit.is_wanted)):
        undo.callback(replace_attribute(emit, name, ours))
    return undo.close


def open_program_marks() -> list[str]:
    """Return the names of the program's open marks on this thread."""
    return [name for _, name in _threads.open]


def replace_attribute(place: Any, name: str, ours: Any) -> Callable[[], None]:
    """Set the attribute `name` of `place` to `ours`; return the function that restores the original.

    Where somebody has wrapped `ours` since, the attribute is left as it is.
    """
    original = getattr(place, name)
    setattr(place, name, ours)

    def undo() -> None:
        if getattr(place, name) is ours:
            setattr(place, name, original)

    return undo


def is_another_active() -> bool:
    """Return whether a PyTorch profiler is recording or warming up in this process."""
    from torch.autograd import profiler

    # No flag says that one warms up; its object does. This takes some ten milliseconds a million objects.
    return bool(profiler._is_profiler_enabled) or any(  # noqa: SLF001 - there is no public question
        type(found) is profiler.profile and vars(found).get("entered") and vars(found).get("kineto_results") is None
        for found in gc.get_objects()
    )


def watch_starts(then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` before any profiler of PyTorch (or emit_nvtx) starts; return the function that stops this."""
    from torch.autograd import profiler

    undo = ExitStack()
    for name in _STARTERS:
        undo.callback(replace_attribute(profiler, name, _call_before(then, getattr(profiler, name))))
    return undo.close


def _call_before(then: Callable[[], None], original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def start(*args: Any, **kwargs: Any) -> Any:
        then()
        return original(*args, **kwargs)

    return start


class Watch:
    """Watch for PyTorch profilers that others start: `noticed` is true once one did; `end` stops watching."""

    def __init__(self) -> None:
        self.noticed = False
        self._is_own = False
        self.end = watch_starts(self._note_start)

    def _note_start(self) -> None:
        self.noticed |= not self._is_own

    @contextmanager
    def own(self) -> Iterator[None]:
        """During the block, do not notice profilers that are started."""
        self._is_own = True
        try:
            yield
        finally:
            self._is_own = False
