"""The report as a ticket: at most 10 KB in the markup of each site, anonymised, with what others need to repeat it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import golden_reports
import pytest
from markdown_it import MarkdownIt
from msgspec import structs

import traceq
from traceq.app.read_options import ReadOptions
from traceq.app.ticket import ticket as make_ticket
from traceq.reports.redact import redact_report, redact_together
from traceq.reports.ticket import LIMIT, SITES, Ticket, render_ticket

DEMO = Path(traceq.__file__).parent / "app" / "demo" / "training.pt.trace.json.gz"
LOG = Path(__file__).resolve().parents[2] / "fixtures" / "run_logs" / "megatron.log"
HOSTILE = "\U0001f600` | {noformat}\n# all | <b>@me [~you] #1 h1. \x1b[31m" * 100
COMMANDS = re.compile(r"(traceq \w+ [^`}\n]*)")

TAGS = {"h1", "h2", "h3", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
TAGS |= {"details", "summary", "blockquote"}


def size(text):
    return len(text.encode())


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return traceq.ingest(DEMO, tmp_path_factory.mktemp("ticket") / "t.duckdb").database


@pytest.fixture(scope="module")
def compared(database):
    return {site: make_ticket(database, against=database, site=site) for site in SITES}


@pytest.mark.sample(3)
@pytest.mark.parametrize("site", SITES)
def test_it_has_verdict_findings_comparison_capture_commands_and_hashes(site, compared, database):
    text = compared[site].text
    first = traceq.report(database).content.traces[0]
    assert size(text) <= LIMIT
    assert first.findings[0].title in text
    assert first.trace.sha256 in text
    for heading in (
        "Compared with the base",
        "What to fix",
        "Where a step goes, GPU 0",
        "Capture",
        "To get the same numbers",
    ):
        assert heading in text
    assert f"traceq {traceq.__version__}" in text
    assert compared[site].verdict.startswith("Fix first: ")


def test_github_and_gitlab_fold_the_evidence_and_jira_does_not(compared):
    assert compared["github"].text == compared["gitlab"].text
    assert compared["github"].text.count("<details>") == compared["github"].text.count("</details>") > 0
    assert "<details>" not in compared["jira"].text
    assert "\nh2. What to fix\n" in compared["jira"].text
    assert "||finding||" in compared["jira"].text


def test_the_commands_exist_with_their_options(compared):
    from click import Context

    from traceq.cli import main

    found = COMMANDS.findall(compared["github"].text)
    assert {each.split()[1] for each in found} == {"report", "compare"}
    for words in map(str.split, found):
        command = main.get_command(Context(main), words[1])
        known = {option for each in command.params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_no_path_and_no_file_name_is_in_it(compared, database):
    for each in compared.values():
        assert DEMO.name not in each.text
        assert str(database) not in each.text
        assert str(database.parent) not in each.text


def test_a_trace_and_a_rank_can_be_chosen(database):
    assert make_ticket(database, traces=(1,)).text == make_ticket(database).text
    with pytest.raises(traceq.StoreError, match="no trace has the trace_id 7"):
        make_ticket(database, traces=(7,))
    with pytest.raises(traceq.StoreError, match="rank 9"):
        make_ticket(database, rank=9)


@pytest.mark.slow
def test_options_are_said_but_not_an_expression_which_may_hold_names():
    made = make_ticket(DEMO, ReadOptions(step_range="^ProfilerStep"), goal="latency")
    assert "--goal latency --step-range STEP_RANGE" in made.text
    assert "^ProfilerStep" not in made.text


def test_logs_beside_are_said_but_not_their_names(tmp_path):
    log = tmp_path / "alice_secret.log"
    shutil.copy(LOG, log)
    made = make_ticket(DEMO, ReadOptions(cache=False, logs=(log,), offset=-0.5), against=DEMO)
    assert re.search(r"traceq report trace-\w+\S* --with LOG --offset=-0\.5", made.text)
    assert "alice" not in made.text


@pytest.mark.parametrize("site", SITES)
def test_hostile_names_neither_make_it_long_nor_mean_anything(site):
    report = golden_reports.one_trace()
    (trace,) = report.traces
    finding = structs.replace(trace.findings[0], title=HOSTILE, finding_id=HOSTILE, fix=HOSTILE, wrong_if=HOSTILE)
    named = structs.replace(
        trace,
        trace=structs.replace(trace.trace, file=HOSTILE, producer=HOSTILE),
        findings=(finding,) * 12,
        devices=tuple(structs.replace(each, name=HOSTILE) for each in trace.devices),
        steps=structs.replace(trace.steps, example=HOSTILE),
        notes=tuple(structs.replace(each, text=HOSTILE) for each in trace.notes),
    )
    text = render_ticket(Ticket(structs.replace(report, traces=(named,) * 3)), site)
    assert size(text) <= LIMIT
    assert "\x1b" not in text
    if site == "jira":
        assert not re.search(r"\{noformat|\[~|^h1\. (?!traceq)|^# ", text, re.MULTILINE)
    else:
        page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        assert set(re.findall(r"<(\w+)", page)) <= TAGS


def test_a_trace_in_which_nothing_is_found_says_what_cannot_be_told():
    report = redact_report(golden_reports.two_traces())
    bare = structs.replace(report, traces=(structs.replace(report.traces[1], not_applicable=NOT_TOLD),))
    text = render_ticket(Ticket(bare), "github")
    assert "## What this capture cannot tell" in text
    assert "1 rule (storage): no system calls" in text


NOT_TOLD = golden_reports._BESIDE["not_applicable"]


def test_an_empty_database_is_said():
    text = render_ticket(Ticket(structs.replace(golden_reports.one_trace(), traces=())), "github")
    assert "The database has no trace." in text


def test_a_name_has_one_stand_in_in_report_and_comparison(database):
    content = traceq.report(database).content
    comparison = traceq.compare(database, database).content
    shown, compared = redact_together(content, comparison)
    assert shown == redact_report(content)
    files = {run.file for side in (compared.base, compared.new) for run in side.runs}
    assert files == {shown.traces[0].trace.file}
