"""Jobs of several ranks against each other: the step of all, and whose change moved it, against the simulator's what-if."""

from __future__ import annotations

import json

import pytest
from job_runs import runs_of_job
from msgspec.structs import replace
from simulated_job import build_job

from traceq.app.compare import ComparisonView
from traceq.reports.redact import redact_comparison
from traceq.runs.compare.compare import compare
from traceq.runs.compare.jobs import compare_jobs, jobs_of

pytestmark = pytest.mark.usefixtures("fewer_draws")

RANKS, STEPS = 16, 20


def made(change=None, seed=1):
    found = build_job(RANKS, STEPS, "groups", seed)
    if change is not None:
        change(found)
    return found


@pytest.fixture(scope="module")
def plain():
    return runs_of_job(made())


def slower(rank, factor=1.3):
    """Work of one rank takes longer."""

    def change(found):
        found.work[rank] *= factor

    return change


def late_host(found):
    """The host of ranks 8 to 15 launches later."""
    found.launch[8:16] += 4e5


def longer(found):
    """All ranks have more to do."""
    found.work *= 1.2


@pytest.fixture(scope="module")
def slow_rank():
    return runs_of_job(made(slower(5), seed=2), "new")


def test_steps_of_a_job_add_up_to_what_it_lasts(plain):
    steps = plain[0].job.steps
    assert len(steps) == STEPS
    # Clocks of ranks are off by up to 1 ms; they were aligned.
    assert sum(step.dur for step in steps) == pytest.approx(made().lasts(), abs=50_000)


def test_own_time_transfer_and_waiting_of_every_rank_are_a_step(plain):
    for rank in plain[0].job.ranks:
        lasts = sum(step.dur for step in plain[0].job.steps) / STEPS
        # but for what comes before the first collective of all
        assert rank.own_ns + rank.transfer_ns + rank.wait_ns == pytest.approx(lasts, rel=0.03)


def test_a_slower_rank_moved_the_step(plain, slow_rank):
    found = compare_jobs(plain, slow_rank)
    true = (made(slower(5), seed=2).lasts() - made().lasts()) / STEPS
    assert found.verdict == "regression"
    assert found.change.interval_ns[0] < true < found.change.interval_ns[1]
    (unit,) = found.job.moved
    assert (unit.kind, unit.ranks, unit.is_sure) == ("rank", (5,), True)
    # three pieces of work of 2 ms
    assert unit.own_delta_ns == pytest.approx(0.3 * 6e6, rel=0.05)
    assert unit.cost_delta_ns == pytest.approx(true, rel=0.1)
    assert [each.name for each in found.job.stragglers_new] == ["rank 5"]
    assert found.job.new.slowdown > 1.15 > found.job.base.slowdown
    assert found.job.shown == 5
    assert {run.rank for side in (found.of_rank.base, found.of_rank.new) for run in side.runs} == {5}


def test_swapped_sides_say_that_it_no_longer_holds_the_job_up(plain, slow_rank):
    found = compare_jobs(slow_rank, plain)
    assert found.verdict == "improvement"
    assert [unit.name for unit in found.job.moved] == ["rank 5"]
    assert ([each.name for each in found.job.stragglers_gone], found.job.stragglers_new) == (["rank 5"], ())


def test_a_late_host_is_one_unit_and_its_ranks_are_not_listed_on_their_own(plain):
    found = compare_jobs(plain, runs_of_job(made(late_host, seed=2), "new"))
    assert found.verdict == "regression"
    assert [(unit.kind, unit.ranks) for unit in found.job.moved] == [("host", tuple(range(8, 16)))]


def test_where_all_ranks_have_more_to_do_none_moved_the_step(plain):
    found = compare_jobs(plain, runs_of_job(made(longer, seed=2), "new"))
    assert (found.verdict, found.job.moved) == ("regression", ())
    assert found.job.usual_delta_ns == pytest.approx(0.2 * 6e6, rel=0.05)
    assert "No rank contributed more than the others: own time of the typical rank +1.1" in (
        ComparisonView(found).to_text().replace("\n", " ")
    )


def test_the_same_job_again_has_not_changed(plain):
    found = compare_jobs(plain, runs_of_job(made(seed=2), "new"))
    assert (found.verdict, found.job.moved, found.job.stragglers_new) == ("no change", (), ())


def test_ranks_of_one_side_are_said_and_are_no_change(plain, slow_rank):
    def without(rank, runs):
        left = [
            replace(run, job=replace(run.job, ranks=tuple(r for r in run.job.ranks if r.rank != rank))) for run in runs
        ]
        return [run for run in left if run.rank != rank]

    found = compare_jobs(plain, without(5, slow_rank))
    assert found.job.only_base == (5,)
    assert not any(5 in unit.ranks for unit in found.job.units)
    assert not any(5 in each.ranks for each in found.job.stragglers_new)
    assert "only the base has rank 5: they are not compared, and do not count as a change of the new" in found.remarks


def test_who_moved_a_job_that_was_not_judged_is_not_said(plain, slow_rank):
    unjudged = {"slowdown": None, "ideal": None, "dur": None, "cannot_tell": "too little is matched", "stragglers": ()}
    blind = [replace(run, job=replace(run.job, **unjudged)) for run in slow_rank]
    found = compare_jobs(plain, blind)
    assert (found.verdict, found.job.moved) == ("regression", ())
    assert {unit.cost_delta_ns for unit in found.job.units} == {None}
    assert "new: cannot tell who is late: too little is matched" in found.remarks


def test_what_stands_against_comparing_ranks_stands_against_their_jobs(plain, slow_rank):
    other = [replace(run, device_name="NVIDIA A100") for run in slow_rank]
    found = compare_jobs(plain, other)
    assert (found.verdict, found.obstacles) == ("cannot tell", ("another GPU: NVIDIA H100 against NVIDIA A100",))
    assert compare_jobs(plain, other, anyway=True).verdict == "regression"


def test_single_steps_show_whose_change_it_was_and_not_how_sure_that_is():
    sides = []
    for number, change in enumerate((None, slower(5, 1.5))):
        found = build_job(8, 1, "groups", number, noise=0.001)
        if change:
            change(found)
        sides.append(runs_of_job(found, f"side{number}"))
    found = compare_jobs(*sides)
    assert (found.verdict, [unit.name for unit in found.job.moved]) == ("cannot tell", ["rank 5"])
    assert found.job.moved[0].interval_ns is None
    assert "By measurement, these moved the step, though it may be chance: rank 5" in (
        ComparisonView(found).to_text().replace("\n", " ")
    )


def test_several_jobs_a_side_are_pooled(plain, slow_rank):
    bases = [*plain, *runs_of_job(made(seed=3), "base2")]
    found = compare_jobs(bases, [*slow_rank, *runs_of_job(made(slower(5), seed=4), "new2")])
    assert (len(found.base.runs), found.base.counted, found.job.base.jobs) == (2, 2 * STEPS, 2)
    assert [unit.name for unit in found.job.moved] == ["rank 5"]


def test_a_single_rank_is_no_job(plain):
    alone = [replace(plain[0], job=None)]
    assert jobs_of(alone) == {}
    assert jobs_of([*alone, *plain]) == {}
    assert list(jobs_of(plain)) == [plain[0].job.sha256]
    assert compare(alone, alone).job is None


def test_text_json_and_ticket_agree_on_who_moved_the_step(plain, slow_rank):
    found = compare_jobs(plain, slow_rank)
    text = ComparisonView(found).to_text().replace("\n", " ")
    assert "longer, 7.679 ms before and" in text
    assert "over 16 ranks" in text
    assert "The change comes from rank 5 (it costs the job" in text
    assert "Rank 5, whose change moved the step" in text
    content = json.loads(ComparisonView(found).to_json())
    assert [each["name"] for each in content["job"]["units"] if each["moved"]] == ["rank 5"]
    assert content["of_rank"]["base"]["runs"][0]["rank"] == 5
    assert content["delta_ns"] == found.change.delta_ns
    ticket = ComparisonView(redact_comparison(found), is_ticket=True).to_markdown()
    assert "- `rank 5` (it costs the job" in ticket
    assert len(ticket.encode()) < 10_000


def test_a_ticket_names_no_host(plain):
    named = runs_of_job(made(late_host, seed=2), "new")
    rename = {"h0": "secretnode0", "h1": "secretnode1"}

    def renamed(runs):
        return [
            replace(run, job=replace(run.job, ranks=tuple(replace(r, host=rename[r.host]) for r in run.job.ranks)))
            for run in runs
        ]

    found = compare_jobs(renamed(plain), renamed(named))
    assert [unit.name for unit in found.job.moved] == ["host secretnode1"]
    ticket = ComparisonView(redact_comparison(found), is_ticket=True).to_markdown()
    assert "secretnode" not in ticket
    assert "`host name-" in ticket
