"""From when on steps say how fast the workers of a loader are: simulated ones, whose queue fills at first."""

from __future__ import annotations

import heapq
from queue import Queue

import pytest

from traceq.capture.prefetch import PrefetchWatch, _Queue


def simulate(workers, factor, load, compute, first=0.0, steps=400, *, is_visible=True):
    """The lengths of steps of a loader whose workers take `load` for a batch, and after how many of them counting begins.

    A step computes for `compute`, the first one for `first` more.
    """
    queue = _Queue(workers, factor)
    free = [0.0] * workers  # when each worker is done with its batches
    done, now, lengths, begins = [], 0.0, [], None

    def give(batch, at):
        worker = batch % workers
        free[worker] = max(free[worker], at) + load
        heapq.heappush(done, (batch, free[worker]))

    for batch in range(workers * factor):
        give(batch, 0.0)
    for step in range(steps):
        began = now
        queue.note_fetch(sum(at <= now for _, at in done) if is_visible else None)
        _, at = heapq.heappop(done)
        now = max(now, at)
        give(step + workers * factor, now)
        now += compute + (first if step == 0 else 0.0)
        lengths.append(now - began)
        if begins is None and queue.is_steady():
            begins = step + 1
    return lengths, begins


@pytest.mark.parametrize("first", [0.0, 50.0], ids=["at once", "compiles"])
@pytest.mark.parametrize(
    ("workers", "factor", "load", "compute"),
    [(2, 2, 20, 1), (2, 2, 4, 3), (4, 4, 20, 1), (4, 2, 4.8, 1), (8, 2, 10, 2), (1, 2, 3, 2), (2, 8, 3, 2)],
)
def test_counted_steps_are_as_long_as_those_of_a_long_training(workers, factor, load, compute, first):
    lengths, begins = simulate(workers, factor, load, compute, first)
    truth = max(compute, load / workers)
    cycles = -(-20 // workers) * workers
    counted = lengths[begins : begins + cycles]
    size = workers * factor
    assert size <= begins <= 12 * size + 1
    assert sum(counted) / len(counted) == pytest.approx(truth, rel=0.05)


def test_workers_that_are_hardly_too_slow_may_look_fast_enough():
    lengths, begins = simulate(4, 2, 4.4, 1, first=50)
    assert sum(lengths[begins : begins + 20]) / 20 == pytest.approx(1.1, rel=0.1)


def test_where_the_queue_cannot_be_seen_four_passes_are_waited_for():
    lengths, begins = simulate(2, 2, 20, 1, first=50, is_visible=False)
    assert begins == 4 * 4 + 1
    assert sum(lengths[begins : begins + 20]) / 20 == pytest.approx(10, rel=0.05)


def test_steps_that_begin_earlier_are_too_short():
    """With five steps before them, and a first one that takes long, they are served from the queue."""
    lengths, begins = simulate(8, 2, 10, 0.5, first=50)
    early, counted = lengths[5:13], lengths[begins : begins + 16]
    assert sum(early) / 8 < 0.5 * 10 / 8
    assert sum(counted) / 16 == pytest.approx(10 / 8, rel=0.05)


def test_the_queue_of_fast_workers_settles_before_the_last_moment():
    _, begins = simulate(2, 2, 4, 3)
    assert begins == 13


class Batches:
    """A stand-in for the iterator of a DataLoader with two workers that have made `ready` batches."""

    _num_workers, _prefetch_factor, _task_info = 2, 2, {}

    def __init__(self, dataset, ready):
        self._dataset = dataset
        self._worker_result_queue = self._data_queue = Queue()
        for _ in range(ready):
            self._data_queue.put(0)


def fetch(watch, batches, times):
    """Whether the watch is in the steady state after each of these fetches, a step each."""
    found = []
    for _ in range(times):
        watch._look_at_queue(batches)
        found.append(watch.end_step())
    return found


def test_steps_without_a_loader_are_steady():
    watch = PrefetchWatch()
    assert watch.end_step()
    assert watch.longest_cycle() == 1


def test_a_queue_that_is_empty_again_is_steady():
    watch, empty = PrefetchWatch(), Batches(object(), 0)
    assert fetch(watch, empty, 6) == [False] * 4 + [True] * 2
    assert watch.longest_cycle() == 2


def test_epochs_that_end_before_their_queue_settles_are_not_waited_for():
    watch, data = PrefetchWatch(), object()
    first, second = Batches(data, 3), Batches(data, 3)
    assert fetch(watch, first, 3) == [False] * 3
    assert fetch(watch, second, 3) == [True] * 3


def test_two_loaders_are_no_epochs_of_one():
    watch = PrefetchWatch()
    training, validation = Batches(object(), 3), Batches(object(), 3)
    assert fetch(watch, training, 3) == [False] * 3
    assert fetch(watch, validation, 3) == [False] * 3
