"""What `traceq record` changes in torch from the start: it has to see steps, backward passes and other profilers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol

from traceq.annotate import emit
from traceq.capture.others import _STARTERS

_WATCHED = "_traceq_watched"
_threads = threading.local()


class Listener(Protocol):
    """Who wants to know."""

    def optimizing(self) -> bool:
        """An optimizer's step begins; what is returned is handed to optimized()."""

    def optimized(self, optimizer: Any, *, begun: bool, done: bool) -> None:
        """It ended, by an exception unless done."""

    def differentiating(self) -> bool:
        """A backward pass begins; what is returned is handed to differentiated()."""

    def differentiated(self, *, begun: bool) -> None:
        """It ended."""

    def program_marks(self, name: str) -> None:
        """The program itself is about to begin a mark of this name."""

    def program_marked(self) -> None:
        """A mark of the program's ended."""

    def foreign_profiler(self) -> None:
        """A profiler of PyTorch's is about to start."""


def optimizers(torch: Any, listener: Listener) -> Callable[[], None]:
    """Watch the steps of all optimizers that are made from now on; returns what ends it.

    Outside of torch's own wrapper of step(), whose range a step mark begun in a hook would cross.
    """
    optimizer = torch.optim.Optimizer
    original = getattr(optimizer, "_patch_step_function", None)
    if original is None:
        return _optimizer_hooks(listener)
    steps: list[tuple[Any, Any]] = []

    def _patch_step_function(self: Any) -> None:
        original(self)
        class_: Any = type(self)
        if not hasattr(class_.step, _WATCHED):
            steps.append((class_, class_.step))
            class_.step = _watched_step(class_.step, listener)

    def undo() -> None:
        optimizer._patch_step_function = original  # noqa: SLF001 - as above
        for class_, step in steps:
            if getattr(class_.step, _WATCHED, None) is listener and class_.step.__wrapped__ is step:
                class_.step = step

    optimizer._patch_step_function = _patch_step_function  # noqa: SLF001 - there is no public place outside the range
    return undo


def _watched_step(step: Callable[..., Any], listener: Listener) -> Callable[..., Any]:
    @functools.wraps(step)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A subclass's step calls that of its parent: the outer one counts.
        if emit.compiling() or getattr(_threads, "within", False):
            return step(self, *args, **kwargs)
        _threads.within, done, begun = True, False, listener.optimizing()
        try:
            result = step(self, *args, **kwargs)
            done = True
        finally:
            _threads.within = False
            listener.optimized(self, begun=begun, done=done)
        return result

    setattr(watched, _WATCHED, listener)
    return watched


def _optimizer_hooks(listener: Listener) -> Callable[[], None]:
    """The same through public hooks, for a torch whose Optimizer looks different inside."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def after(optimizer: Any, _args: object, _kwargs: object) -> None:
        if not emit.compiling():
            listener.optimized(optimizer, begun=False, done=True)

    hook = register_optimizer_step_post_hook(after)
    return hook.remove


def backward_passes(torch: Any, listener: Listener) -> Callable[[], None]:
    """Watch Tensor.backward, which calls torch.autograd.backward; returns what ends it."""
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if emit.compiling():
            return original(*args, **kwargs)
        begun = listener.differentiating()
        try:
            return original(*args, **kwargs)
        finally:
            listener.differentiated(begun=begun)

    torch.autograd.backward = backward
    return lambda: _put_back(torch.autograd, "backward", backward, original)


def program_marks(listener: Listener) -> Callable[[], None]:
    """Watch the marks that the program sets itself with traceq.annotate; returns what ends it."""
    begin_mark, pop_mark, active = emit.begin, emit.pop, emit.active

    def begin(name: str, *, crosses: bool) -> emit.Mark:
        listener.program_marks(name)
        mark = begin_mark(name, crosses=crosses)
        _open_marks().append((mark, name))
        return mark

    def pop(mark: emit.Mark | None) -> None:
        pop_mark(mark)
        if mark is not None:
            _threads.open = [each for each in _open_marks() if each[0] is not mark]
            listener.program_marked()

    emit.begin, emit.pop = begin, pop
    # Also where no profiler listens yet: steps have to be known before.
    emit.active = emit.wanted

    def undo() -> None:
        _put_back(emit, "begin", begin, begin_mark)
        _put_back(emit, "pop", pop, pop_mark)
        _put_back(emit, "active", emit.wanted, active)
        _threads.open = []

    return undo


def program_has_open() -> list[str]:
    """Names of the marks of the program that are open on this thread."""
    return [name for _, name in _open_marks()]


def _open_marks() -> list[tuple[emit.Mark, str]]:
    try:
        marks: list[tuple[emit.Mark, str]] = _threads.open
    except AttributeError:
        marks = _threads.open = []
    return marks


def profilers(torch: Any, listener: Listener) -> Callable[[], None]:
    """Watch for profilers: all of torch's, emit_nvtx too, begin with one of these; returns what ends it."""
    place = torch.autograd.profiler
    undo = [_watched_profiler(place, name, listener) for name in _STARTERS]

    def undo_all() -> None:
        for each in undo:
            each()

    return undo_all


def _watched_profiler(place: Any, name: str, listener: Listener) -> Callable[[], None]:
    original = getattr(place, name)

    @functools.wraps(original)
    def begin(*args: Any, **kwargs: Any) -> Any:
        listener.foreign_profiler()
        return original(*args, **kwargs)

    setattr(place, name, begin)
    return lambda: _put_back(place, name, begin, original)


def _put_back(place: Any, name: str, ours: Any, original: Any) -> None:
    # Unless somebody has wrapped it since: then it stays, and does nothing.
    if getattr(place, name) is ours:
        setattr(place, name, original)
