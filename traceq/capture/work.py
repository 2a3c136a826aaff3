"""Measure how much work a step does: what the program marks with traceq.annotate, else the batches that it fetches."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

from traceq.annotate import emit
from traceq.capture.knobs.ablate_data import GIVES_FIRST

_PAYLOAD = "traceq.payload#"


class Work:
    """Sums over the steps since begin()."""

    def __init__(self) -> None:
        self._marked: dict[str, float] = {}
        self._fetched: list[int | None] = []
        self._counts = False

    def begin(self) -> None:
        """Count from now on."""
        self._marked, self._fetched, self._counts = {}, [], True

    def each(self, steps: int) -> dict[str, float]:
        """Return the work per step, by name: what is marked, else `samples` of the batches; empty if there is neither.

        Of batches of which one is not known, nothing is.
        """
        self._counts = False
        sizes = [size for size in self._fetched if size is not None]
        is_known = bool(sizes) and len(sizes) == len(self._fetched)
        found = self._marked or ({"samples": float(sum(sizes))} if is_known else {})
        return {name: total / steps for name, total in found.items()}

    def watch(self, torch: Any) -> None:
        """Listen to marks and fetches in this process."""
        # All marks come through here, as the recorder lets them be active.
        emit.write_instant = _call_first(emit.write_instant, self._mark)
        self._watch_fetches(torch)

    def _mark(self, name: str) -> None:
        if self._counts and name.startswith(_PAYLOAD):
            for pair in name.removeprefix(_PAYLOAD).split(","):
                key, _, value = pair.partition("=")
                self._marked[key] = self._marked.get(key, 0.0) + float(value)

    def _watch_fetches(self, _torch: Any) -> None:
        from torch.utils.data import dataloader

        batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - unlike DataLoader.__iter__ it leaves types alone
        made, asked = batches_class.__init__, batches_class._next_index  # noqa: SLF001
        reset, original = batches_class._reset, batches_class.__next__  # noqa: SLF001

        @functools.wraps(made)
        def __init__(batches: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
            batches.traceq_sizes = deque()
            # DataLoader lets nobody set an attribute of its own.
            batches.traceq_first = loader.__dict__.setdefault("traceq_first", [])
            made(batches, loader, *args, **kwargs)

        @functools.wraps(asked)
        def _next_index(batches: Any) -> Any:
            index = asked(batches)
            batches.traceq_sizes.append(_count_samples(batches, index))
            return index

        @functools.wraps(reset)
        def _reset(batches: Any, *args: Any, **kwargs: Any) -> None:
            # Persistent workers begin a new epoch so.
            batches.traceq_sizes.clear()
            reset(batches, *args, **kwargs)

        @functools.wraps(original)
        def __next__(batches: Any) -> Any:  # noqa: N807 - it becomes the method
            batch = original(batches)
            size = batches.traceq_sizes.popleft() if batches.traceq_sizes else None
            first = batches.traceq_first
            if not first:
                first.append(size)
            if self._counts:
                self._fetched.append(first[0] if getattr(batches, GIVES_FIRST, False) else size)
            return batch

        batches_class.__init__, batches_class._next_index = __init__, _next_index  # noqa: SLF001
        batches_class._reset, batches_class.__next__ = _reset, __next__  # noqa: SLF001


def _count_samples(batches: Any, index: Any) -> int | None:
    """Count the samples in the batch of these indices; None if that is not known.

    An iterable dataset is asked for a full batch, and may have less left.
    """
    if not batches._auto_collation:  # noqa: SLF001 - as the rest, what fetching goes by itself
        return None
    try:
        full = len(index)
        if index[0] is not None or batches._drop_last:  # noqa: SLF001
            return full
        left = len(batches._dataset) - batches._num_yielded * full  # noqa: SLF001
    except (TypeError, LookupError, AttributeError):
        return None
    return min(full, left) if left > 0 and not batches._num_workers else None  # noqa: SLF001


def _call_first(function: Any, see: Callable[[str], None]) -> Any:
    @functools.wraps(function)
    def seen(name: str) -> None:
        see(name)
        function(name)

    return seen
