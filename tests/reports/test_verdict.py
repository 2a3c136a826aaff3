"""What a report says first."""

from __future__ import annotations

import html
import json

import handmade_traces
import pytest
from handmade_traces import MadeUp, on_host_only, waiting
from msgspec.structs import replace

from traceq.app.report import ReportView
from traceq.diagnosis.account.line import Line
from traceq.reports.document import Literal
from traceq.reports.mcp.report import answer_report, describe_database
from traceq.reports.model import Note
from traceq.reports.sections.verdict import write_verdict
from traceq.reports.ticket import Ticket, render_ticket


def of(trace, rules=None):
    (report,) = handmade_traces.report(trace, rules=rules).traces
    return write_verdict(report)


def busy_for(part):
    """The report on three steps in which a kernel runs for `part` percent of the time."""
    trace = MadeUp()
    for number in range(3):
        trace.step(1000 * number, 1000).gpu("compute", 1000 * number, 10 * part)
    (report,) = handmade_traces.report(trace, rules=[]).traces
    return report


@pytest.mark.parametrize(
    ("busy", "said"),
    [
        (95, "compute, compute takes 950 ns (95.0 %) of the step: a trace of times does not show what limits it."),
        (
            22,
            "idle: unknown cause takes 780 ns (78.0 %) of the step: nothing was recorded on the launching thread.",
        ),
    ],
)
def test_without_findings_the_longest_line_that_cannot_be_told_is_told(busy, said):
    shown = write_verdict(busy_for(busy))
    assert (shown.outcome, "".join(shown.spans)) == ("cannot tell", f"Cannot tell what to fix first: {said}")
    assert shown.lines


def test_nothing_is_to_fix_where_the_gpu_is_busy_and_at_its_limit():
    report = busy_for(95)
    at_limit = tuple(replace(each, verdict="at its limit") for each in report.account)
    shown = write_verdict(replace(report, account=at_limit))
    assert shown.outcome == "healthy"
    assert shown.spans == ("Nothing to fix: no change that traceq knows would save 1 % of the step.",)


@pytest.mark.parametrize(("saving", "outcome"), [(49, "cannot tell"), (51, "problem")])
def test_what_cannot_be_told_stands_first_where_little_can_be_won(saving, outcome):
    (report,) = handmade_traces.report(waiting()).traces
    step = report.findings[0].expected_step_ns + report.findings[0].saving_ns
    first = replace(report.findings[0], saving_ns=saving * step / 1000, expected_step_ns=(1000 - saving) * step / 1000)
    unknown = Line(0, "compute", "gemm", 0.3 * step, 0.3, "cannot tell", reason="why", remedy="Measure it")
    shown = write_verdict(replace(report, findings=(first,), account=(unknown,)))
    assert shown.outcome == outcome
    assert any("Known so far" in "".join(line) or "Not known" in "".join(line) for line in shown.lines)


def test_a_finding_says_before_and_after_and_what_to_do():
    (report,) = handmade_traces.report(waiting()).traces
    first = report.findings[0]
    shown = write_verdict(report)
    assert shown.outcome == "problem"
    assert shown.spans[1] == first.title
    assert shown.beside == f"{first.confidence} confidence"
    before_and_after, deed, *_ = shown.lines
    assert " -> " in "".join(before_and_after)
    assert "".join(deed) == first.deed.replace("`", "")
    assert all(
        isinstance(span, Literal) for span, text in zip(deed, first.deed.split("`"), strict=False) if span != text
    )


def test_bounds_that_are_the_same_are_said_once():
    (report,) = handmade_traces.report(waiting()).traces
    bounded = replace(report.findings[0], only_bounds=True, saving_low_ns=100.0, saving_high_ns=100.0)
    (line, *_) = write_verdict(replace(report, findings=(bounded,))).lines
    assert "Saves 100 ns of" in "".join(line)
    assert "100 ns to" not in "".join(line)
    (line, *_) = write_verdict(replace(report, findings=(replace(bounded, saving_low_ns=50.0),))).lines
    assert "Saves 50 ns to 100 ns of" in "".join(line)


def test_of_devices_that_are_not_measured_nothing_can_be_told():
    (report,) = handmade_traces.report(on_host_only(), rules=[]).traces
    assert write_verdict(report).outcome == "cannot tell"
    assert "no GPU work was found" in write_verdict(report).spans[0]
    note = Note("data_loss", "npu_not_measured", 3, "of an NPU")
    assert (
        "the work ran on devices that traceq does not analyse" in write_verdict(replace(report, notes=(note,))).spans[0]
    )


def test_without_gpu_and_host_nothing_can_be_told():
    (report,) = handmade_traces.report(MadeUp(), rules=[]).traces
    assert write_verdict(report).outcome == "cannot tell"


def test_the_training_thread_is_judged_where_no_gpu_works():
    (report,) = handmade_traces.report(on_host_only()).traces
    assert write_verdict(report).outcome != "cannot tell"


def busy():
    """Nothing is to fix, and nothing is found."""
    trace = MadeUp()
    for number in range(3):
        trace.step(1000 * number, 1000).gpu("compute", 1000 * number, 950)
    return trace


def incomplete(trace, code="truncated"):
    """The report on the trace, as if its file had been cut."""
    made = handmade_traces.report(trace())
    note = Note("data_loss", code, 1, "the file ends in the middle")
    return replace(made, traces=(replace(made.traces[0], notes=(note,)),))


def test_a_file_of_which_tables_are_damaged_tells_nothing_either():
    said = write_verdict(incomplete(busy, "table_damaged").traces[0])
    assert (said.outcome, said.spans) == ("cannot tell", ("Cannot tell: the file is damaged.",))


@pytest.mark.parametrize("trace", [busy, waiting], ids=["without findings", "with findings"])
def test_a_file_that_is_cut_is_said_first_wherever_the_verdict_stands(trace):
    made = incomplete(trace)
    view = ReportView(made, "TRACE")
    first = "Cannot tell: the file is cut."
    shown = {
        "text": view.to_text(),
        "html": html.unescape(view.to_html()),
        "ticket": render_ticket(Ticket(made), "github"),
        "llm": view.render("llm"),
        "mcp open": describe_database(made, "a", "a.json", 8_000).text,
        "mcp report": answer_report(made, "a", "a.json", 8_000).text,
        "wrote": view.verdict,
    }
    others = ("Nothing to fix", "Healthy", "Fix first: ", "Look into first: ")
    assert {
        name: text for name, text in shown.items() if first not in text or any(each in text for each in others)
    } == {}
    (of_trace,) = json.loads(view.to_json())["traces"]
    assert (of_trace["verdict"]["outcome"], of_trace["verdict"]["text"]) == ("cannot tell", first)
    told = describe_database(made, "a", "a.json", 8_000).data
    assert told["outcome"] == "cannot tell"
    assert told["verdict"].startswith(first)
