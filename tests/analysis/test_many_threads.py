"""Traces whose calls come from many threads: they are read some at a time, and it is the same however many at a time."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.analysis.replay import path_table, replay_host

PATH = "select ts, dur, kind, cause, thread_id, name from critical_path order by segment"


def build_turns(threads):
    """Build three steps in which `threads` threads take turns in launching kernels that the host waits for."""
    trace = TraceBuilder()
    for step in range(3):
        start = 20_000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 20_000)
        for turn in range(20):
            ts = start + 1000 * turn
            trace.op("aten::mm", ts, 300, thread=1 + turn % threads)
            trace.kernel("kernel", ts + 320, 500, launched=(ts + 50, 100), thread=1 + turn % threads)
    return trace


@pytest.fixture(scope="module")
def expected():
    trace = build_turns(7)
    trace.fill_all()
    path = trace.rows(PATH)
    assert len({row[4] for row in path if row[4] is not None}) == 8
    return path


@pytest.mark.parametrize("at_once", [1, 2, 5, 50])
def test_paths_do_not_depend_on_how_many_rows_are_read_at_once(at_once, expected, monkeypatch):
    monkeypatch.setattr(path_table, "_SEGMENTS_AT_ONCE", at_once)
    monkeypatch.setattr(replay_host, "_ROWS_AT_ONCE", at_once)
    trace = build_turns(7)
    trace.fill_all()
    assert trace.rows(PATH) == expected
