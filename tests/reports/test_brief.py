"""The first screen of a report, as a whole."""

from __future__ import annotations

import shlex

import handmade_traces
import pytest
from click.testing import CliRunner
from handmade_traces import MadeUp, complete, hostile, on_host_only, three_ranks, training, unmarked, waiting
from msgspec import structs

from traceq.cli import main
from traceq.diagnosis.finding import Evidence
from traceq.reports.model import Report
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.brief import find_critical_trace, first_screen
from traceq.reports.sections.verdict import write_verdict

CASES = [training, hostile, on_host_only, unmarked, waiting, complete]


def text(report, **options):
    return blocks_to_text(first_screen(report, **options))


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", CASES)
def test_it_is_at_most_60_lines_with_verdict_and_fix_within_15(case):
    report = handmade_traces.report(case())
    shown = text(report).splitlines()
    assert len(shown) <= 60
    if report.traces[0].findings:
        at = next(
            number
            for number, line in enumerate(shown, 1)
            if line.startswith(("Fix first", "Look into first", "Cannot tell what to fix first"))
        )
        assert at + 2 + 2 <= 15


@pytest.mark.slow
def test_findings_are_cut_to_the_screen_and_counted():
    report = handmade_traces.report(complete(), top=100)
    (trace,) = report.traces
    many = structs.replace(report, traces=(structs.replace(trace, findings=trace.findings[:1] * 30),))
    shown = text(many)
    assert len(shown.splitlines()) <= 60
    assert "22 more findings" in shown


@pytest.mark.parametrize("case", CASES)
def test_a_report_of_scope_screen_has_all_that_it_shows(case):
    whole, part = (handmade_traces.report(case(), scope=scope) for scope in ("document", "screen"))
    assert text(part) == text(whole)
    assert write_verdict(part.traces[0]) == write_verdict(whole.traces[0])


def test_of_several_ranks_either_scope_shows_the_same():
    whole, part = (handmade_traces.report(*three_ranks(), rules=[], scope=scope) for scope in ("document", "screen"))
    assert text(part) == text(whole)


def test_what_the_screen_does_not_show_is_not_built():
    (trace,) = handmade_traces.report(training(), scope="screen").traces
    with pytest.raises(LookupError, match="build it with scope 'document'"):
        len(trace.queries)
    with pytest.raises(LookupError, match="build it with scope 'document'"):
        _ = trace.topics.kernels


def test_nothing_in_the_database_is_said():
    assert text(handmade_traces.report()) == (
        "The database has no trace.\n  Fill it: traceq ingest TRACE... -o traces.duckdb\n"
    )


@pytest.mark.slow
def test_three_ranks_have_a_line_each_and_the_screen_of_one():
    report = handmade_traces.report(*three_ranks(), top=1)
    shown = text(report)
    assert shown.startswith("3 ranks, with the steps of each:\n")
    assert len(shown.splitlines()) <= 120
    chosen, _ = find_critical_trace(report)
    assert f"--trace {chosen.trace.trace_id} -v" in shown


def test_hundreds_of_traces_stay_on_two_screens():
    report = handmade_traces.report(training())
    (trace,) = report.traces
    many = [
        structs.replace(trace, trace=structs.replace(trace.trace, trace_id=number, rank=number))
        for number in range(500)
    ]
    shown = text(structs.replace(report, traces=tuple(many)))
    assert len(shown.splitlines()) <= 120
    assert "484 more are not listed." in shown


def late(trace, rank, saving):
    """The trace with a finding that it waits for `rank`."""
    finding = structs.replace(
        handmade_traces.report(waiting()).traces[0].findings[0],
        rule="late-rank",
        saving_ns=saving,
        instances=Evidence(("step", "late_rank"), ((0, rank),), ""),
    )
    return structs.replace(trace, findings=(finding,))


def test_the_rank_that_the_others_wait_for_is_the_one_to_look_at():
    (trace,) = handmade_traces.report(training()).traces
    ranks = [
        structs.replace(trace, trace=structs.replace(trace.trace, trace_id=number + 1, rank=number))
        for number in range(3)
    ]
    chosen, reason = find_critical_trace(Report((ranks[0], late(ranks[1], 2, 10.0), late(ranks[2], 0, 4.0)), ""))
    assert chosen.trace.rank == 2
    assert "wait for rank 2" in reason


@pytest.mark.slow
def test_the_commands_it_prints_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    handmade_traces.database_file(waiting()).replace(tmp_path / "it's a trace.duckdb")
    (tmp_path / "NEW_TRACE").symlink_to("it's a trace.duckdb")
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(main, ["report", "it's a trace.duckdb"]).stdout
    commands = [
        line[line.index(" traceq ") :] for line in shown.partition("Next:")[2].splitlines() if " traceq " in line
    ]
    assert len(commands) == 5
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)


def test_a_made_up_trace_without_anything_has_a_screen():
    assert text(handmade_traces.report(MadeUp(ts=None, dur=None))).splitlines()
