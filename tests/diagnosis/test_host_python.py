"""Advice on time between operators on the CPU, with Python stacks and without."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.diagnosis.judge import judge


@pytest.mark.parametrize(
    ("frame", "title", "deed"),
    [
        (
            None,
            "Find out what runs between operators",
            "Record which lines take it: `traceq record --stacks -- PROGRAM`",
        ),
        ("model.py(12): forward", "Do less in Python between operators", "model = torch.compile(model)"),
    ],
)
def test_without_stacks_nobody_is_told_to_compile_what_may_be_a_log(tmp_path, frame, title, deed):
    """A log call of 30 ms in the loop became "torch.compile(model)" in a recording without Python stacks (D10)."""
    trace = TraceBuilder()
    for number in range(4):
        start = 100_000_000 * (number + 1)
        trace.annotation(f"ProfilerStep#{number}", start, 100_000_000)
        trace.op("aten::mm", start, 60_000_000)
        if frame:
            trace.cpu("python", frame, start + 61_000_000, 30_000_000)
        trace.op("aten::add", start + 92_000_000, 8_000_000)
    (judged,) = judge(trace.build(tmp_path)._connection)
    (found,) = (each for each in judged.findings if each.rule == "host-python")
    assert found.title.startswith(title)
    assert deed in found.deed
    assert ("torch.compile" in found.deed) == (frame is not None)
