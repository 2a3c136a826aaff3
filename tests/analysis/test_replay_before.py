"""What a replay says does not depend on when the trace begins, nor on when the work before it was launched."""

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


@pytest.mark.parametrize("start", [-1_234_567_890_123, 1_623_212_388_426_602_317])
def test_the_origin_of_the_clock_changes_nothing(start):
    def make_replay(start):
        trace = TraceBuilder()
        for number in range(8):
            at = start + 1_000_003 * number
            trace.annotation(f"ProfilerStep#{number}", at, 1_000_003)
            trace.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 11, 200_017)
            for part in range(3):
                launched = at + 300_000 + 7_001 * part + 13 * number
                trace.kernel("kernel", launched + 9_007 + 101 * part, 5_003, launched=(launched, 4_999))
            trace.call("cudaStreamSynchronize", at + 500_000, 40_000)
        return trace.fill_all()

    here, there = make_replay(0), make_replay(start)
    for query in (
        "select * exclude (trace_id) from replay order by all",
        "select * exclude (trace_id) from replay_step order by all",
        "select kind, source_id, target_id, lag, usual, unexplained from dependency order by all",
    ):
        assert there.rows(query) == here.rows(query)
