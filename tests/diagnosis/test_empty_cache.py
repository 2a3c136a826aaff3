"""Advice to drop empty_cache() where frames show who calls it."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.diagnosis.judge import judge


@pytest.mark.parametrize(
    ("frame", "said", "not_said"),
    [
        (None, "Remove torch.cuda.empty_cache()", "no frame"),
        ("torch/cuda/memory.py(193): empty_cache", "Remove torch.cuda.empty_cache()", "no frame"),
        ("train.py(12): step", "no frame calls empty_cache()", "Remove torch.cuda.empty_cache()"),
    ],
)
def test_only_what_a_frame_does_not_refute_is_said(tmp_path, frame, said, not_said):
    """The boldest line of a report was to remove empty_cache(), which no frame of its trace called (D7)."""
    trace = TraceBuilder()
    for number in range(4):
        start = 1_000_000 * (number + 1)
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        if frame:
            trace.cpu("python", frame, start + 5_000, 300_000)
        trace.call("cudaFree", start + 10_000, 100_000)
        trace.call("cudaMalloc", start + 110_000, 100_000)
        trace.op("aten::mm", start + 430_000, 20_000)
        trace.kernel("gemm", start + 450_000, 500_000, launched=(start + 440_000, 5_000))
    (judged,) = judge(trace.build(tmp_path)._connection)
    (found,) = (each for each in judged.findings if each.rule == "allocator-in-step")
    # the deed is what the verdict says
    for advice in (found.fix.replace("`", ""), found.deed.replace("`", "")):
        assert said in advice
        assert not_said not in advice
