"""Unusually long steps, compared with the step nearest to the median."""

from __future__ import annotations

from builder import TraceBuilder


def test_of_two_steps_as_near_to_the_median_the_first_is_typical():
    trace = TraceBuilder()
    ts = 0
    for number, dur in enumerate((100, 102, 104, 106, 500, 108)):
        trace.annotation(f"ProfilerStep#{number}", ts, dur)
        trace.kernel("gemm", ts + 10, 20, launched=(ts + 1, 5))
        ts += dur
    trace.fill("time_ledger", "step_stats")
    assert trace.text("select distinct step, dur, typical_step from outlier_step") == "4 500 2"
