"""Steps that a trimmed trace tells of itself: what makes no sense says nothing."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder

from traceq.analysis.steps.step import read_kept_steps


@pytest.mark.parametrize(
    "said", ["[" * 100_000, "{", "[]", "3", '{"steps": 1}', '{"steps": [{"name": "a", "ts": "x"}]}']
)
def test_what_makes_no_sense_is_nothing(said):
    trace = TraceBuilder()
    trace.kernel("k", 0, 10)
    trace.fill("steps")
    trace._connection.execute("update trace set args = ?", [json.dumps({"traceq": {"trim": said}})])
    assert read_kept_steps(trace._connection, 1) is None
