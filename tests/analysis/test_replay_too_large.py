"""A step that is too large to be replayed with the memory given is not, and a note says so."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.analysis.replay import lanes, replayed


def build_steps(*counts):
    """Build steps of 1,000 ns with that many kernels each."""
    trace = TraceBuilder()
    for number, count in enumerate(counts):
        start = 1000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        for place in range(count):
            trace.kernel("kernel", start + 100 + 100 * place, 50, launched=(start + 50 + 100 * place, 10))
    return trace


@pytest.mark.parametrize(("most", "expected"), [(5, "0\n1"), (4, "0"), (3, "0")])
def test_as_many_steps_are_replayed_as_there_is_memory_for(most, expected, monkeypatch):
    monkeypatch.setattr(replayed, "_most_slices", lambda _connection: most)
    trace = build_steps(3, 2, 2)
    trace.fill_all()
    assert trace.text("select step from replay_step order by step") == expected
    assert trace.rows("select text from import_note where code = 'not_replayed'") == []


def test_a_step_that_is_too_large_has_no_replay_and_a_note(monkeypatch):
    monkeypatch.setattr(replayed, "_most_slices", lambda _connection: 2)
    trace = build_steps(3, 2, 2)
    trace.fill_all()
    for table in ("replay", "replay_step", "critical_path", "dependency"):
        assert trace.rows(f"from {table}") == []
    assert trace.rows("select severity, count from import_note where code = 'not_replayed'") == [("info", 3)]


def test_pairs_of_threads_without_number_have_no_replay_and_a_note(monkeypatch):
    monkeypatch.setattr(lanes, "_MOST_PAIRS", 2)
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    for thread in (1, 2, 3):
        trace.kernel("kernel", 200 * thread, 50, launched=(10 * thread, 100), thread=thread)
    trace.fill_all()
    assert trace.rows("from replay") == []
    assert trace.rows("select severity, count from import_note where code = 'not_replayed'") == [("info", 3)]


@pytest.mark.parametrize(("limit", "most"), [("1GiB", 876_000), ("384MiB", 388_000)])
def test_the_memory_limit_says_how_many_slices_are_replayed(limit, most, tables):
    tables.execute(f"set memory_limit = '{limit}'")
    assert 0.9 * most < replayed._most_slices(tables) < 1.1 * most
