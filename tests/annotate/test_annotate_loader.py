from __future__ import annotations

import copy
import pickle

import pytest

from traceq import annotate

FETCH = ["push traceq.fetch#train", "pop traceq.fetch#train"]


def test_every_fetch_is_marked_and_the_last_one_too(tool):
    batches = annotate.loader([10, 20], "train")
    assert list(batches) == [10, 20]
    assert tool.calls == 3 * FETCH


def test_a_loader_can_be_used_for_every_epoch(tool):
    batches = annotate.loader(range(2))
    assert [list(batches), list(batches)] == [[0, 1], [0, 1]]
    assert tool.calls == 6 * ["push traceq.fetch#loader", "pop traceq.fetch#loader"]


def test_marks_of_the_loop_are_not_inside_of_fetches(tool):
    for number in annotate.loader(iter([5]), "train"):
        with annotate.step(number):
            pass
    assert tool.calls == [*FETCH, "push traceq.step#5", "pop traceq.step#5", *FETCH]


class Loader:
    """Has what data loaders have."""

    def __init__(self):
        self.epoch = 0
        self.started = []

    def __iter__(self):
        self.started.append(annotate.phase("workers start"))
        with self.started[-1]:
            return iter([1, 2])

    def __len__(self):
        return 2

    def set_epoch(self, epoch):
        self.epoch = epoch


def test_a_marked_loader_is_the_loader_in_everything_else():
    inner = Loader()
    batches = annotate.loader(inner)
    batches.set_epoch(3)
    batches.batch_size = 4
    assert (len(batches), batches.epoch, inner.epoch, inner.batch_size) == (2, 3, 3, 4)
    with pytest.raises(AttributeError, match="'Loader' object has no attribute 'absent'"):
        _ = batches.absent


def test_the_start_of_workers_is_part_of_the_first_fetch(tool):
    inner = Loader()
    first = iter(annotate.loader(inner, "train"))
    assert inner.started == []
    next(first)
    assert tool.calls == [FETCH[0], "push traceq.phase#workers start", "pop traceq.phase#workers start", FETCH[1]]


def test_an_iterable_without_a_length_has_none():
    batches = annotate.loader(iter([1]))
    assert bool(batches)
    assert not annotate.loader([])
    with pytest.raises(TypeError):
        len(batches)
    assert list(batches) == [1]


def test_errors_of_the_loader_are_the_loops(tool):
    def broken():
        yield 1
        raise OSError("disk")

    batches = iter(annotate.loader(broken(), "train"))
    assert next(batches) == 1
    with pytest.raises(OSError, match="disk"):
        next(batches)
    assert tool.calls == 2 * FETCH


def test_what_cannot_be_iterated_is_refused_at_once():
    with pytest.raises(TypeError, match="loader: int cannot be iterated"):
        annotate.loader(3)


def test_a_loader_marked_again_is_marked_once(tool):
    again = annotate.loader(annotate.loader([1], "first"), "train")
    assert list(again) == [1]
    assert tool.calls == 2 * FETCH


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])  # noqa: S301 - its own
def test_copies_are_marked(tool, twin):
    assert list(twin(annotate.loader([1], "train"))) == [1]
    assert tool.calls == 2 * FETCH


class Squares:
    """A data set that marks its items, in whatever process it is asked for them."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        with annotate.phase("item"):
            return index * index


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:.*is multi-threaded, use of fork:DeprecationWarning")
def test_workers_of_a_data_loader_may_mark(start, profiled):
    data = pytest.importorskip("torch.utils.data")
    inner = data.DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context=start)
    found = []
    ranges = profiled(lambda: found.extend(batch.tolist() for batch in annotate.loader(inner, "train")))
    assert found == [[0, 1], [4, 9]]
    assert [name for name, _, _ in ranges] == 3 * ["traceq.fetch#train"]


def test_a_data_loader_keeps_its_attributes():
    data = pytest.importorskip("torch.utils.data")
    sampler = data.distributed.DistributedSampler(Squares(), num_replicas=2, rank=0)
    batches = annotate.loader(data.DataLoader(Squares(), sampler=sampler))
    batches.sampler.set_epoch(5)
    assert (sampler.epoch, len(batches), len(batches.dataset)) == (5, 2, 4)
