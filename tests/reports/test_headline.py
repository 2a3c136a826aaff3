"""The one verdict that a report begins with: which it is, what its box is, and that it has the same words everywhere."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import handmade_traces
import pytest
from click.testing import CliRunner
from handmade_traces import MadeUp, waiting
from msgspec.structs import replace
from test_jobs import BALANCED, JOB, MS, UNKNOWN

from traceq.app.report import ReportView
from traceq.app.report import report as make_report
from traceq.cli import main
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.finding import Observation
from traceq.diagnosis.job.finding import JobFinding
from traceq.errors import TraceqError
from traceq.reports.document import Literal, Name, verdict_in_a_line
from traceq.reports.mcp.report import answer_report, describe_database
from traceq.reports.model import PhaseOfRun, Report
from traceq.reports.redact import redact_report
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.compose import compose_report
from traceq.reports.sections.headline import find_critical_trace, write_headline
from traceq.reports.sections.verdict import write_verdict
from traceq.reports.ticket import Ticket, render_ticket

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
REAL_TRACES = HERE.parents[2] / "shared"
OURS = sorted(
    path
    for folder in ("run", "pairs", "broken")
    for path in (FIXTURES / folder).iterdir()
    if path.suffix in (".gz", ".json", ".sqlite") and not path.name.endswith(("made_with.json", "measured.json"))
)
# Of the real traces the small ones, and the job of several ranks.
SMALL = 120_000
REAL = [
    path
    for folder in ("judged", "judged3", "traces")
    for path in sorted((REAL_TRACES / folder).glob("*/*.*"))
    if path.is_file() and path.stat().st_size < SMALL
] + [path for path in [REAL_TRACES / "judged/torch/dlrm"] if path.is_dir()]


def two_ranks(job=BALANCED, saving=0.4):
    """The report on the two ranks of a job, on each of which a finding saves the share `saving` of a step; none for 0."""
    (trace,) = handmade_traces.report(waiting()).traces
    first = replace(trace.findings[0], saving_ns=saving * MS, expected_step_ns=(1 - saving) * MS)
    found = (first,) if saving else ()
    ranks = tuple(
        replace(trace, findings=found, trace=replace(trace.trace, trace_id=rank + 1, rank=rank)) for rank in range(2)
    )
    return Report(ranks, "", (job,), "a b/job.duckdb")


def boxes(page):
    """The classes of the boxes of verdicts on a page, in their order."""
    return [each.removeprefix("verdict ") for each in re.findall(r'<section class="(verdict [\w-]+)"', page)]


def squeezed(text):
    """The text without markup, escapes of Markdown, marks of lines and blanks, so that wrapped words compare."""
    bare = html.unescape(re.sub(r"<(?!=)[/a-zA-Z!][^>]*>", "", text))
    return re.sub(r"[\s\\`*|\u2060]+", "", bare)


def test_a_balanced_job_is_not_healthy_where_its_ranks_can_win_much():
    """A job in which nobody is late began with a green "Healthy" although a rank's trace had 1.95x to win (D8)."""
    view = ReportView(two_ranks(), "a b/job.duckdb")
    said = write_headline(view.content)
    assert (said.verdict.outcome, said.trace) == ("problem", view.content.traces[0])
    first = "".join(said.verdict.spans)
    assert first.startswith("Fix first: ")
    assert "On rank 0: 1.000 ms -> 600.0 µs per step, 1.67x as fast" in "".join(said.verdict.lines[0])
    assert view.to_text().startswith(first)
    assert boxes(view.to_html())[0] == "problem"
    assert view.verdict == verdict_in_a_line(said.verdict)
    assert view.verdict.startswith(first)
    # it is said, but neither first nor in green
    assert "No rank holds up the others" in view.to_text()
    assert "healthy" not in boxes(view.to_html())


@pytest.mark.parametrize(("saving", "is_job_first"), [(0, True), (0.39, True), (0.41, False)])
def test_of_job_and_ranks_the_verdict_that_wins_most_stands_first(saving, is_job_first):
    """Late ranks cost this job 40 % of a step."""
    said = write_headline(two_ranks(JOB, saving))
    assert (said.trace is None) == is_job_first
    words = "\n".join("".join(spans) for spans in (said.verdict.spans, *said.verdict.lines))
    assert words.startswith("Late ranks: " if is_job_first else "Fix first: ")
    # the other one has a line, if there is one
    assert ("by itself: " in words) == (is_job_first and saving > 0)
    assert ("The job: Late ranks: the others wait for rank 1" in words) == (not is_job_first)


TRANSFERS = replace(BALANCED, absent=0, world_size=2, transfer_ns=900 * MS)


@pytest.mark.parametrize(
    ("saved_by_communication", "is_job_first"), [((), False), ((0.19,), False), ((0.12, 0.12), True)]
)
def test_transfers_count_by_what_findings_on_communication_are_likely_to_save(saved_by_communication, is_job_first):
    """Transfers are 90 % of this job, nobody knows a way to save all of them, and a finding on waiting saves 20 %."""
    report = two_ranks(TRANSFERS, saving=0.2)
    (waits,) = report.traces[0].findings
    transfers = tuple(
        replace(waits, saving_ns=share * MS, expected_step_ns=(1 - share) * MS, owned_by_category={"communication": MS})
        for share in saved_by_communication
    )
    findings = tuple(sorted((waits, *transfers), key=lambda finding: -finding.saving_ns))
    report = replace(report, traces=tuple(replace(trace, findings=findings) for trace in report.traces))
    said = write_headline(report)
    words = "\n".join("".join(spans) for spans in (said.verdict.spans, *said.verdict.lines))
    assert "Communication holds up the job: transfers take 90.00 ms of 100.0 ms" in words
    assert words.startswith("Communication holds up" if is_job_first else "Fix first: ")


def test_a_late_start_that_no_replay_has_tried_does_not_outweigh_a_finding():
    late = JobFinding(
        "late-start", "rank 1", (1,), "came late", None, None, None, "high", "", "Start after a barrier", None
    )
    job = replace(BALANCED, late_start_ns=600 * MS, findings=(late,))
    for saving, first in (
        (0.1, "Fix first: "),
        (0.002, "Late start: rank 1 came late"),
        (0, "Late start: rank 1 came late"),
    ):
        said = write_headline(two_ranks(job, saving)).verdict
        words = "\n".join("".join(spans) for spans in (said.spans, *said.lines))
        assert words.startswith(first)
        assert "Late start: rank 1 came late" in words


def test_where_no_trace_wins_anything_one_that_cannot_tell_stands_first():
    report = two_ranks(saving=0)
    healthy = replace(report.traces[1], account=(), observations=())
    unknown = replace(report.traces[0], account=(Line(0, "compute", None, MS, 1.0, "cannot tell", remedy="Look"),))
    said = write_headline(replace(report, traces=(unknown, healthy)))
    assert said.verdict.outcome == "cannot tell"


def test_of_traces_without_a_job_the_one_with_most_to_win_is_the_one_to_look_at():
    """The trace with the longest step came first, also where nothing was to win in it."""
    report = replace(two_ranks(), jobs=())
    long = replace(report.traces[0], findings=(), steps=replace(report.traces[0].steps, mean_ns=1e12))
    report = replace(report, traces=(long, report.traces[1]))
    chosen, why = find_critical_trace(report)
    assert (chosen.trace.trace_id, why) == (2, "Rank 1 has the most to win.")
    assert write_headline(report).trace is chosen


def test_a_job_that_cannot_be_judged_leaves_the_first_place_to_its_ranks():
    assert write_headline(two_ranks(UNKNOWN)).verdict.outcome == "problem"


def test_a_job_that_cannot_be_judged_is_not_healthy_where_its_ranks_are():
    report = two_ranks(UNKNOWN, saving=0)
    healthy = replace(report.traces[0], account=(AT_LIMIT,), steps=replace(report.traces[0].steps, counted=3))
    busy = replace(healthy, ledger=judged().ledger)
    said = write_headline(replace(report, traces=(busy,) * 2))
    assert write_verdict(busy).outcome == "healthy"
    assert (said.verdict.outcome, said.trace) == ("cannot tell", None)


@pytest.mark.parametrize(
    ("confidence", "label", "kind"), [("medium", "To fix", "problem"), ("low", "Look into", "look-into")]
)
def test_what_is_not_sure_has_a_box_of_its_own(confidence, label, kind):
    report = two_ranks()
    traces = [replace(each, findings=(replace(each.findings[0], confidence=confidence),)) for each in report.traces]
    page = ReportView(replace(report, traces=tuple(traces))).to_html()
    assert set(boxes(page)) == {kind}
    assert re.search(rf'<p class="outcome">{label} · {confidence} confidence</p>', page)


def judged(steps=3, counted=None, account=(), triage=None):
    """The report on a busy GPU with an account, of which nothing is unknown."""
    trace = MadeUp()
    for number in range(steps):
        trace.step(1000 * number, 1000).gpu("compute", 1000 * number, 950)
    (report,) = handmade_traces.report(trace, rules=[]).traces
    of = report.triage if triage is None else replace(report.triage, reason=triage)
    counts = report.steps if counted is None else replace(report.steps, counted=counted)
    return replace(report, account=account, steps=counts, triage=of)


AT_LIMIT = Line(0, "compute", None, 950.0, 0.95, "at its limit")


@pytest.mark.parametrize(
    ("lines", "outcome"), [((0.2,), "healthy"), ((0.13, 0.13), "cannot tell"), ((0.3,), "cannot tell")]
)
def test_green_is_only_what_the_account_says(lines, outcome):
    """Several lines that cannot be told, none of a quarter of the step, were called healthy."""
    unknown = tuple(
        Line(0, "compute", "a", 10.0, each, "cannot tell", reason="why", remedy="Measure") for each in lines
    )
    assert write_verdict(judged(account=(AT_LIMIT, *unknown))).outcome == outcome


@pytest.mark.parametrize(
    ("counted", "triage", "outcome"),
    [(3, None, "healthy"), (2, None, "healthy"), (1, None, "cannot tell"), (1, "whole_run", "healthy")],
)
def test_one_step_is_too_few_to_call_a_program_healthy(counted, triage, outcome):
    """A capture with one step that counts was called healthy (D14); a program that runs once has no more of them."""
    said = write_verdict(judged(counted=counted, account=(AT_LIMIT,), triage=triage), "a.json")
    assert said.outcome == outcome
    if outcome == "cannot tell":
        assert "in the one step that was judged" in said.spans[0]
        assert said.lines[-1][-1] == Literal("schedule=torch.profiler.schedule(wait=5, warmup=2, active=10)")


def test_work_launched_before_the_capture_is_not_called_idle():
    """The GPU works in that time (D14): neither its name nor a sum calls it idle."""
    report = judged(account=(AT_LIMIT,))
    (device,) = report.ledger
    idle = next(part for part in device.parts if part.category.startswith("idle"))
    earlier = replace(idle, category="idle_earlier_work", step_share=0.4)
    parts = (*(part for part in device.parts if part is not idle), earlier)
    shown = replace(report, ledger=(replace(device, parts=parts), replace(device, device=1, parts=parts)))
    text = blocks_to_text(compose_report(Report((shown,), "")), 100)
    assert "earlier work" in text
    assert "idle: earlier work" not in text
    assert "idle 40.0 %" not in text
    assert "idle 0.0 %" in text


@pytest.mark.parametrize("outcome", ["problem", "cannot tell", "healthy"])
def test_start_up_has_no_verdict_of_its_own(outcome):
    """Two boxes stood above a page; now start-up is a line of the verdict, or the verdict where nothing is to fix."""
    (trace,) = handmade_traces.report(waiting()).traces
    first = trace.findings[0]
    title = "Start-up takes most of the run"
    remark = Observation("start-up", "start-up", title, first.where, "", first.summary, "Keep the process", ())
    phases = (PhaseOfRun("start_up", 0, 600, 0.6, 0, ""), PhaseOfRun("window", 600, 400, 0.4, 0, ""))
    found = trace.findings if outcome == "problem" else ()
    report = replace(trace, findings=found, account=(), observations=(remark,), phases_of_run=phases)
    if outcome == "healthy":
        report = replace(report, account=(AT_LIMIT,), ledger=judged().ledger)
    said = write_verdict(report)
    words = "600 ns of 1.000 µs (60.0 %)"
    if outcome != "healthy":
        without = write_verdict(replace(report, observations=()))
        assert without.outcome == outcome
        assert said == replace(without, lines=(*without.lines, (f"Start-up takes most of the run: {words}",)))
        # what would tell stays what a single line says, and what a page emphasizes
        assert verdict_in_a_line(said) == verdict_in_a_line(without)
        page = ReportView(Report((report,), "")).to_html()
        assert '<p class="deed">Start-up' not in page
        assert page.partition("</section>")[0].count('<p class="deed">') == 1
    else:
        assert said.outcome == "look into"
        assert "".join(said.spans) == "Look into first: Start-up takes most of the run"
        assert said.lines[:2] == ((words,), ("Keep the process",))
    assert len(boxes(ReportView(Report((report,), "")).to_html())) == 1


def test_every_finding_of_the_json_carries_the_number_that_commands_take():
    """Only the order of the list told which finding is F1 (D30)."""
    report = handmade_traces.report(waiting())
    (trace,) = report.traces
    extra = replace(trace.findings[0], is_extra=True)
    made = replace(report, traces=(replace(trace, findings=trace.findings[:1] * 2, extra_findings=(extra,)),))
    (shown,) = json.loads(ReportView(made).to_json())["traces"]
    assert [each["number"] for each in shown["findings"]] == ["F1", "F2"]
    assert [each["number"] for each in shown["extra_findings"]] == ["E1"]


def test_of_a_finding_with_bounds_alone_only_one_bound_is_shown():
    """A bound of 349.2 ms stood beside 1.8 % and 1.02x, which are of the likely saving (D15)."""
    (trace,) = handmade_traces.report(waiting()).traces
    bounded = replace(
        trace.findings[0],
        only_bounds=True,
        saving_ns=2.0,
        saving_low_ns=1.0,
        saving_high_ns=50.0,
        expected_step_ns=98.0,
    )
    made = replace(handmade_traces.report(waiting()), traces=(replace(trace, findings=(bounded,)),))
    view = ReportView(made, "a.json")
    texts = {
        "text": view.to_text(detail="evidence"),
        "page": html.unescape(view.to_html()),
        "markdown": view.to_markdown(),
        "llm": view.render("llm"),
        "ticket": render_ticket(Ticket(made), "github"),
        "mcp": answer_report(made, "a", "a.json", 8_000).text,
    }
    for name, text in texts.items():
        assert "50 ns" in text, name
        assert not re.search(r"(?<![\d.])2\.0 %|1\.02x|(?<![\d.])2 ns", text), name
    assert "<= 50 ns" in texts["text"]
    assert "<= 50.0 %" in texts["text"]


def assert_agree(report, view):
    """Hold the verdict of a report against every form of it."""
    said = write_headline(report).verdict
    sentence, lines = "".join(said.spans), ["".join(spans) for spans in said.lines]
    json_report = json.loads(view.to_json())
    assert {name: json_report["verdict"][name] for name in ("outcome", "text", "lines")} == {
        "outcome": said.outcome,
        "text": sentence,
        "lines": lines,
    }
    assert view.verdict == verdict_in_a_line(said)
    page = view.to_html()
    assert boxes(page)[0] == said.outcome.replace(" ", "-")
    # a name of any length is cut where it stands, and the screen has two lines for each of the verdict's
    on_page = write_headline(replace(report, source=Path(report.source).name)).verdict
    words = [
        squeezed(part) for spans in (on_page.spans, *on_page.lines) for part in spans if not isinstance(part, Name)
    ]
    of_sentence = [squeezed(part) for part in said.spans if not isinstance(part, Name)]
    shown = {
        "page": (page, words),
        "screen": (view.to_text(), of_sentence),
        "llm": (view.render("llm"), of_sentence[:1]),
    }
    missing = {name: [part for part in parts if part not in squeezed(text)] for name, (text, parts) in shown.items()}
    assert missing == {"page": [], "screen": [], "llm": []}
    for answer in (describe_database(report, "a", "a.json", 8_000), answer_report(report, "a", "a.json", 8_000)):
        assert answer.data["outcome"] == said.outcome
        assert answer.data["verdict"][:200] == verdict_in_a_line(said)[:200]
        assert f"[{said.outcome}]" in answer.text
    assert_command(said)
    assert_ticket(report, said)


def assert_command(said):
    if said.outcome != "cannot tell":
        return
    commands = [span for spans in said.lines for span in spans if isinstance(span, Literal)]
    assert commands, said
    assert not any(re.search(r"\b(TRACE|DB)\b", command) for command in commands), said


def assert_ticket(report, said):
    hidden = redact_report(report)
    told = write_headline(hidden).verdict
    assert told.outcome == said.outcome
    ticket = squeezed(render_ticket(Ticket(hidden), "github"))
    assert squeezed("".join(told.spans))[:250] in ticket
    if "name-" not in "".join(told.spans):
        assert "".join(told.spans) == "".join(said.spans)


def assert_agree_of(path):
    """Hold the verdict of the report on a file against every form of it; some files are refused."""
    try:
        view = make_report(path, scope="drawing")
    except TraceqError:
        assert path.parent.name in ("broken", "odd"), path
        return
    assert_agree(view.content, view)


@pytest.mark.sample(4)
@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_the_verdict_has_the_same_words_wherever_it_stands(path):
    assert_agree_of(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    REAL or [pytest.param(None, marks=pytest.mark.skip(reason="the folder shared is not beside the checkout"))],
    ids=lambda path: getattr(path, "name", "absent"),
)
def test_of_real_traces_the_verdict_has_the_same_words_wherever_it_stands(path):
    assert_agree_of(path)


def test_pages_name_the_source_without_its_folders():
    """A page that was passed on told the home folder, and so the name of its user."""
    source = "/home/alice/run 7/job.duckdb"
    unknown = Line(0, "compute", "a", 500.0, 0.5, "cannot tell", reason="why", remedy="Measure it")
    report = Report((judged(account=(unknown,)),), "", (), source)
    view = ReportView(report, source)
    assert view.to_text(detail="full").count(f"traceq doctor '{source}'") >= 1
    assert source in "".join(json.loads(view.to_json())["verdict"]["lines"])
    for page in (view.to_html(), view.to_markdown(), view._repr_html_()):
        assert "traceq doctor job.duckdb" in html.unescape(page)
        assert "alice" not in page


def test_the_line_on_what_was_written_ends_with_the_verdict_of_the_page(tmp_path):
    path = FIXTURES / "run" / "kineto_2026.json.gz"
    page = tmp_path / "report.html"
    result = CliRunner().invoke(main, ["report", str(path), "-o", str(page)])
    said = write_headline(make_report(path).content).verdict
    assert result.stderr.endswith(f"traceq: wrote {page}: {verdict_in_a_line(said)}\n")
    assert boxes(page.read_text("utf-8"))[0] == said.outcome.replace(" ", "-")
