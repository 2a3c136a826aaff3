"""What a replay says of damaged traces stays within the steps that it is about."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.analysis.replay.savings import ReplayAccuracy, estimate_saving


@pytest.mark.parametrize("last", [100, 10**12])
def test_the_path_of_the_last_step_ends_with_it_whatever_a_call_lasts(last):
    trace = TraceBuilder()
    for number in range(3):
        start = 1000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.kernel("kernel", start + 300, 50, launched=(start + 100, 10))
        trace.call("cudaStreamSynchronize", start + 400, last if number == 2 else 100)
    trace.fill_all()
    path = trace.rows("select step, sum(dur) from critical_path group by step order by step")
    assert path == trace.rows("select step, dur from replay_step order by step")


@pytest.mark.parametrize(("error", "high"), [(0.0, 306), (0.5, 956), (513_134.0, 1000)])
def test_no_more_is_saved_than_the_steps_last(error, high):
    told = ReplayAccuracy(span=1000.0, baseline=1000.0, error=error, unexplained=0.0, is_tied=True)
    assert round(estimate_saving(300.0, told).high) == high
