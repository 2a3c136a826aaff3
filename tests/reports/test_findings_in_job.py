"""What a finding of one rank wins for its job."""

from __future__ import annotations

import pytest
from handmade_traces import database, report, training
from msgspec.structs import replace

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.in_job import LEFT_TO_JOB, WHY_LEFT, JobBound, bound_by_job
from traceq.diagnosis.judge import judge, load_subjects
from traceq.diagnosis.rules.registry import all_rules

MS = 1_000_000


@pytest.fixture
def finding():
    return report(training()).traces[0].findings[0]


def owning(finding, saving, **categories):
    """The finding with another saving, ms, that owns so many ms of categories."""
    owned = {name: ms * MS for name, ms in categories.items()}
    return replace(
        finding,
        saving_ns=saving * MS,
        saving_low_ns=saving * MS / 2,
        saving_high_ns=saving * MS * 2,
        owned_ns=sum(owned.values()),
        owned_by_category=owned,
    )


# Rank 0 of the eight Megatron ranks: 224 ms of its own, 213 ms beyond the usual; alone it wins 153.8.
LATE = JobBound(153.8 * MS, 213 * MS, 50 * MS)
WAITS = JobBound(0, 0, 50 * MS)


@pytest.mark.parametrize(
    ("bound", "owned", "most"),
    [
        (LATE, {"idle_launch": 224, "communication": 163}, 153.8),
        # What all ranks do alike is won when all are fixed.
        (JobBound(45 * MS, 50 * MS, 0), {"compute": 300}, 250),
        (WAITS, {"compute": 60}, 60),
        # The waiting of others is not this rank's to win.
        (WAITS, {"idle_launch": 1, "communication": 400}, 1),
        # Of communication alone no more than its transfers.
        (WAITS, {"communication": 400}, 50),
        (WAITS, {"communication": 30}, 30),
    ],
)
def test_the_most_that_a_finding_wins(finding, bound, owned, most):
    assert bound.of(owning(finding, 411, **owned)) == pytest.approx(most * MS)


def job_database(*, stragglers):
    """Two ranks of a job of two steps: the first waits, the other one is late by 10 of 60 ms."""
    connection = database(training())
    connection.execute(
        "insert into job by name select 0 as job, 0 as time_window, 2 as ranks, 0 as short_ranks, 2 as steps,"
        " 0 as communication, 0 as mismatched, 0 as violations"
    )
    connection.execute(
        "insert into job_rank by name select 0 as job, 0 as time_window, 0 as unit, 1 as trace_id, 0 as device, 0 as rank,"
        " 'trace' as rank_source, 0 as clock_samples, 40000000 as transfer, 1000 as win, 6000000 as late"
    )
    if stragglers:
        connection.execute(
            "insert into straggler by name select 0 as job, 0 as time_window, 1 as place, 'rank' as kind, [0] as units,"
            " 'rank 0' as name, 1 as adds, 1 as win"
        )
    return connection


def test_the_numbers_are_per_step():
    query = statement("diagnosis/sql/job_bound.sql")
    with job_database(stragglers=True) as connection:
        assert ask(connection, query, trace_id=1, device=0) == [
            {"win": 500.0, "late": 3_000_000.0, "transfer": 20_000_000.0}
        ]
    with job_database(stragglers=False) as connection:
        assert ask(connection, query, trace_id=1, device=0) == []


def test_findings_get_smaller_and_say_why_or_are_left_out(finding):
    with job_database(stragglers=True) as connection:
        (subject,) = load_subjects(connection)
        step = subject.step_ns / MS
        large = owning(finding, step / 2, compute=step / 3)
        of_others = owning(finding, step / 2, communication=step, idle_launch=0.001)
        (bounded,) = bound_by_job(subject, [large, of_others])
    assert bounded.saving_ns == pytest.approx(step / 3 * MS - 3 * MS)
    assert bounded.saving_high_ns == bounded.saving_ns
    assert bounded.expected_step_ns == pytest.approx(subject.step_ns - bounded.saving_ns)
    assert "but it waits for others" in bounded.confidence_reason


RULES = [rule for rule in all_rules() if rule.name in LEFT_TO_JOB]


def test_what_the_job_tells_is_not_asked_of_its_ranks():
    with job_database(stragglers=False) as connection:
        connection.execute("update job set dur = 1000")
        (told,) = judge(connection, rules=RULES)
        assert {(each.rule, each.reason) for each in told.not_applicable} == {(rule, WHY_LEFT) for rule in LEFT_TO_JOB}
        assert told.findings == ()
        assert told.observations == ()


@pytest.mark.parametrize("why", ["ranks = 1, dur = 1000", "dur = null", "dur = 1000, cannot_tell = 'it is dark'"])
def test_of_a_job_that_cannot_be_judged_they_are_asked(why):
    with job_database(stragglers=False) as connection:
        connection.execute(f"update job set {why}")
        (told,) = judge(connection, rules=RULES)
        assert WHY_LEFT not in {each.reason for each in told.not_applicable}


def test_without_late_ranks_findings_stay_as_they_are(finding):
    with job_database(stragglers=False) as connection:
        (subject,) = load_subjects(connection)
        assert bound_by_job(subject, [finding]) == [finding]
