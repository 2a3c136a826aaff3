"""The beat that stretches without a core keep is told where it was seen for many periods."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.diagnosis.judge import judge

MS = 1_000_000


def standing_still(starts):
    """A view takes 1.5 ms where it begins at one of `starts`, else 6 us."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, max(starts) + 10 * MS)
    at = 100_000
    for start in (*starts, max(starts) + 5 * MS):
        while at + 100_000 < start:
            trace.op("aten::view", at, 6_000)
            trace.kernel("gemm", at + 20_000, 5_000, launched=(at + 8_000, 6_000))
            at += 100_000
        trace.op("aten::view", start, 1_500_000)
        at = start + 1_500_000
        trace.kernel("gemm", at + 20_000, 5_000, launched=(at + 8_000, 6_000))
        at += 40_000
    return trace


@pytest.mark.parametrize(
    ("starts", "beat"),
    [
        ([5 * MS + 1_900_000 * number + 17_000 * number**2 for number in range(10)], ""),  # a fifth of 100 ms
        ([10 * MS * number for number in range(1, 13)], "at a beat of 10.00 ms"),
    ],
    ids=["close together", "twelve periods"],
)
def test_a_beat_needs_a_span_of_many_periods(tmp_path, starts, beat):
    (judged,) = judge(standing_still(starts).build(tmp_path)._connection)
    (fix,) = (each.fix for each in judged.findings if each.rule == "host-preempted")
    assert beat in fix if beat else "beat" not in fix, fix
