"""How the analyses of a trace are run."""

from __future__ import annotations

import duckdb
from builder import TraceBuilder

from traceq.analyzers import analyses


def test_what_needs_too_much_memory_is_tried_again_from_its_beginning(tmp_path, monkeypatch):
    tried = []
    real_run = analyses.run

    def run(connection, names, trace_id):
        tried.append(names[0])
        real_run(connection, names, trace_id)
        if tried == ["device_activity"]:
            raise duckdb.OutOfMemoryException("too much")

    monkeypatch.setattr(analyses, "run", run)
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100)
    trace.kernel("gemm", 10, 20, launched=(2, 5))
    rows = trace.build(tmp_path).rows("select dur from time_ledger")
    assert tried[:2] == ["device_activity", "device_activity"]
    assert sum(dur for (dur,) in rows) == 100
