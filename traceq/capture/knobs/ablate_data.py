"""The program without its input: DataLoaders give their first batch again and again."""

from __future__ import annotations

import copy
import functools
import weakref
from typing import Any

from traceq.capture.knobs.knob import Hooks

WHAT = "input: each DataLoader gives its first batch again"

# An attribute of what iterates over a DataLoader: it has given the loader's first batch again.
GIVES_FIRST = "traceq_gives_first"


def apply(torch: Any, hooks: Hooks) -> None:
    """Load the first batch of each DataLoader, and no other. An epoch keeps its length where the loader knows it."""
    from torch.utils.data import dataloader

    hooks.reasons["data"] = "the program fetched no batch from a DataLoader"
    batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - unlike DataLoader.__iter__ it leaves types alone
    made, reset, original = batches_class.__init__, batches_class._reset, batches_class.__next__  # noqa: SLF001 - as above
    loaders: weakref.WeakKeyDictionary[Any, _Batch] = weakref.WeakKeyDictionary()

    @functools.wraps(made)
    def __init__(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
        made(self, loader, *args, **kwargs)
        self.traceq_loader, self.traceq_left = loader, _count_batches(loader)

    @functools.wraps(reset)
    def _reset(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        # Persistent workers begin a new epoch so.
        reset(self, loader, *args, **kwargs)
        self.traceq_left = _count_batches(loader)

    @functools.wraps(original)
    def __next__(self: Any) -> Any:  # noqa: N807 - it becomes the method
        if self.traceq_left is not None:
            if self.traceq_left <= 0:
                raise StopIteration
            self.traceq_left -= 1
        first = loaders.get(self.traceq_loader)
        if first is None:
            first = loaders[self.traceq_loader] = _Batch(torch, original(self))
        else:
            hooks.acted.add("data")
            setattr(self, GIVES_FIRST, True)
        return first.again()

    batches_class.__init__, batches_class._reset, batches_class.__next__ = __init__, _reset, __next__  # noqa: SLF001 - as above


def _count_batches(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None


class _Batch:
    """A batch to give again: the same tensors, and copies from when the program was seen to write into them."""

    def __init__(self, torch: Any, batch: Any) -> None:
        self._torch = torch
        self._kept = copy.deepcopy(batch)
        self._given = batch
        self._versions = self._written()
        self._is_written = False

    def again(self) -> Any:
        """Return the batch in new containers, so that a program may take things out of it."""
        self._is_written = self._is_written or self._written() != self._versions
        return copy.deepcopy(self._kept) if self._is_written else _rebuild_batch(self._torch, self._given)

    def _written(self) -> list[int]:
        from torch.utils import _pytree

        leaves = _pytree.tree_leaves(_open_batch(self._given))
        return [leaf._version for leaf in leaves if isinstance(leaf, self._torch.Tensor)]  # noqa: SLF001 - what autograd asks, too


def _open_batch(batch: Any) -> Any:
    """Return the content of a batch of a class of its own (BatchEncoding)."""
    return dict(batch) if hasattr(batch, "keys") and hasattr(batch, "__getitem__") else batch


def _rebuild_batch(torch: Any, batch: Any) -> Any:
    from torch.utils import _pytree

    return _pytree.tree_map(lambda each: each if isinstance(each, torch.Tensor) else copy.copy(each), batch)
