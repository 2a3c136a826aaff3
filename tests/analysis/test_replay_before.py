"""What was launched before the steps begin is no host work of theirs."""

from __future__ import annotations

import pytest
from builder import TraceBuilder


@pytest.mark.parametrize("launched", [-60, -10_000, -1_234_567_891])
def test_workers_win_the_same_whenever_the_work_before_was_launched(launched):
    trace = TraceBuilder()
    trace.kernel("kernel", 100, 50, launched=(launched, 10))
    trace.kernel("kernel", 200, 50, launched=(-50, 10))
    for number in range(8):
        start = 1000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 10, 500)
        trace.kernel("kernel", start + 620, 50, launched=(start + 600, 10))
        trace.call("cudaStreamSynchronize", start + 700, 50)
    trace.fill_all()
    query = "select saved_low, saved, saved_high from replay where scenario = 'data_in_workers'"
    assert trace.rows(query) == [(3271, 3619, 3978)]
