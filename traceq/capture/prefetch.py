"""Tell from when on the batches that a DataLoader's workers prefetched no longer make steps shorter than they are.

At its start, and while the first steps are slow, the workers of a loader fill a queue of num_workers x prefetch_factor
batches. Steps that take theirs from it do not wait, even where the workers are too slow for the training.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from traceq.capture.watch import replace_attribute

# Passes over a queue after which it is in its steady state where its length cannot be seen (macOS), and where it still shrinks.
_PASSES, _MOST_PASSES = 4, 12
# Fetches over which a queue that shrinks is seen to, at least: workers that are an eighth too slow.
_LOOK_BACK = 8


class PrefetchWatch:
    """The prefetch queues of the DataLoaders from which the program fetches."""

    def __init__(self) -> None:
        self._queues: weakref.WeakKeyDictionary[Any, _Queue] = weakref.WeakKeyDictionary()
        self._used: dict[int, _Queue] = {}
        self._latest: dict[int, _Queue] = {}
        self._has_short_epochs = False
        self._undo = ExitStack()

    def watch_fetches(self) -> Callable[[], None]:
        """Look at the queue before each fetch, from now on, in loaders with workers; return the function that ends that."""
        with suppress(Exception):  # a PyTorch that is different inside: then no queue is waited for
            from torch.utils.data import dataloader

            batches_class: Any = dataloader._MultiProcessingDataLoaderIter  # noqa: SLF001 - as for _BaseDataLoaderIter
            reset, fetch = batches_class._reset, batches_class._next_data  # noqa: SLF001

            @functools.wraps(reset)
            def reset_and_forget(batches: Any, *args: Any, **kwargs: Any) -> None:
                # Persistent workers begin a new epoch so.
                self._queues.pop(batches, None)
                reset(batches, *args, **kwargs)

            @functools.wraps(fetch)
            def look_and_fetch(batches: Any) -> Any:
                with suppress(Exception):  # as above
                    self._look_at_queue(batches)
                return fetch(batches)

            self._undo.callback(replace_attribute(batches_class, "_reset", reset_and_forget))
            self._undo.callback(replace_attribute(batches_class, "_next_data", look_and_fetch))
        return self.end_watch

    def end_watch(self) -> None:
        """End the watch."""
        self._undo.close()

    def _look_at_queue(self, batches: Any) -> None:
        queue = self._queues.get(batches)
        if queue is None:
            queue = self._queues[batches] = _Queue(batches._num_workers, batches._prefetch_factor)  # noqa: SLF001
            # Each epoch fills its queue anew: where it ends before that is settled, there is nothing to wait for.
            before = self._latest.get(id(batches._dataset))  # noqa: SLF001
            self._has_short_epochs |= before is not None and not before.is_steady()
            self._latest[id(batches._dataset)] = queue  # noqa: SLF001
        queue.note_fetch(_count_ready(batches))
        self._used[id(queue)] = queue

    def end_step(self) -> bool:
        """End a step; return whether all queues from which it took batches are in their steady state, or can be in none."""
        used, self._used = list(self._used.values()), {}
        return self._has_short_epochs or all(queue.is_steady() for queue in used)

    def longest_cycle(self) -> int:
        """Return after how many batches the loaders' pattern repeats: the most workers of any; 1 without.

        Workers that began together end together: of each such number of steps one waits, and the others do not.
        """
        return max((queue.workers for queue in self._queues.values()), default=1)


class _Queue:
    """A queue of batches that workers prefetch, by how many were ready at each fetch; None where that cannot be seen."""

    def __init__(self, workers: int, factor: int) -> None:
        self.workers = workers
        self._size = workers * factor
        self._ready: list[int | None] = []
        self._was_empty = False

    def note_fetch(self, ready: int | None) -> None:
        """Note a fetch that finds `ready` batches."""
        self._ready.append(ready)
        self._was_empty |= ready == 0 and len(self._ready) > self._size

    def is_steady(self) -> bool:
        """Return whether all batches of the start are gone, and the queue was empty since, or no longer shrinks.

        It is compared with itself whole passes earlier, so that workers that end together do not matter.
        """
        fetched = len(self._ready)
        if self._was_empty or fetched > _MOST_PASSES * self._size:
            return True
        back = self._size * -(-_LOOK_BACK // self._size)
        now, before = (self._ready[-1], self._ready[-1 - back]) if fetched > self._size + back else (None, None)
        if now is None or before is None:
            return self._ready[-1] is None and fetched > _PASSES * self._size
        return now >= before


def _count_ready(batches: Any) -> int | None:
    """Return how many batches of the loader's iterator are ready to be taken; None where the system does not say."""
    queues = {id(queue): queue for queue in (batches._worker_result_queue, batches._data_queue)}  # noqa: SLF001
    try:
        waiting = sum(queue.qsize() for queue in queues.values())
    except NotImplementedError:
        return None
    # Those that came before their turn have been taken from the queue.
    return int(waiting) + sum(len(task) > 1 for task in batches._task_info.values())  # noqa: SLF001
