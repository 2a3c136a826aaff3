"""How much work a step does: what the program marks with traceq.annotate, else the batches that it fetches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from traceq.annotate import emit

_PAYLOAD = "traceq.payload#"


class Work:
    """Sums over the steps since begin()."""

    def __init__(self) -> None:
        self._marked: dict[str, float] = {}
        self._fetched = 0.0
        self._counts = False

    def begin(self) -> None:
        """Count from now on."""
        self._marked, self._fetched, self._counts = {}, 0.0, True

    def each(self, steps: int) -> dict[str, float]:
        """Per step, by name: what is marked, else `samples` of the batches; empty where there is neither."""
        self._counts = False
        found = self._marked or ({"samples": self._fetched} if self._fetched else {})
        return {name: total / steps for name, total in found.items()}

    def watch(self, torch: Any) -> None:
        """Listen to marks and fetches in this process."""
        self._watch_marks()
        self._watch_fetches(torch)

    def _watch_marks(self) -> None:
        # All of them come through here, as the recorder lets marks be active.
        emit.write_instant = _before(emit.write_instant, self._mark)

    def _mark(self, name: str) -> None:
        if self._counts and name.startswith(_PAYLOAD):
            for pair in name.removeprefix(_PAYLOAD).split(","):
                key, _, value = pair.partition("=")
                self._marked[key] = self._marked.get(key, 0.0) + float(value)

    def _watch_fetches(self, _torch: Any) -> None:
        from torch.utils.data import dataloader

        batches_class: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - unlike DataLoader.__iter__ it leaves types alone
        made, original = batches_class.__init__, batches_class.__next__

        @functools.wraps(made)
        def __init__(batches: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
            made(batches, loader, *args, **kwargs)
            batches.traceq_samples = samples_of(loader)

        @functools.wraps(original)
        def __next__(batches: Any) -> Any:  # noqa: N807 - it becomes the method
            batch = original(batches)
            if self._counts:
                self._fetched += batches.traceq_samples
            return batch

        batches_class.__init__, batches_class.__next__ = __init__, __next__


def samples_of(loader: Any) -> int:
    """Samples in a full batch of the loader, 0 where it does not say."""
    size = getattr(loader, "batch_size", None) or getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return size if isinstance(size, int) else 0


def _before(function: Any, see: Callable[[str], None]) -> Any:
    @functools.wraps(function)
    def seen(name: str) -> None:
        see(name)
        function(name)

    return seen
