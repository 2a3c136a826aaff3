"""Jobs with one thing wrong: who is named and why, and what is promised, against the simulator's own what-if."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from simulated_job import KINDS, break_job, build_job, fill_tables, judge_case, report_job

from traceq.analysis.job.job import fill_jobs
from traceq.diagnosis.job.judge import judge_job

RULES = {"host": "slow-host", "stage": "stage-imbalance", "lengths": "wandering-straggler"}


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
def test_rules_find_what_is_wrong_and_nothing_in_balanced_jobs(kind):
    made = break_job(kind, 64, seed=5)
    with closing(fill_tables(made.made)) as connection:
        found = [each for each in judge_job(connection, 0, 0).findings if each.rule != "waiting-not-network"]
        assert all(connection.execute(each.evidence.query).fetchall() for each in found)
    if kind == "balanced":
        assert found == []
        return
    assert {each.rule for each in found} == {RULES.get(kind, "job-straggler")}
    assert {rank for each in found for rank in each.ranks} == (made.units or set())


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_with_a_job_of_64_ranks_is_told(kind):
    said = judge_case(break_job(kind, 64, seed=5))
    assert (said.who, said.why, said.pattern) == (True, True, True), said.said


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "host"])
def test_what_is_wrong_with_a_job_of_8_ranks_is_told(kind):
    said = judge_case(break_job(kind, 8, seed=3))
    assert (said.who, said.why, said.pattern) == (True, True, True), said.said


@pytest.mark.slow
def test_promises_are_kept():
    cases = [break_job(kind, 16, seed=7) for kind in ("rank", "stage", "expert", "hiccups", "two", "pipeline")]
    assert np.median([abs(judge_case(case).error) for case in cases]) < 0.1


@pytest.mark.parametrize("layout", ["groups", "pipeline"])
def test_the_replay_lasts_as_long_as_the_simulated_job(layout):
    made = build_job(16, 6, layout, seed=1)
    said = report_job(made)
    assert said["replay_error"] < 0.001
    # counted from the first arrival at a collective on
    assert said["dur"] == pytest.approx(made.lasts(), abs=3e6)


@pytest.mark.parametrize(
    ("late", "pattern"),
    [({3: (1, 3)}, "fixed"), ({3: (1,), 12: (3,)}, "alternating")],
    ids=["one in two steps", "two in a step each"],
)
def test_in_few_steps_who_is_late_now_and_then_is_named_and_not_said_to_wander(late, pattern):
    made = build_job(16, 5, "groups", seed=1, noise=0.005)
    for rank, steps in late.items():
        made.work[rank, list(steps)] *= 4
    with closing(fill_tables(made)) as connection:
        assert connection.execute("select pattern from job").fetchone() == (pattern,)
        found = judge_job(connection, 0, 0).findings
    named = [(each.unit, each.confidence) for each in found if each.rule == "job-straggler"]
    assert sorted(named) == sorted((f"rank {rank}", "medium") for rank in late)


def test_an_excluded_step_between_counted_ones_is_one_of_the_job():
    made = build_job(16, 5, "groups", seed=1, noise=0.005)
    made.work[3] *= 1.5
    with closing(fill_tables(made)) as connection:
        before = connection.execute("select steps, dur from job").fetchone()
        connection.execute("update step set excluded = 'checkpoint' where step = 2")
        fill_jobs(connection)
        assert connection.execute("select steps, dur from job").fetchone() == before
        assert connection.execute("select late_steps from straggler").fetchone() == (1.0,)
        connection.execute("update step set excluded = 'checkpoint' where step = 0")
        fill_jobs(connection)
        assert connection.execute("select steps from job").fetchone() == (4,)
