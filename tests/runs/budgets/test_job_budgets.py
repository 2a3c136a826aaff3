"""Budgets of jobs, and the regression test on a job's step; the jobs are simulated."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from check_runs import measured
from job_runs import runs_of_job
from msgspec.structs import replace
from simulated_job import build_job

from traceq.app.check import CheckView, with_cause
from traceq.errors import UnusableBudget
from traceq.runs.budgets.budget import Budget, Check, Limit
from traceq.runs.budgets.judge import evaluate
from traceq.runs.budgets.read import read
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.jobs import compare_jobs


def late_job(factor):
    made = build_job(8, 20, "groups", 1)
    made.work[3] *= factor
    return runs_of_job(made)[:1]


@pytest.fixture(scope="module")
def slow():
    return late_job(1.5)


@pytest.fixture(scope="module")
def even():
    return late_job(1)


def outcome(name, limit, runs):
    limits = () if limit is None else (Limit("at most", Fraction(str(limit[0])), limit[1]),)
    (judged,) = evaluate([Budget("job", name, limits)], measured(*runs))
    return judged


def test_slowdown(slow, even):
    measured_ = slow[0].job.slowdown
    assert measured_ > 1.3
    failed = outcome("slowdown", (1.2, "x"), slow)
    assert (failed.state, float(failed.measured)) == ("fail", pytest.approx(measured_))
    assert failed.reason.startswith("rank 3 (")
    assert outcome("slowdown", (2, "x"), slow).state == "pass"
    assert outcome("slowdown", (1.2, "x"), even).state == "pass"


def test_stragglers(slow, even):
    assert (outcome("straggler", None, slow).state, outcome("straggler", None, even).state) == ("fail", "pass")
    share = slow[0].job.stragglers[0].adds_ns * slow[0].job.steps_told / slow[0].job.dur
    assert float(outcome("straggler", (0.01, "share"), slow).measured) == pytest.approx(share)
    assert outcome("straggler", (round(share + 0.01, 3), "share"), slow).state == "pass"
    assert outcome("straggler", (1_000_000, "ns"), slow).state == "fail"
    assert outcome("straggler", (1_000_000, "ns"), even).state == "pass"


def test_the_step_of_the_job(slow):
    steps = sorted(step.dur for step in slow[0].job.steps)
    typical = Fraction(sum(steps[5:15]), 10)
    assert outcome("step", (typical, "ns"), slow).state == "pass"
    assert outcome("step", (typical - 1, "ns"), slow).state == "fail"


def test_of_several_jobs_the_worst_counts(slow, even):
    assert outcome("slowdown", (1.2, "x"), [*even, *slow]).state == "fail"


def test_what_cannot_be_told_is_no_pass(slow):
    blind = [replace(slow[0], job=replace(slow[0].job, slowdown=None, cannot_tell="too little is matched"))]
    for name in ("slowdown", "straggler"):
        assert outcome(name, (2, "x"), blind).state == "cannot judge"
        assert "too little is matched" in outcome(name, (2, "x"), blind).reason
    alone = [replace(slow[0], job=None)]
    for name in ("slowdown", "straggler", "step"):
        judged = outcome(name, (10**12, "ns"), alone)
        assert (judged.state, judged.reason[:36]) == ("cannot judge", "these are not several ranks of one j")
    window = [replace(slow[0], step_source="window")]
    assert outcome("step", (10**12, "ns"), window).state == "cannot judge"


def test_a_regression_of_the_job_says_which_rank_moved_it(slow, even):
    found = compare_jobs(even, slow)
    judged = with_cause(judge_regression(Budget("compare", "main", ()), found), found)
    assert judged.state == "fail"
    assert ". The change comes from rank 3 (it costs the job " in judged.reason
    check = Check(None, tuple(slow), (judged,), baseline="main", comparison=found)
    text = CheckView(check).to_text().replace("\n", " ")
    assert "slowdown by late ranks" in text
    content = json.loads(CheckView(check).to_json())
    assert [each["name"] for each in content["comparison"]["job"]["units"] if each["moved"]] == ["rank 3"]
    assert "8 of 8, 1 host before, 8 of 8, 1 host now" in text


@pytest.fixture
def budgets(tmp_path):
    def write(text):
        path = tmp_path / "traceq.toml"
        path.write_text(text)
        return read(path).budgets

    return write


def test_they_are_read_from_a_file(budgets):
    found = budgets('[job]\nslowdown = 1.2\nstraggler = "3 %"\nstep = "120 ms"\n')
    assert [
        (each.name, *((limit.bound, float(limit.amount), limit.unit) for limit in each.limits)) for each in found
    ] == [
        ("slowdown", ("at most", 1.2, "x")),
        ("straggler", ("at most", 0.03, "share")),
        ("step", ("at most", 120_000_000.0, "ns")),
    ]
    assert budgets('[job]\nstraggler = "absent"\nslowdown = "1.5x"\n')[0].limits == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slowdown = 0.9", "0.9 is below 1"),
        ('slowdown = "fast"', "'fast' is not a factor"),
        ("slow = 2", "unknown key; "),
        ('step = ">= 3 ms"', "can have a maximum but no minimum"),
        ("straggler = 3", "is not a limit here"),
    ],
)
def test_what_is_no_budget_of_a_job_is_refused(budgets, text, said):
    with pytest.raises(UnusableBudget, match="line 2: \\[job\\]") as raised:
        budgets(f"[job]\n{text}\n")
    assert said in str(raised.value)
