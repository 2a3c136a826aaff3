"""What a report says of a job."""

from __future__ import annotations

import json
import re

import handmade_traces
import pytest
from handmade_traces import training
from msgspec.structs import replace

from traceq.common.ranks import list_ranks
from traceq.diagnosis.finding import Evidence, Failed, NotApplicable
from traceq.diagnosis.job.finding import JobFinding
from traceq.reports.mcp.report import answer_finding
from traceq.reports.model import Job, JobAxis, JobCollective, JobPathPart, JobRank, Lateness, Note, Report, Straggler
from traceq.reports.redact import redact_report
from traceq.reports.renderers.to_json import to_json
from traceq.reports.renderers.to_llm import LIMIT, to_llm
from traceq.reports.renderers.to_text import blocks_to_text, to_text
from traceq.reports.sections.brief import describe_job, first_screen
from traceq.reports.sections.compose import compose_finding, compose_report
from traceq.reports.sections.job_findings import list_job_findings, name_unit
from traceq.reports.sections.job_path import list_path_of_job
from traceq.reports.sections.job_ranks import list_collectives_of_job, list_ranks_of_job
from traceq.reports.sections.job_ruled_out import list_ruled_out
from traceq.reports.sections.jobs import (
    describe_rank_in_job,
    find_job,
    list_present_ranks,
    show_example,
    split_path_of_job,
    summarize_job,
    write_verdict_of_job,
)
from traceq.reports.ticket import SITES, Ticket, render_ticket

MS = 1_000_000


def member(rank, own, wait, late_count, *, win=0, stage=0, recorded=1000, compute=80, holds_up=0):
    """A rank of a job of 10 steps; times in ms of all of them."""
    return JobRank(
        trace_id=rank + 1,
        device=0,
        rank=rank,
        rank_source="trace",
        host=None,
        stage=stage,
        clock_offset_ns=0,
        own_ns=own * MS,
        transfer_ns=20 * MS,
        wait_ns=wait * MS,
        late_ns=max(own - 100, 0) * MS,
        holds_up_ns=holds_up * MS,
        late_count=late_count,
        win_ns=win * MS,
        compute_ns=compute * MS,
        communication_ns=(wait + 20) * MS,
        counted_ns=1000 * MS,
        recorded_ns=recorded * MS,
    )


RANK_1 = Straggler(
    "rank", "rank 1", 2, (1,), 400 * MS, 300 * MS, 0.9, "idle_launch", 390 * MS, "aten::empty", 23 * MS, 13_000, 0
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
    clock_residual_ns=20_000,
    claim_limit_ns=60_000,
    replay_error=0.0,
    dur_ns=1000 * MS,
    ideal_ns=600 * MS,
    slowdown=1000 / 600,
    transfer_ns=40 * MS,
    late_start_ns=10 * MS,
    late_ns=400 * MS,
    wait_absent_ns=None,
    wait_share=0.8,
    pattern="fixed",
    cannot_tell=None,
    members=(
        replace(member(0, 100, 800, 0), is_usual=True),
        member(1, 900, 0, 9, win=300, holds_up=400),
    ),
    stragglers=(RANK_1,),
    collectives=(
        JobCollective("all_reduce", 1 << 26, 2, None, 1, 90, 500_000, 600_000.0, 900_000, 195.0, 40 * MS, 800 * MS),
    ),
    lateness=(Lateness(1, 0, 10, is_step=True, late_by=80 * MS), Lateness(1, 9, 10, is_step=True, late_by=40 * MS)),
)
BALANCED = replace(JOB, ideal_ns=990 * MS, slowdown=1000 / 990, stragglers=(), pattern="none", late_ns=5 * MS)
UNKNOWN = replace(
    JOB,
    cannot_tell="none of its communication could be matched between ranks",
    dur_ns=None,
    stragglers=(),
    slowdown=None,
)


def said(job, **options):
    blocks = [list_present_ranks(job), write_verdict_of_job(job, **options), *split_path_of_job(job)]
    return blocks_to_text(blocks, 100)


def test_who_is_late_and_what_it_costs_per_step():
    assert said(JOB, deed="Give it `taskset`: its own cores").splitlines() == [
        "Job run7: 2 of 4 ranks, 1 host, 10 steps. Absent: ranks 2-3; waiting for them looks like slow",
        "transfers. Clocks agree within 20.00 µs; less than 60.00 µs is not called late. Replay error 0.0 %.",
        "",
        "Late ranks: the others wait for rank 1",
        "  100.0 ms -> 60.00 ms per step if every rank were like a typical one, 1.67x as fast",
        "  On rank 1: Give it taskset: its own cores",
        "",
        "Where a step of the job goes                                                       100.0 ms per step",
        "  usual work of the ranks      ████████████████████████▎                      55.0 %  55.00 ms",
        "  waiting for late ranks       █████████████████▋                             40.0 %  40.00 ms",
        "  transfer in collectives      █▊                                              4.0 %  4.000 ms",
        "  before the first collective  ▌                                               1.0 %  1.000 ms",
    ]
    assert blocks_to_text(show_example(JOB), 100) == (
        "For example rank 1: aten::empty took 23.00 ms, the same call 13.00 µs on rank 0.\n"
    )
    assert summarize_job(JOB) == (
        "Late ranks: 100.0 ms -> 60.00 ms per step with all ranks equal; the others wait most for rank 1."
    )


def test_transfers_that_take_most_of_a_job_come_first():
    slow = replace(JOB.collectives[0], longest_ns=40 * MS)
    whole = replace(JOB, absent=0, world_size=2, transfer_ns=550 * MS, late_ns=100 * MS, collectives=(slow,))
    lines = said(whole).splitlines()
    assert lines[lines.index("") + 1 :][:3] == [
        "Communication holds up the job: transfers take 55.00 ms of 100.0 ms per step, in addition to waiting",
        "  Longest: all-reduce, 40.00 ms; the median of 90 such collectives is 600.0 µs",
        "  Also late: rank 1; 100.0 ms -> 60.00 ms per step if every rank were like a typical one",
    ]
    even = replace(BALANCED, absent=0, world_size=2, transfer_ns=550 * MS)
    assert "Communication holds up the job: transfers take 55.00 ms" in said(even)
    assert "Late ranks" in said(replace(whole, transfer_ns=400 * MS))


def test_what_is_no_transfer_does_not_hold_up_a_job():
    mostly = replace(BALANCED, absent=0, world_size=2, transfer_ns=550 * MS)
    # waiting for ranks that are not here, a file that is cut, barriers
    assert "Communication holds" not in said(replace(mostly, absent=1))
    assert "Communication holds" not in said(replace(mostly, wait_absent_ns=5))
    assert "Cannot tell which rank is late: rank 1 is cut." in said(mostly, faults=("rank 1 is cut",))
    barriers = tuple(replace(each, op="barrier") for each in mostly.collectives)
    assert "Communication holds" not in said(replace(mostly, collectives=barriers))


def test_several_are_named_in_a_sentence():
    others = [replace(RANK_1, name=f"rank {rank}", ranks=(rank,)) for rank in (2, 3)]
    assert "the others wait for rank 1 and rank 2\n" in said(replace(JOB, stragglers=(RANK_1, others[0])))
    assert "the others wait for rank 1, rank 2 and 1 other\n" in said(replace(JOB, stragglers=(RANK_1, *others)))
    wandering = said(replace(JOB, stragglers=(), pattern="wandering"))
    assert "Ranks are late in turn\n" in wandering
    assert "A different rank is late each time" in wandering
    assert "Ranks are late, but none by enough to be named\n" in said(replace(JOB, stragglers=(), pattern="none"))


def test_a_job_that_cannot_be_judged_says_why():
    assert said(UNKNOWN).splitlines()[-4:] == [
        "Cannot tell which rank is late.",
        "  None of its communication could be matched between ranks",
        "  Record all ranks over the same steps, with what matches their collectives:",
        "    traceq doctor --plan communication",
    ]
    assert "Late ranks" not in said(UNKNOWN)
    assert list(list_ranks_of_job(UNKNOWN)) == []
    assert list(list_ruled_out(UNKNOWN)) == []
    assert summarize_job(UNKNOWN) == ""


def test_a_balanced_job_is_said_to_be():
    assert "No rank holds up the others: 100.0 ms per step, 99.00 ms with all ranks equal" in said(BALANCED)
    assert list(list_ruled_out(BALANCED)) == []


def test_a_balanced_job_is_not_called_so_where_the_file_of_a_rank_is_cut():
    assert "Cannot tell which rank is late: the file of rank 3 is cut.\n" in said(
        BALANCED, faults=["the file of rank 3 is cut"]
    )
    (trace,) = handmade_traces.report(training()).traces
    cut = replace(trace, notes=(Note("data_loss", "truncated", 1, "the file ends in the middle"),))
    screen = blocks_to_text(describe_job(Report((cut,), "", (BALANCED,)), BALANCED), 100)
    assert "Cannot tell which rank is late: the file of rank 3 is cut. Record all ranks" in screen


def test_a_late_start_is_not_called_balanced():
    """A job whose time passes before its first collective waits for the rank that comes later."""
    started = replace(
        LATE, rule="late-start", unit="rank 1", because="came 30.00 ms later", fix="Begin after a barrier."
    )
    late = replace(BALANCED, late_start_ns=300 * MS, findings=(started,))
    assert said(late).splitlines()[3:6] == [
        "Late start: rank 1 came 30.00 ms later",
        "  The first collective waits 300.0 ms of 1.000 s",
        "  Begin after a barrier.",
    ]
    assert "No rank holds up the others" in said(replace(late, late_start_ns=10 * MS))
    assert "No rank holds up the others" in said(replace(late, findings=()))


def test_a_call_that_took_a_little_longer_proves_nothing():
    job = replace(JOB, stragglers=(replace(RANK_1, operator_dur_ns=20_000),))
    assert list(show_example(job)) == []


def test_types_of_operations_are_compared_with_all_ranks():
    job = replace(JOB, stragglers=(replace(RANK_1, usual_rank=None),))
    assert "the same call 13.00 µs on the average of all ranks." in blocks_to_text(show_example(job), 100)


def test_ranks_whose_recording_is_short_are_named():
    short = replace(JOB, members=(*JOB.members, member(3, 100, 800, 0, recorded=900)))
    assert "Recorded for less than 95 % of the longest: rank 3." in said(short)


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([3], "rank 3"),
        ([2, 0], "ranks 0 and 2"),
        ([0, 1, 2, 5], "ranks 0-2 and 5"),
        (range(0, 40, 2), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more"),
    ],
)
def test_ranks_in_words(ranks, words):
    assert list_ranks(ranks) == words


def test_what_it_is_not():
    (items,) = list_ruled_out(JOB)
    assert [line for (line,) in items.items] == [
        "The GPUs are not the cause: compute takes 8.000 ms on every rank.",
        "Taken alone, rank 0 looks communication-bound, but is not.",
        "Rank 1 communicates least (2.000 ms; punctual ranks 82.00 ms), because late ranks wait less.",
    ]


def test_gpus_that_differ_are_not_called_alike():
    job = replace(JOB, wait_share=0.2, members=(member(0, 100, 100, 0), member(1, 900, 90, 9, compute=90)))
    assert list(list_ruled_out(job)) == []


def test_each_rank_has_a_line_with_when_it_was_late():
    assert blocks_to_text(list_ranks_of_job(JOB), 100).splitlines() == [
        "rank  trace       own  transfer     waits  holds up  saves alone  late over time",
        "----  -----  --------  --------  --------  --------  -----------  --------------",
        "0     t1     10.00 ms  2.000 ms  80.00 ms      0 ns            -  ··········",
        "1     t2     90.00 ms  2.000 ms      0 ns  40.00 ms     30.00 ms  █········▅",
    ]


def test_a_rank_faster_than_the_usual_one_saves_nothing():
    job = replace(JOB, lateness=(), members=(member(0, 100, 800, 0, win=-50), member(1, 900, 0, 9, win=300)))
    saved = [line.split("  ")[-1].strip() for line in blocks_to_text(list_ranks_of_job(job), 100).splitlines()[2:]]
    assert saved == ["-", "30.00 ms"]


LATE = JobFinding(
    rule="job-straggler",
    unit="rank 1",
    ranks=(1,),
    because="idle: launching +39.00 ms",
    saving_ns=30.0 * MS,
    adds_ns=40.0 * MS,
    place=1,
    confidence="high",
    confidence_reason="It is late in 9 of 10 steps.",
    fix="Open rank 1 by itself.",
    evidence=Evidence(("rank",), ((1,),), "select 1 as rank"),
)
WAITING = replace(
    LATE,
    rule="waiting-not-network",
    unit="all ranks",
    ranks=(),
    because="80.0 %",
    saving_ns=None,
    adds_ns=None,
    place=None,
)
FOUND = (LATE, replace(LATE, unit="rank 0", ranks=(0,), saving_ns=2.0 * MS, adds_ns=10.0 * MS, place=2), WAITING)


def listed(job, *, in_full=False):
    return blocks_to_text(list_job_findings(job, in_full=in_full), 100).splitlines()


def test_findings_have_a_line_each_and_savings_add_up_down_the_table_only():
    assert listed(replace(JOB, findings=FOUND)) == [
        "finding              on         saves alone  cumulative  confidence  because",
        "-------------------  ---------  -----------  ----------  ----------  -------------------------",
        "job-straggler        rank 1        30.00 ms    40.00 ms  high        idle: launching +39.00 ms",
        "job-straggler        rank 0        2.000 ms    50.00 ms  high        idle: launching +39.00 ms",
        "waiting-not-network  all ranks            -           -  high        80.0 %",
    ]
    assert list(list_job_findings(JOB, in_full=True)) == []


def test_the_findings_of_a_rule_can_be_shown_by_its_name():
    report = report_of(replace(JOB, findings=FOUND))
    shown = blocks_to_text(compose_finding(report, "Job-Straggler", sql=True), 100)
    assert "Open rank 1 by itself." in shown
    assert "select 1 as rank" in shown
    assert "waiting-not-network" not in shown
    assert "select" not in blocks_to_text(compose_finding(report, "job-straggler", sql=False), 100)


def test_in_full_the_fix_of_each_rule_and_the_proof_of_each_finding_are_told():
    shown = listed(replace(JOB, findings=FOUND), in_full=True)
    told = "job-straggler, rank 1: Open rank 1 by itself. Confidence high: It is late in 9 of 10 steps."
    assert [line for line in shown if line.startswith("job-straggler, ")] == [told]
    assert sum("select 1 as rank" in line for line in shown) == len(FOUND)


def test_of_many_findings_the_first_are_listed():
    shown = listed(replace(JOB, findings=(LATE,) * 100))
    assert len(shown) <= 14
    assert shown[-1] == "92 more findings."


def test_hosts_and_stages_are_told_with_their_ranks():
    stage = replace(LATE, unit="stage 3", ranks=(6, 7))
    group = replace(LATE, unit="group of ranks 0-1", ranks=(0, 1))
    assert [name_unit(each) for each in (LATE, stage, group)] == ["rank 1", "stage 3, ranks 6-7", "group of ranks 0-1"]


def test_what_cannot_be_told_is_named_and_in_full_why():
    unknown = (NotApplicable("slow-host", "", "no trace names its host"), NotApplicable("slow-link", "", "it is short"))
    job = replace(JOB, not_applicable=unknown)
    assert listed(job) == ["Cannot tell slow-host, slow-link."]
    assert listed(job, in_full=True) == ["Cannot tell slow-host: no trace names its host; slow-link: it is short."]
    # The verdict says so already.
    same = replace(UNKNOWN, not_applicable=(NotApplicable("slow-host", "", UNKNOWN.cannot_tell),))
    assert list(list_job_findings(same, in_full=True)) == []


def test_tickets_and_language_models_get_the_findings_of_the_job():
    found = (*FOUND, *(replace(LATE, unit=f"rank {rank}") for rank in range(2, 1000)))
    report = report_of(replace(JOB, findings=found))
    text = to_llm(report, "job.duckdb")
    assert "- job-straggler, `rank 1`, 30.00 ms, high confidence: idle: launching +39.00 ms\n" in text
    assert len(text.encode()) < LIMIT
    assert re.search(r"Not shown: \d+ job findings[,.]", text)
    # What to do about the first is cut last.
    assert "  do: Open rank 1 by itself.\n" in to_llm(report, "job.duckdb", 2_048)
    for site in SITES:
        shown = render_ticket(Ticket(report), site)
        assert "job-straggler" in shown
        assert len(shown.encode()) < 10_240


@pytest.mark.parametrize(("stages", "words"), [((0, 0), "on every rank:"), ((0, 1), "on the ranks of its stage:")])
def test_what_the_usual_rank_could_save_is_said_of_those_that_do_the_same(stages, words):
    members = tuple(replace(each, stage=stage) for each, stage in zip(JOB.members, stages, strict=True))
    shown = blocks_to_text(first_screen(report_of(replace(JOB, members=members))), 100)
    assert f"On the typical rank, 0, and likewise {words}" in shown


def test_tickets_hold_no_names_of_hosts():
    host = replace(LATE, rule="slow-host", unit="host kaluga17", ranks=(0, 1))
    members = tuple(replace(each, host="kaluga17") for each in JOB.members)
    straggler = replace(RANK_1, kind="host", name="host kaluga17")
    report = redact_report(report_of(replace(JOB, findings=(host,), members=members, stragglers=(straggler,))))
    (job,) = report.jobs
    assert "kaluga" not in repr(job)
    assert job.findings[0].because == LATE.because
    assert job.findings[0].unit.startswith("host name-")


def test_where_ranks_are_late_in_turn_none_is_named():
    shown = said(replace(JOB, pattern="wandering"), deed="Fix it")
    assert "Ranks are late in turn" in shown
    assert "rank 1" not in shown


# Of the many, the rank that stands for those that nobody waits for.
USUAL = 7


def many(ranks):
    """A job in which of so many ranks 1 and 5 are late."""
    members = [member(rank, 900 if rank in (1, 5) else 100 + rank % 3, 800, 0) for rank in range(ranks)]
    members[USUAL] = replace(members[USUAL], is_usual=True)
    others = replace(RANK_1, name="rank 5", trace_id=6, ranks=(5,))
    return replace(JOB, ranks=ranks, world_size=ranks, absent=0, members=tuple(members), stragglers=(RANK_1, others))


def test_of_many_ranks_those_alike_share_a_line():
    shown = blocks_to_text(list_ranks_of_job(many(64)), 100).splitlines()
    assert len(shown) == 5
    assert [line.split("  ")[0] for line in shown[2:]] == ["1", "5", "31 and 61 similar"]
    assert [line.split()[-10:-8] for line in shown[2:4]] == [["90.00", "ms"]] * 2
    assert "10.10 ms" in shown[4]


def test_stages_have_a_line_each():
    job = many(64)
    staged = replace(job, members=tuple(replace(each, stage=each.rank % 4) for each in job.members))
    assert len(blocks_to_text(list_ranks_of_job(staged), 100).splitlines()) == 2 + 2 + 4


def test_collectives_by_kind():
    assert blocks_to_text(list_collectives_of_job(JOB), 100).splitlines() == [
        "collective    size  ranks  groups  count  transfer      best  bandwidth  waiting",
        "----------  ------  -----  ------  -----  --------  --------  ---------  -------",
        "all-reduce  64 MiB      2       1     90  600.0 µs  500.0 µs   195 GB/s   95.2 %",
    ]
    hosts = replace(JOB, collectives=tuple(replace(JOB.collectives[0], level="between hosts") for _ in range(8)))
    shown = blocks_to_text(list_collectives_of_job(hosts), 100).splitlines()
    assert shown[2].endswith("between hosts")
    assert shown[-1] == "2 more kinds with 25.0 % of the time."


def test_of_several_jobs_none_is_told_on_top():
    assert find_job((JOB,)) is JOB
    assert find_job((JOB, replace(JOB, time_window=1))).time_window == 1
    assert find_job((JOB, replace(JOB, job=1))) is None
    assert find_job((replace(JOB, ranks=1),)) is None


def report_of(job):
    """A report on the job: every rank a trace with the same findings."""
    (trace,) = handmade_traces.report(training()).traces
    return Report(tuple(of_trace(trace, each) for each in job.members), "select 1", (job,))


def of_trace(trace, member):
    """The trace of the rank."""
    return replace(trace, trace=replace(trace.trace, trace_id=member.trace_id, rank=member.rank))


def asked_in_part(job, *ranks):
    """A report on the job of which only some ranks were asked."""
    report = report_of(job)
    return replace(
        report,
        traces=tuple(
            each if each.trace.rank in ranks else replace(each, rules_asked=False, findings=(), clean=())
            for each in report.traces
        ),
    )


@pytest.mark.parametrize("ranks", [8, 64, 1024])
def test_a_job_of_any_size_stays_on_two_screens(ranks):
    shown = blocks_to_text(first_screen(report_of(many(ranks)), "job.duckdb"), 100)
    assert len(shown.splitlines()) <= 120
    assert "Late ranks: the others wait for rank 1 and rank 5" in shown
    # What rank 1 would save by itself is no verdict on the job.
    assert "Fix first" not in shown
    assert "Look into first" not in shown
    assert "traceq report job.duckdb --rank 1" in shown


def test_what_every_rank_has_is_not_told_of_the_late_one():
    report = report_of(many(8))
    assert "On rank 1: " not in blocks_to_text(first_screen(report), 100)
    others = [replace(each, findings=()) if each.trace.rank != 1 else each for each in report.traces]
    (first, *_) = report.traces
    assert f"On rank 1: {first.findings[0].deed}" in blocks_to_text(
        first_screen(replace(report, traces=tuple(others))), 100
    )


def test_a_balanced_job_shows_the_first_screen_of_a_rank():
    shown = blocks_to_text(first_screen(report_of(BALANCED)), 100)
    assert "No rank holds up the others" in shown
    assert shown.startswith("Cannot tell what to fix first: ")


def test_a_rank_by_itself_says_what_the_job_waits_for():
    whole = report_of(JOB)
    one, late = (replace(whole, traces=(each,)) for each in whole.traces)
    told = describe_rank_in_job(JOB, whole.traces[0])
    assert told.endswith("Rank 0 waits 80.00 ms for others, and no other rank waits for it alone.")
    shown = blocks_to_text(first_screen(late), 100)
    assert "Rank 1 waits 0 ns for others; if it alone were like a typical one," in shown
    assert "--trace 2 -v" in shown
    assert "Rank 0 waits 80.00 ms" in blocks_to_text(compose_report(one), 100)


def test_many_gpus_of_one_trace_are_not_listed_under_the_job():
    job = many(64)
    (trace,) = handmade_traces.report(training()).traces
    job = replace(job, members=tuple(replace(each, trace_id=trace.trace.trace_id) for each in job.members))
    shown = blocks_to_text(first_screen(Report((trace,), "", (job,)), "ops.parquet"), 100)
    assert "Late ranks: the others wait for rank 1 and rank 5" in shown
    assert "Where a step goes, GPU 0" not in shown
    assert "--rank" not in shown
    few = replace(JOB, members=tuple(replace(each, trace_id=trace.trace.trace_id) for each in JOB.members))
    assert "Where a step goes, GPU 0" in blocks_to_text(first_screen(Report((trace,), "", (few,))), 100)


def test_in_full_only_ranks_that_were_asked_have_sections():
    report = asked_in_part(many(64), 1, 5, USUAL)
    opened = [block.anchor for block in compose_report(report) if getattr(block, "level", 0) == 2 and block.anchor]
    assert opened == ["t2", "t6", f"t{USUAL + 1}"]
    assert "61 more ranks were not analysed one by one" in blocks_to_text(compose_report(report), 100)
    few = report_of(JOB)
    assert [block.anchor for block in compose_report(few) if getattr(block, "level", 0) == 2 and block.anchor] == [
        "t1",
        "t2",
    ]


def test_json_has_the_slowdown_and_what_is_not_drawn():
    (job,) = json.loads(to_json(report_of(replace(JOB, findings=FOUND))))["jobs"]
    assert job["slowdown"] == pytest.approx(1.667, abs=0.001)
    assert job["late_ns"] == 400 * MS
    assert job["members"][1]["win_ns"] == 300 * MS
    assert job["collectives"][0]["typical_ns"] == 600_000
    assert [each["rule"] for each in job["findings"]] == ["job-straggler", "job-straggler", "waiting-not-network"]
    assert job["findings"][0]["evidence"] == {"columns": ["rank"], "rows": [[1]], "query": "select 1 as rank"}
    assert job["findings"][2]["saving_ns"] is None
    assert "lateness" not in job
    assert "worst" not in job


def test_a_rank_that_was_not_asked_is_never_called_clean():
    report = asked_in_part(many(8), 1, 5, USUAL)
    spared = report.traces[0]
    alone = blocks_to_text(compose_report(replace(report, traces=(spared,))), 100)
    assert "Not analysed: other ranks of the job represent this one." in alone
    assert "Nothing to fix" not in alone
    two_jobs = replace(report, jobs=(*report.jobs, replace(report.jobs[0], job=1)))
    shown = blocks_to_text(first_screen(two_jobs), 100).splitlines()
    assert [line.split()[-2:] for line in shown if line.split()[:2] in (["t1", "0"], ["t3", "2"])] == [
        ["not", "asked"]
    ] * 2
    assert "Not analysed" in answer_finding(report, "F1", 1, "all", 8000).text
    assert [each["rules_asked"] for each in json.loads(to_json(report))["traces"]][:3] == [False, True, False]


def test_rules_of_jobs_that_broke_are_listed():
    broken = replace(JOB, failed=(Failed("late-start", "Title", "KeyError: 'own'"),))
    for in_full in (False, True):
        shown = listed(broken, in_full=in_full)
        assert any("These checks failed with an error, which says nothing about the job:" in line for line in shown)
        assert any("late-start: KeyError: 'own'" in line for line in shown)


KINDS = tuple(replace(JOB.collectives[0], bytes=1 << size) for size in range(10, 20))
TENSOR = JobAxis(
    "tp",
    "inferred",
    2,
    4,
    4,
    8,
    800,
    1 << 30,
    800 * MS,
    400 * MS,
    300 * MS,
    500 * MS,
    200 * MS,
    110.5,
    (4, 5, 6, 7),
    1,
    1,
    (),
)
AXES = tuple(replace(TENSOR, axis=axis) for axis in ("tp", "dp", "pp", "cp"))


@pytest.mark.parametrize("ranks", [8, 64])
@pytest.mark.parametrize("axes", [0, 3, 4])
def test_the_screen_of_a_job_has_at_most_48_lines(ranks, axes):
    """Count the lines of a screen with more ranks, findings and kinds of collectives than it has room for."""
    job = replace(many(ranks), collectives=KINDS, findings=(LATE,) * 9, axes=AXES[:axes])
    report = report_of(job)
    text = to_text(report, source="job.duckdb")
    assert "5 more findings" in text
    assert "the others wait for rank 1" in text
    assert len(text.splitlines()) <= 48
    alone = replace(report, traces=tuple(replace(each, findings=()) for each in report.traces))
    assert len(to_text(alone, source="job.duckdb").splitlines()) <= 48


@pytest.mark.parametrize("findings", [0, 2])
@pytest.mark.parametrize("axes", [0, 3, 4])
def test_the_screen_of_a_job_and_its_first_rank_has_at_most_48_lines(axes, findings):
    """Keep the findings of the rank that follows an even job, and drop first what the job's verdict says already."""
    even = replace(many(8), ideal_ns=990 * MS, slowdown=1000 / 990, stragglers=(), pattern="none", late_ns=5 * MS)
    report = report_of(replace(even, collectives=KINDS, findings=(LATE,) * findings, axes=AXES[:axes]))
    text = to_text(report, source="job.duckdb")
    assert len(text.splitlines()) <= 48
    assert "No rank holds up the others" in text
    assert "F1 Start communication earlier" in text
    assert not re.search(r"^rank +trace +own", text, re.MULTILINE)


def test_the_screen_of_a_job_of_which_there_is_much_to_say_has_at_most_48_lines():
    """Leave out what is ruled out and what holds on every rank, and list fewer ranks, where findings take several lines."""
    words = "more kernels and other grids than those of its peers, mostly in the last of the counted steps"
    wide = [replace(LATE, unit=f"group of ranks {first}-{first + 7}", because=words) for first in range(5)]
    unknown = tuple(
        NotApplicable(rule, "Title", "not known")
        for rule in (
            "desync",
            "slow-gpu",
            "work-imbalance",
            "slow-host",
            "wandering-straggler",
            "absent-late-rank",
            "slow-link",
        )
    )
    worked = tuple(replace(each, wait_ns=700 * MS, communication_ns=720 * MS) for each in many(64).members)
    job = replace(
        many(64), members=worked, collectives=KINDS, findings=tuple(wide), axes=AXES, not_applicable=unknown,
        hosts=8, stragglers=(RANK_1,) * 4, pattern="alternating",
    )  # fmt: skip
    report = report_of(job)
    for source in ("job.duckdb", "runs/of a week/" + "x" * 60 + ".duckdb"):
        text = to_text(report, source=source)
        assert len(text.splitlines()) <= 48
        assert "3 more findings." in text
        assert "the others wait for rank 1" in text


PATH = (
    JobPathPart("own", 1, "idle_launch", 520 * MS, 11),
    JobPathPart("own", 0, "compute", 300 * MS, 11),
    JobPathPart("transfer", None, None, 100 * MS, 11),
    JobPathPart("late_start", 0, None, 20 * MS, 11),
    *(JobPathPart("own", rank, None, 10 * MS, 11) for rank in range(2, 7)),
)


def test_who_is_on_the_critical_path():
    shown = blocks_to_text(list_path_of_job(replace(JOB, path=PATH)), 100).splitlines()
    assert shown[:7] + shown[9:12] == [
        "critical path  what it does                  share  per step",
        "-------------  ---------------------------  ------  --------",
        "rank 1         idle: launching              52.0 %  52.00 ms",
        "rank 0         compute                      30.0 %  30.00 ms",
        "all ranks      transfer in collectives      10.0 %  10.00 ms",
        "rank 0         before its first collective   2.0 %  2.000 ms",
        "rank 2         own work, cannot tell what    1.0 %  1.000 ms",
        "rank 5         own work, cannot tell what    1.0 %  1.000 ms",
        "",
        "And 3 more parts, 2.0 % of it: from job_path_ledger.",
    ]


def test_a_job_without_a_path_lists_none():
    assert list(list_path_of_job(JOB)) == []
    assert list(list_path_of_job(replace(UNKNOWN, path=PATH))) == []


STAGE_3 = Straggler("stage", "stage 3", 4, (3,), 100 * MS, 100 * MS, None, None, None, None, None, None, None)


def test_a_slow_stage_is_told_with_what_evening_the_stages_saves():
    slow = replace(BALANCED, ideal_ns=1000 * MS, slowdown=1.0, pattern="stage", stragglers=(STAGE_3,))
    assert blocks_to_text([write_verdict_of_job(slow, deed="never mind")], 100).splitlines() == [
        "Stage 3 of the pipeline has more work than the others",
        "  100.0 ms -> 90.00 ms per step at best if all stages shared what it has more",
    ]
    assert summarize_job(slow) == "Stage 3 has more work: 100.0 ms -> 90.00 ms per step with equal stages."
    # of a stage with several ranks, whose usual ranks would save as much, the others wait as for a rank
    waited = replace(slow, ideal_ns=800 * MS, slowdown=1.25)
    assert "the others wait for stage 3" in blocks_to_text([write_verdict_of_job(waited)], 100)


def test_of_a_large_job_the_ranks_that_are_named_have_savings():
    members = tuple(replace(each, win_ns=None) for each in many(128).members)
    shown = blocks_to_text(list_ranks_of_job(replace(many(128), members=members)), 100).splitlines()
    assert [(line.split()[0], line.split()[-3:-1]) for line in shown[2:4]] == [
        ("1", ["30.00", "ms"]),
        ("5", ["30.00", "ms"]),
    ]
    assert shown[4].split()[-2] == "-"
