"""The call stack of a finding's worst occurrence: from the trace, and as texts show it."""

from __future__ import annotations

import json

import handmade_traces
import pytest
from handmade_traces import MadeUp, waiting
from msgspec.structs import replace

from traceq.reports.document import Card, Fold, Items
from traceq.reports.mcp.report import answer_finding
from traceq.reports.model import HostStack
from traceq.reports.redact import redact_report
from traceq.reports.renderers.to_html import to_html
from traceq.reports.renderers.to_json import to_json
from traceq.reports.renderers.to_llm import LIMIT, to_llm
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.brief import first_screen
from traceq.reports.sections.compose import compose_finding
from traceq.reports.sections.findings import describe_findings

TITLE = "Call stack of the worst occurrence"
LINE = "acme/train.py(7): secret_step"


def in_python():
    """The trace in which the host waits, in a frame of Python around each step."""
    trace = waiting()
    for step in trace.rows["step"]:
        trace.cpu("python", LINE, step["ts"] + 1, step["dur"] - 2)
    return trace


def with_stack(frames, line, *, is_captured=False):
    """The report with this stack for its first finding."""
    report = handmade_traces.report(waiting())
    (trace,) = report.traces
    stacks = {trace.findings[0].finding_id: HostStack(frames, line, is_captured)}
    return replace(report, traces=(replace(trace, stacks=stacks),))


def frames_of(report):
    """The frames as the text of the first finding lists them, and the title above."""
    lines = blocks_to_text(compose_finding(report, "F1", sql=False)).splitlines()
    title = next(number for number, line in enumerate(lines) if line.startswith(TITLE))
    end = lines.index("", title + 2) if "" in lines[title + 2 :] else len(lines)
    return lines[title], lines[title + 2 : end]


def test_a_finding_has_the_stack_of_its_worst_occurrence():
    (trace,) = handmade_traces.report(in_python()).traces
    for finding in trace.findings:
        row = dict(zip(finding.instances.columns, finding.instances.rows[0], strict=True))
        stack = trace.stacks[finding.finding_id]
        assert stack.frames[-2:] == (LINE, f"ProfilerStep#{row['step']}")
        assert (stack.line, stack.is_captured) == (LINE, False)
    assert {stack.frames[0] for stack in trace.stacks.values()} == {LINE, "cudaStreamSynchronize"}


def test_a_slice_with_nothing_around_has_no_stack():
    trace = MadeUp().step(0, 1_000_000)
    launch = trace.cpu("runtime", "cudaMemcpy", 0, 900_000)
    trace.gpu("h2d", 10_000, 880_000, launch=launch, bytes=1_000_000)
    (report,) = handmade_traces.report(trace).traces
    assert report.findings
    assert report.stacks == {}
    assert TITLE not in blocks_to_text(describe_findings(report, folds=False, draws=False))


@pytest.mark.parametrize(
    ("count", "line", "shown"),
    [
        (2, None, ["- f0", "- f1"]),
        (8, 7, [f"- f{each}" for each in range(8)]),
        (9, 3, [*(f"- f{each}" for each in range(8)), "- 1 more"]),
        (20, None, [*(f"- f{each}" for each in range(8)), "- 12 more"]),
        (20, 7, [*(f"- f{each}" for each in range(8)), "- 12 more"]),
        (20, 8, [*(f"- f{each}" for each in range(7)), "- 1 more", "- f8", "- 11 more"]),
        (20, 19, [*(f"- f{each}" for each in range(7)), "- 12 more", "- f19"]),
    ],
)
def test_the_innermost_frames_and_the_line_of_the_program_are_shown_and_the_rest_counted(count, line, shown):
    frames = tuple(f"f{each}" for each in range(count))
    report = with_stack(frames, None if line is None else frames[line])
    assert frames_of(report) == (f"{TITLE}, innermost first", shown)


def test_a_line_of_the_capture_is_no_frame_of_the_launch():
    frames = ("cudaGraphLaunch", "replay.py(3): run")
    assert frames_of(with_stack(frames, LINE))[1] == [f"- {each}" for each in frames]


def test_of_a_long_line_of_python_the_file_and_the_function_are_kept():
    frames = (f"{'package/' * 20}model.py(40): run_on_input", f"aten::{'long' * 30}_name")
    _, (line, operator) = frames_of(with_stack(frames, frames[0]))
    assert line.startswith("- …")
    assert line.endswith("/package/model.py(40): run_on_input")
    assert operator.startswith("- aten::longlong")
    assert operator.endswith("_name")


def test_the_stack_of_work_of_a_graph_says_that_it_is_of_its_capture():
    title, _ = frames_of(with_stack(("cudaLaunchKernel", LINE), LINE, is_captured=True))
    assert title == f"{TITLE}, when its graph was captured, innermost first"


def test_a_card_has_the_stack_folded_and_the_first_screen_has_none():
    report = handmade_traces.report(in_python(), scope="drawing")
    card = next(each for each in describe_findings(report.traces[0], folds=True, draws=True) if isinstance(each, Card))
    (fold,) = [block for block in card.blocks if isinstance(block, Fold) and block.title[0].startswith(TITLE)]
    assert isinstance(fold.blocks[0], Items)
    assert f"<li><bdi>{LINE}</bdi></li>" in to_html(report)
    assert TITLE not in blocks_to_text(first_screen(report))


def test_a_ticket_does_not_tell_names_of_the_stack():
    (trace,) = redact_report(handmade_traces.report(in_python())).traces
    assert trace.stacks.keys() == {finding.finding_id for finding in trace.findings}
    for stack in trace.stacks.values():
        assert "secret" not in "".join(stack.frames)
        assert stack.line in stack.frames


def test_programs_agents_and_language_models_get_the_stack():
    report = with_stack(("cudaStreamSynchronize", LINE, "step"), LINE)
    first, *others = json.loads(to_json(report))["traces"][0]["findings"]
    assert first["stack"] == {"frames": ["cudaStreamSynchronize", LINE, "step"], "line": LINE, "is_captured": False}
    assert {each["stack"] for each in others} <= {None}
    answer = answer_finding(report, "F1", None, "all", 8_000)
    assert answer.data["stack"] == first["stack"]
    assert f"innermost first: cudaStreamSynchronize < {LINE} < step\nLine of the program: {LINE}\n" in answer.text
    assert f"  at: `{LINE}`\n" in to_llm(report)


def test_without_a_stack_nothing_is_said_of_one():
    report = handmade_traces.report(waiting())
    answer = answer_finding(report, "F1", None, "all", 8_000)
    assert answer.data["stack"] is None
    assert "innermost first" not in answer.text
    assert "  at: " not in to_llm(report)


def test_a_long_stack_is_cut_within_the_budget():
    report = with_stack(tuple(f"file.py({number}): {'x' * 500}" for number in range(400)), "file.py(1): " + "x" * 500)
    answer = answer_finding(report, "F1", None, "all", 4_000)
    assert answer.size <= 4_000
    assert " < 392 more\n" in answer.text
    assert len(to_llm(report).encode()) < LIMIT


def test_a_stack_of_a_ticket_names_no_file_of_the_program():
    report = redact_report(with_stack(("cudaStreamSynchronize", LINE), LINE))
    answer = answer_finding(report, "F1", None, "all", 8_000)
    assert "secret_step" not in answer.text
    assert "secret_step" not in to_json(report)
