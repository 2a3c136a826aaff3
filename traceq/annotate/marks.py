"""step, phase and payload: the marks a training loop sets by hand."""

from __future__ import annotations

import inspect
import itertools
import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, SupportsIndex, TypeVar

from traceq.annotate import emit, names, to_run_log
from traceq.annotate.wrap import wrap

if TYPE_CHECKING:
    from typing import Self

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Code that can be left and entered again in the middle of a with block.
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_numbers = itertools.count()


class Region(ABC):
    """A mark, as a context manager or a decorator; may be used again, and within itself, by the same thread."""

    __slots__ = ("_open",)

    # Marks of uses that have not ended, the latest first: (mark, those before it).
    _open: tuple[emit.Mark, Any] | None

    @abstractmethod
    def begin(self, *, crosses: bool) -> emit.Mark:
        """Write the begin of the mark and return the mark for emit.pop(); `crosses` if it need not nest with others."""

    def __enter__(self) -> Self:
        if emit.is_active():
            crosses = bool(sys._getframe(1).f_code.co_flags & _SUSPENDS)  # noqa: SLF001 - the cheap way to the caller
            self._open = (self.begin(crosses=crosses), self._open)
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._open is not None:
            mark, self._open = self._open
            emit.pop(mark)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """Return the function with this mark around each call; of a generator, around each run of its body until it yields."""
        return wrap(function, self.begin)


class phase(Region):  # noqa: N801 - reads as the function that would only call it
    """A mark around a phase, by `with` or as a decorator of a function, a generator or a coroutine.

    Usual labels are forward, backward, optimizer, data, evaluate and checkpoint. TypeError where the label is no text.
    """

    __slots__ = ("_label",)

    def __init__(self, label: str) -> None:
        self._open = None
        self._label = label if isinstance(label, str) else names.label_of(label, 'phase("forward")')

    def begin(self, *, crosses: bool) -> emit.Mark:
        """Write the begin of the phase and return its mark for emit.pop()."""
        return emit.begin(names.phase(self._label), crosses=crosses)


class Step(Region):
    """One training iteration, as a mark with its number and payload."""

    __slots__ = ("_number", "_payload")

    def __init__(self, number: SupportsIndex | None, payload: str | None) -> None:
        self._open = None
        self._number = number
        self._payload = payload

    def begin(self, *, crosses: bool) -> emit.Mark:
        """Write the begin of the step, and its payload as an instant within it; return the mark for emit.pop()."""
        number = next(_numbers) if self._number is None else operator.index(self._number)
        mark = emit.begin(names.step(number), crosses=crosses)
        if self._payload is not None:
            emit.write_instant(self._payload)
        return emit.with_line(mark, to_run_log.begin_step(number, self._payload)) if to_run_log.writes_steps() else mark


def step(n: SupportsIndex | None = None, **payload: float) -> Step:
    """Mark a training iteration, by `with` or as a decorator; keywords are a payload about it.

    Without `n`, steps are counted from 0 in each process. TypeError where `n` is no whole number; else as payload().
    """
    if n is not None and not hasattr(n, "__index__"):
        raise TypeError(f"the number of a step is an int, not {type(n).__name__}: write step(12), or step() to count")
    # Also where nobody listens: a wrong payload shall not wait for the day of the profile.
    return Step(n, names.payload(payload) if payload and emit.is_wanted() else None)


def payload(**numbers: float) -> None:
    """Note numbers about the step in which this is called, such as samples=32, tokens=65536, micro_batch=0.

    Values are ints or floats, of Python or NumPy; those that are not finite are left out, with one warning. Anything else is
    a TypeError, also a tensor, because to read it would make the CPU wait for the GPU; a key that is not lower case is a
    ValueError.
    """
    if numbers and emit.is_wanted() and (name := names.payload(numbers)) is not None:
        emit.instant(name)
