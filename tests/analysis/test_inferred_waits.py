"""Waits between streams that a trace does not record: of slices that nothing else held up and that start as others end."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from traceq.analysis.replay.graph import _infer_waits
from traceq.analysis.replay.waits import group_alike, previous_with_key

US = 1000


def infer(*rows):
    """Inferred waits of slices (stream, name, launch, start, end; us) in the order of launches: the index of the awaited one."""
    stream, name, launched, ts, ts_end = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    count = len(rows)
    no, none = np.zeros(count, dtype=bool), np.full(count, -1)
    work = SimpleNamespace(
        event=np.arange(count),
        stream=stream,
        pid=stream // 10,
        device=stream // 100,
        name=name,
        ts=ts * US,
        ts_end=ts_end * US,
        is_launched=~no,
        is_migration=no,
    )
    recorded = SimpleNamespace(work=work, events=SimpleNamespace(ts=launched * US))
    return _infer_waits(recorded, np.zeros(count), previous_with_key(stream), none, none).tolist()


LONG = (0, 1, 0, 10, 1000)


@pytest.mark.parametrize(
    ("rows", "awaited"),
    [
        # launched at 20, it starts when the other stream is done
        ([LONG, (1, 2, 20, 1005, 1100)], [-1, 0]),
        # too long after
        ([LONG, (1, 2, 20, 1100, 1200)], [-1, -1]),
        # at once after its launch
        ([LONG, (1, 2, 990, 1005, 1100)], [-1, -1]),
        # another process
        ([LONG, (11, 2, 20, 1100, 1200)], [-1, -1]),
        # held up by the slice before it on its stream
        ([LONG, (1, 3, 5, 20, 1000), (1, 2, 20, 1005, 1100)], [-1, -1, -1]),
        # of the same name, and not held up: it waits too, for what had ended by then
        ([LONG, (1, 2, 20, 1005, 1100), (0, 1, 1200, 1210, 1300), (1, 2, 1310, 1320, 1400)], [-1, 0, -1, 2]),
        # of two streams the one that ended last
        ([LONG, (2, 1, 5, 20, 1002), (1, 2, 20, 1005, 1100)], [-1, -1, 1]),
    ],
)
def test_what_a_slice_waits_for(rows, awaited):
    assert infer(*rows) == awaited


def test_many_streams_that_wait_for_each_other():
    """Each on a stream of its own, all launched long before: each waits for the one before it."""
    rows = [(number, 1, number, 300 + 100 * number, 395 + 100 * number) for number in range(10)]
    assert infer(*rows) == [-1, *range(9)]


def test_elements_by_key():
    assert [part.tolist() for part in group_alike(np.array([7, 3, 7, 3, 9]))] == [[1, 3], [0, 2], [4]]
    assert group_alike(np.array([], dtype=np.int64)) == []
