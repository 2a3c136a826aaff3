"""What a report says of a job."""

from __future__ import annotations

from dataclasses import replace

from traceq.reports.model import Job, JobRank, Straggler
from traceq.reports.renderers.to_text import text_of
from traceq.reports.sections.jobs import in_a_line, judged, ranks_of_job, verdict_of_job

MS = 1_000_000


def member(rank, own, wait, late):
    return JobRank(rank + 1, rank, "trace", None, 0, 0, own * MS, 20 * MS, wait * MS, late, own * MS // 2)


RANK_1 = Straggler(
    "rank", "rank 1", 2, 400 * MS, 300 * MS, 0.9, "idle_launch", 390 * MS, "aten::empty", 23 * MS, 13_000, 0
)
JOB = Job(
    job=0,
    time_window=0,
    windows=1,
    name="run7",
    world_size=4,
    ranks=2,
    hosts=1,
    absent=2,
    short_ranks=0,
    steps=10,
    matched_share=1.0,
    mismatched=0,
    clock_residual=20_000,
    claim_limit=60_000,
    replay_error=0.0,
    dur=1000 * MS,
    ideal=600 * MS,
    slowdown=1000 / 600,
    transfer=40 * MS,
    late_start=0,
    pattern="fixed",
    cannot_tell=None,
    members=(member(0, 100, 800, 0), member(1, 900, 0, 9)),
    stragglers=(RANK_1,),
)


def said(job):
    return text_of(verdict_of_job(job), 100)


def test_who_is_late_and_what_it_costs_per_step():
    assert said(JOB).splitlines() == [
        "Job run7: 2 of 4 ranks, 10 steps. Absent: 2, 3; waiting for them looks like slow transfers. Clocks",
        "agree within 20.00 µs; less than 60.00 µs is not called late.",
        "",
        "Late ranks: the others wait for rank 1",
        "  100.0 ms -> 60.00 ms per step if every rank were like the usual one, 1.67x as fast",
        "",
        "held up by     saves   share     alone  trace  because",
        "----------  --------  ------  --------  -----  -------------------------",
        "rank 1      40.00 ms  40.0 %  30.00 ms  t2     idle: launching +390.0 ms",
        "",
        "For example rank 1: aten::empty took 23.00 ms, the same call 13.00 µs on rank 0.",
    ]
    assert in_a_line(JOB) == (
        "Late ranks: 100.0 ms -> 60.00 ms per step with all ranks alike; the others wait most for rank 1."
    )


def test_several_are_named_in_a_sentence():
    others = [replace(RANK_1, name=f"rank {rank}") for rank in (2, 3)]
    assert "the others wait for rank 1 and rank 2\n" in said(replace(JOB, stragglers=(RANK_1, others[0])))
    assert "the others wait for rank 1, rank 2 and 1 other\n" in said(replace(JOB, stragglers=(RANK_1, *others)))
    wandering = said(replace(JOB, stragglers=(), pattern="wandering"))
    assert "Ranks are late in turn\n" in wandering
    assert "A different rank is late each time" in wandering


def test_a_job_that_cannot_be_judged_says_why():
    job = replace(JOB, cannot_tell="none of its communication could be matched between ranks", dur=None, stragglers=())
    assert said(job).splitlines()[-2:] == [
        "Cannot tell which rank is late.",
        "  None of its communication could be matched between ranks",
    ]
    assert "Late ranks" not in said(job)
    assert list(ranks_of_job(job)) == []
    assert in_a_line(job) == ""


def test_a_balanced_job_is_said_to_be():
    job = replace(JOB, ideal=990 * MS, slowdown=1000 / 990, stragglers=(), pattern="none")
    assert "No rank holds up the others: 100.0 ms per step, 99.00 ms with all ranks alike" in said(job)


def test_a_call_that_took_a_little_longer_proves_nothing():
    job = replace(JOB, stragglers=(replace(RANK_1, operator_dur=20_000),))
    assert "For example" not in said(job)


def test_a_late_start_is_told_and_not_counted():
    assert "20.00 ms pass before the first collective" in said(replace(JOB, late_start=200 * MS))


def test_each_rank_has_a_line():
    shown = text_of(ranks_of_job(JOB), 100)
    assert "0     10.00 ms  2.000 ms  80.00 ms        0     5.000 ms" in shown
    assert "1     90.00 ms  2.000 ms      0 ns        9     45.00 ms" in shown


def test_of_several_jobs_none_is_told_on_top():
    assert judged((JOB,)) is JOB
    assert judged((JOB, replace(JOB, time_window=1))).time_window == 1
    assert judged((JOB, replace(JOB, job=1))) is None
    assert judged((replace(JOB, ranks=1),)) is None
