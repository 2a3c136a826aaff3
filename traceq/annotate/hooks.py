"""optimizer and model: marks that need no line inside the training loop."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from traceq.annotate import emit, names
from traceq.annotate.marks import phase

if TYPE_CHECKING:
    from torch.nn import Module

_O = TypeVar("_O")
_MARKED = "_traceq_marked"
# What torch.compile's wrapper of a module calls the module.
_COMPILED = "_orig_mod"


class _HookedThreads(threading.local):
    """For each thread, the marks that hooks have opened and not yet ended, with their names."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, emit.Mark]] = []


_threads = _HookedThreads()


class Removable(Protocol):
    """A handle of a hook of PyTorch, by which the hook can be removed."""

    def remove(self) -> None:
        """Remove the hook."""


class Hooks:
    """The hooks that model() has attached."""

    def __init__(self, hooks: list[Removable]) -> None:
        self._hooks = hooks

    def remove(self) -> None:
        """Take the marks off the model again."""
        while self._hooks:
            self._hooks.pop().remove()


def optimizer(opt: _O) -> _O:
    """Mark step() and zero_grad() of this optimizer as phase optimizer; returns it. A second time changes nothing.

    Learning rate schedulers may be made before or after; what is saved of the optimizer is the same as without marks.
    """
    for method in ("step", "zero_grad"):
        if hasattr(opt, method) and not hasattr(getattr(opt, method), _MARKED):
            setattr(opt, method, _marked_method(opt, getattr(opt, method)))
    return opt


def _marked_method(owner: object, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method wrapped in the mark of the phase optimizer, for use as an attribute of its owner.

    The wrapper does not keep the owner, a large optimizer, alive.
    """
    function = phase("optimizer")(getattr(method, "__func__", None) or _without_owner(method))
    reference = weakref.ref(owner)

    @wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        return function(reference(), *args, **kwargs)

    # Callers look here for what they may pass.
    marked.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    # A learning rate scheduler looks for the function behind the bound method it expects, and puts its own in its place.
    marked.__func__ = function  # type: ignore[attr-defined]
    for callable_ in (marked, function):
        setattr(callable_, _MARKED, True)
    return marked


def _without_owner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that ignores its first argument, the owner, and calls `function`, a scheduler's stand-in for a method."""

    @wraps(function)
    def method(_owner: object, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return method


def model(module: Module, depth: int = 1) -> Hooks:
    """Mark every forward of the module and of the modules in it, down to `depth` levels; `.remove()` ends it.

    The label is a module's path, for the module itself the name of its class. Inside of what torch.compile has compiled,
    there are no marks. ValueError for a negative depth.
    """
    if depth < 0:
        raise ValueError(f"model: depth {depth} is negative; 0 marks the module alone, 1 also its children")
    hooks: list[Removable] = []
    for path, part in _parts(module, depth):
        name = names.module(path)
        hooks.append(part.register_forward_pre_hook(partial(_begin, name), prepend=True))
        hooks.append(part.register_forward_hook(partial(_end, name), always_call=True))
    return Hooks(hooks)


def _parts(module: Module, depth: int) -> Iterator[tuple[str, Module]]:
    """Yield (path, module) for modules down to `depth` levels; the level that torch.compile inserts is skipped.

    The module itself has the name of its class as its path.
    """
    for path, part in module.named_modules():
        parents = path.split(".") if path else []
        if parents[-1:] == [_COMPILED]:
            continue
        places = [place for place in parents if place != _COMPILED]
        if len(places) <= depth:
            yield ".".join(places) or type(getattr(part, _COMPILED, part)).__name__, part


def _begin(name: str, _module: Module, _args: object) -> None:
    """Begin the mark `name` before a forward, if a profiler listens; a forward pre-hook of PyTorch."""
    if emit.is_active():
        _threads.marks.append((name, emit.begin(name, crosses=False)))


def _end(name: str, _module: Module, _args: object, _result: object) -> None:
    # Called also where the forward, or a hook before ours, has raised.
    """End the mark `name` after a forward, if it is the last that was begun on the thread; a forward hook of PyTorch."""
    if emit.is_compiling():
        return
    marks = _threads.marks
    if marks and marks[-1][0] == name:
        emit.pop(marks.pop()[1])
