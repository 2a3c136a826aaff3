"""loader: a mark around every fetch from a data loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar, cast

from traceq.annotate import emit, names, to_run_log

_T = TypeVar("_T")


class MarkedLoader(Generic[_T]):
    """An iterable whose fetches are marked; in everything else it is the iterable that it wraps."""

    def __init__(self, wrapped: Iterable[_T], name: str) -> None:
        vars(self).update(_wrapped=wrapped, _label=name)

    def __iter__(self) -> Iterator[_T]:
        return _Fetches(self._wrapped, names.fetch(self._label))

    def __len__(self) -> int:
        return len(cast("Sized", self._wrapped))

    def __bool__(self) -> bool:
        return bool(self._wrapped)

    def __getattr__(self, attribute: str) -> Any:
        # Copies and unpickled ones are asked for attributes before they have any.
        if "_wrapped" not in vars(self):
            raise AttributeError(attribute)
        return getattr(self._wrapped, attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        setattr(self._wrapped, attribute, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return MarkedLoader, (self._wrapped, self._label)


class _Fetches(Iterator[_T]):
    """An iterator over one pass of an iterable, which marks each fetch."""

    def __init__(self, wrapped: Iterable[_T], name: str) -> None:
        self._wrapped = wrapped
        self._name = name
        self._items: Iterator[_T] | None = None

    def __next__(self) -> _T:
        mark, begun = emit.push(self._name), to_run_log.begin_fetch()
        try:
            # Within the mark: a loader starts its workers when it is asked for an iterator.
            if self._items is None:
                self._items = iter(self._wrapped)
            return next(self._items)
        finally:
            emit.pop(mark)
            to_run_log.end_fetch(begun)


def loader(iterable: Iterable[_T], name: str = "loader") -> MarkedLoader[_T]:
    """Mark every fetch from the data loader, or any iterable; the one that finds it exhausted, too.

    The first fetch of a pass includes the start of workers. len() and all attributes are those of what was passed in;
    marking a marked one again only renames it. TypeError where it cannot be iterated.
    """
    names.label_of(name, 'loader(batches, "train")')
    if isinstance(iterable, MarkedLoader):
        return MarkedLoader(iterable._wrapped, name)  # noqa: SLF001 - its own class
    if not (hasattr(iterable, "__iter__") or hasattr(iterable, "__getitem__")):
        raise TypeError(f"loader: {type(iterable).__name__} cannot be iterated; pass what the for loop runs over")
    return MarkedLoader(iterable, name)
