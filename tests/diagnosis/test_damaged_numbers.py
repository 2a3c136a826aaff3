"""Numbers of damaged traces that lie within 64 bits, but whose sums or differences mean nothing."""

from __future__ import annotations

from builder import TraceBuilder

from traceq.database.sql import run
from traceq.diagnosis.judge import judge


def test_numbers_of_calls_may_lie_as_far_apart_as_64_bits_allow(tmp_path):
    trace = TraceBuilder()
    # the first two 64 bits apart, the others enough of them to tell a sample
    for number, correlation in enumerate((-(1 << 63), *((1 << 63) - 1 - (place << 20) for place in range(12)))):
        trace.call("cudaLaunchKernel", 100 * number, 5, correlation)
        trace.kernel("k", 100 * number + 10, 50, correlation_id=correlation)
    connection = trace.build(tmp_path)._connection
    observations = {each.rule for each in judge(connection)[0].observations}
    assert "sampled-capture" in observations


def test_what_outlasts_its_fetch_is_no_more_than_the_fetch(tmp_path):
    trace = TraceBuilder()
    for number in range(3):
        start = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, 400_000)
        trace.op("aten::stack", start + 100_000, 200_000 if number else 10**12, thread=0)
        trace.kernel("k", start + 420_000, 300_000, launched=(start + 405_000, 5_000))
    traces = trace.build(tmp_path)
    rows = run(traces._connection, "diagnosis/rules/shared/input_work.sql", trace_id=1).fetchall()
    assert rows == [("aten::stack", 700_000.0)]
