"""Functions of all kinds with a mark around what they do."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from traceq.annotate import emit

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Begin(Protocol):
    """Function that writes the begin of a mark."""

    def __call__(self, *, crosses: bool) -> emit.Mark:
        """Begin a mark, and return it for emit.pop(); `crosses` if other code of the thread may run before it ends."""


def wrap(function: Callable[_P, _R], begin: Begin) -> Callable[_P, _R]:
    """Return the function with a mark around each call, begun by `begin`. Raises TypeError for what cannot be called.

    A coroutine's mark lasts until it returns, with what else runs meanwhile. A generator has a mark for every time it is
    resumed, until it yields: what its consumer does is not its own time.
    """
    if not callable(function):
        raise TypeError(f"a mark is set above a function, not {type(function).__name__}")
    for is_kind, wrapper in _WRAPPERS:
        if is_kind(function):
            return cast("Callable[_P, _R]", wrapper(function, begin))
    return _call(function, begin)


def _call(function: Callable[_P, _R], begin: Begin) -> Callable[_P, _R]:
    """Return the function with a mark around each call."""

    @wraps(function)
    def marked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        mark = begin(crosses=False) if emit.is_active() else None
        try:
            return function(*args, **kwargs)
        finally:
            emit.pop(mark)

    return marked


def _coroutine(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    """Return the coroutine function with a mark from the begin of each call until it returns."""

    @wraps(function)
    async def marked(*args: Any, **kwargs: Any) -> Any:
        mark = begin(crosses=True) if emit.is_active() else None
        try:
            return await function(*args, **kwargs)
        finally:
            emit.pop(mark)

    return marked


def _resume(resume: Callable[[Any], Any], value: Any) -> Any:
    """Return `resume(value)`: a call of send or throw of a generator, to be marked."""
    return resume(value)


def _generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    """Return the generator function with a mark for each run of its body until it yields or ends."""
    resumed = _call(_resume, begin)

    @wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        body = function(*args, **kwargs)
        resume, value = body.send, None
        while True:
            try:
                item = resumed(resume, value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield item
                resume = body.send
            except GeneratorExit:
                body.close()
                raise
            except BaseException as error:  # noqa: BLE001 - whatever the consumer throws in is the body's
                resume, value = body.throw, error

    return marked


def _async_generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    """Return the asynchronous generator function with a mark for each run of its body until it yields or ends."""
    resumed = _coroutine(_resume, begin)

    @wraps(function)
    async def marked(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        body = function(*args, **kwargs)
        resume, value = body.asend, None
        while True:
            try:
                item = await resumed(resume, value)
            except StopAsyncIteration:
                return
            try:
                value = yield item
                resume = body.asend
            except GeneratorExit:
                await body.aclose()
                raise
            except BaseException as error:  # noqa: BLE001 - whatever the consumer throws in is the body's
                resume, value = body.athrow, error

    return marked


_WRAPPERS = (
    (inspect.isasyncgenfunction, _async_generator),
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isgeneratorfunction, _generator),
)
