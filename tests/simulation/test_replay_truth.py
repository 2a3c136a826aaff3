"""What the replay says a cause costs is what the simulator loses to it."""

from __future__ import annotations

from contextlib import closing
from functools import cache

import pytest
from simulator import CAUSES, SCENES, simulate, steps

from traceq.database.connect import connect

FORMATS = ("nsys", "kineto")
WORK = ("copy_h2d", "memset", "communication")

# Kineto does not see calls of the operating system, so that there is nothing to take away.
UNSEEN = {("idle_os", "kineto")}


@cache
def step_time(name, *without):
    return sum(one.dur for one in steps(simulate(SCENES[name](), without=without).of(0)))


@pytest.fixture
def replay(ingested):
    def of(name, trace_format):
        with closing(connect(ingested(name, trace_format))) as connection:
            rows = connection.execute("select scenario, saved, saved_low, saved_high, error from replay").fetchall()
        return {row[0]: row[1:] for row in rows}

    return of


@pytest.mark.sample(4)
@pytest.mark.parametrize("trace_format", FORMATS)
@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_alone(cause, trace_format, replay):
    if (cause, trace_format) in UNSEEN:
        pytest.skip("not in the trace")
    saved, low, high, _ = replay(cause, trace_format)[cause]
    won = step_time(cause) - step_time(cause, cause)
    # Latency beyond what a launch takes is what nothing explains: it may be the end of the copy before that is waited for.
    if saved is None or cause == "idle_launch_latency":
        assert low <= won * 1.01
        assert high >= won * 0.99
    else:
        # How late a call returns in one step is told from the others, and differs from step to step.
        rel = 0.05 if cause == "idle_sync" else 0.01
        assert saved == pytest.approx(won, rel=rel, abs=1000)


@pytest.mark.sample(8)
@pytest.mark.parametrize("trace_format", FORMATS)
@pytest.mark.parametrize("name", ["hidden_loader", "prefetched_copy", "long_collective", "pageable_copy", "idle_sync"])
def test_work_that_stands_in_the_way(name, trace_format, replay):
    rows = replay(name, trace_format)
    found = {work: rows[work][0] for work in WORK if work in rows and rows[work][0] is not None}
    expected = {work: step_time(name) - step_time(name, work) for work in found}
    assert found == pytest.approx(expected, rel=0.05, abs=5000)


@pytest.mark.parametrize("trace_format", FORMATS)
def test_a_hidden_loader_wins_nothing(trace_format, replay):
    assert replay("hidden_loader", trace_format).get("idle_data", (0,))[0] == 0


def test_a_loader_in_workers_wins_no_more_than_one_that_is_gone(replay):
    rows = replay("idle_data", "kineto")
    assert rows["data_in_workers"][0] <= rows["idle_data"][0]
