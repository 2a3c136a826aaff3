from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser

import handmade_traces
import pytest
from golden_reports import one_trace, two_traces
from handmade_traces import (
    MadeUp,
    complete,
    database,
    hostile,
    marked,
    on_host_only,
    three_ranks,
    training,
    unmarked,
    waiting,
)
from markdown_it import MarkdownIt
from msgspec import structs

from traceq.common.text import width
from traceq.diagnosis.rules.registry import all_rules
from traceq.reports import RENDERERS, SUFFIXES
from traceq.reports.build import build
from traceq.reports.renderers.to_json import to_json
from traceq.reports.renderers.to_markdown import to_markdown
from traceq.reports.renderers.to_text import blocks_to_text, to_text
from traceq.reports.sections.compose import compose_report

_SUFFIX_OF = {name: suffix for suffix, name in SUFFIXES.items()}

CASES = {
    "training": lambda: [training()],
    "hostile": lambda: [hostile()],
    "host_only": lambda: [on_host_only()],
    "unmarked": lambda: [unmarked()],
    "marked": lambda: [marked()],
    "waiting": lambda: [waiting()],
    "complete": lambda: [complete()],
    "three_ranks": three_ranks,
    "no_slices": lambda: [MadeUp(ts=None, dur=None)],
    "no_traces": list,
}


@cache
def connected(case):
    return database(*CASES[case]())


def report(case):
    if case == "three_ranks":
        return handmade_traces.report(*CASES[case](), top=1, rules=_FEW_RULES, scope="drawing")
    return handmade_traces.report(*CASES[case](), scope="drawing")


# Of several traces all rules would take long.
_FEW_RULES = [rule for rule in all_rules() if rule.name in {"exposed-communication", "late-rank", "hotspot-kernel"}]


@cache
def rendered(case, format_):
    return full_text(report(case)) if format_ == "text" else RENDERERS[format_](report(case))


def full_text(report):
    return blocks_to_text(compose_report(report))


every_case = pytest.mark.parametrize("case", CASES)
every_format = pytest.mark.parametrize("format_", RENDERERS)


@every_format
@pytest.mark.parametrize("fixed", [one_trace, two_traces])
def test_reports_are_as_the_golden_files(fixed, format_, golden):
    text = RENDERERS[format_](fixed())
    name = f"{fixed.__name__}{_SUFFIX_OF[format_]}"
    golden.check(name, _without_drawings(text) if format_ == "html" else text)


def test_all_of_a_report_as_text_is_as_the_golden_file(golden):
    golden.check("one_trace_full.txt", full_text(one_trace()))


def _without_drawings(text):
    """The page without what has tests of its own: style, script and the inside of pictures."""
    return re.sub(r"(<(style|script|svg)\b[^>]*>).*?(</\2>)", r"\1\3", text, flags=re.DOTALL)


@pytest.mark.sample(3)
@every_case
@every_format
def test_every_finding_is_shown_with_what_to_do_and_its_query(case, format_):
    shown = _plain(rendered(case, format_), format_)
    for trace in report(case).traces:
        for finding in trace.findings:
            assert _words(finding.title) in shown
            assert _words(finding.summary.query) in shown
            # hostile names in it are cut and cleaned
            fix = finding.fix if format_ == "json" else finding.fix.replace("`", "")
            assert _words(fix) in shown or case == "hostile"


def _plain(text, format_):
    """What is read of a report, with one blank between words."""
    if format_ == "json":
        return _words(" ".join(_strings(json.loads(text))))
    if format_ == "md":
        text = _html(text)
    return _words("".join(_Page(text).text) if format_ in ("md", "html") else text)


def _html(markdown):
    return MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").render(markdown)


def _words(text):
    return " ".join(text.split())


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


@every_case
def test_the_ledger_of_each_device_adds_up_to_the_counted_steps(case):
    content = json.loads(rendered(case, "json"))
    for trace in content["traces"]:
        for device in {row["device"] for row in trace["ledger"]}:
            rows = [row for row in trace["ledger"] if row["device"] == device]
            assert sum(row["dur_ns"] for row in rows) == trace["steps"]["total_ns"]
            assert sum(row["step_share"] for row in rows) == pytest.approx(1)


@every_case
@pytest.mark.parametrize("format_", ["text", "md", "html"])
def test_every_category_of_the_ledger_is_shown_by_its_name(case, format_):
    shown = _plain(rendered(case, format_), format_)
    for trace in report(case).traces:
        for part in (part for device in trace.ledger for part in device.parts):
            assert part.category in shown


@every_case
def test_names_make_no_markup_in_markdown(case):
    page = _Page(_html(rendered(case, "md")))
    assert page.tags <= _HARMLESS
    assert all(link.startswith("https://") for link in page.links)


def test_the_same_trace_gives_the_same_bytes():
    # analysed anew, too
    handmade_traces._made_once.cache_clear()
    again = build(database(training()), 10, scope="drawing")
    for render in RENDERERS.values():
        assert render(report("training")) == render(again)


@pytest.mark.parametrize("render", [full_text, to_text, to_markdown])
def test_a_report_that_was_built_to_be_drawn_reads_the_same_elsewhere(render):
    (trace,) = report("waiting").traces
    assert trace.over_time
    assert trace.flame
    bare = structs.replace(trace, activity=None, over_time=None, flame=None, close_ups={})
    assert render(report("waiting")) == render(structs.replace(report("waiting"), traces=(bare,)))


def test_several_traces_begin_with_what_to_fix_first_in_each():
    text = full_text(report("three_ranks"))
    assert text.index("fix first") < text.index("Trace 1: ")


def test_the_command_offers_every_format():
    from traceq.cli.report import report

    (choice,) = [each.type.choices for each in report.params if each.name == "format_"]
    assert tuple(RENDERERS) == tuple(SUFFIXES.values())
    assert tuple(choice) == (*RENDERERS, "llm")


@every_case
def test_text_has_at_most_100_columns_and_nothing_that_steers_a_terminal(case):
    for text in (full_text(report(case)), to_text(report(case))):
        assert all(line.isprintable() for line in text.splitlines())
        # a literal of a query cannot be broken
        lines = [line for line in text.splitlines() if " traceq " not in line and not line.lstrip().startswith("'")]
        assert max(map(width, lines)) <= 100


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", ["training", "unmarked", "waiting", "complete"])
def test_queries_can_be_copied_from_the_text(case):
    queries = re.findall(r'traceq sql DB "([^"]*)"', full_text(report(case)))
    assert len(queries) > 3
    results = [connected(case).execute(query).fetchall() for query in queries]
    told = {value for rows in results for row in rows for value in row}
    # What a finding has from others, which the same fix wins, is theirs.
    alone = [finding for finding in report(case).traces[0].findings if not finding.parts]
    assert {finding.claimed_ns for finding in alone} <= told


_HARMLESS = {"h1", "h2", "h3", "h4", "p", "ul", "li", "strong", "code", "pre", "blockquote", "details", "summary"}
_HARMLESS |= {"a", "table", "thead", "tbody", "tr", "th", "td"}


class _Page(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.cells, self.links, self.text = set(), [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.links += [value for name, value in attributes if name == "href"]
        if tag == "tr":
            self.cells.append(0)
        if tag in ("td", "th"):
            self.cells[-1] += 1

    def handle_data(self, data):
        self.text.append(data)


def test_hostile_names_make_no_markup_and_no_cells_in_markdown():
    text = to_markdown(report("hostile"))
    page = _Page(_html(text))
    assert page.tags == _HARMLESS
    assert all(link.startswith("https://") for link in page.links)
    # steps, the ledger and the training thread, findings and their evidence, sizes of gaps, gaps, kernels, copies
    assert set(page.cells) == {8, 4, 6, 3, 7, 5, 9, 10}
    assert "@me" not in re.sub(r"`+[^\n]*?`+", "", text)


def test_json_of_a_trace_has_the_promised_keys():
    written = json.loads(to_json(report("training")))
    assert written["schema_version"] == 4
    (content,) = written["traces"]
    promised = {"trace", "steps", "ledger", "findings", "clean", "not_applicable", "failed", "notes"}
    promised |= {"gaps", "gap_sizes", "outliers", "host_ledger"}
    promised |= {"copies", "communication", "kernels", "data", "memory", "serving"}
    assert promised <= content.keys()
    of_a_finding = {"rule", "title", "id", "saving_ns", "saving_low_ns", "saving_high_ns", "expected_step_ns"}
    of_a_finding |= {"confidence", "where", "evidence", "query", "fix", "wrong_if", "claimed_ns", "owned_ns", "parts"}
    assert all(of_a_finding <= finding.keys() for finding in content["findings"])


def test_json_numbers_are_not_rounded():
    (content,) = json.loads(to_json(report("training")))["traces"]
    assert content["steps"]["mean_ns"] == 30_000_001 / 3
    assert sum(row["dur_ns"] for row in content["ledger"] if row["device"] == 0) == 30_000_001
    assert content["steps"]["total_ns"] == 30_000_001


def test_json_has_throughput_and_phases_of_marked_steps():
    (content,) = json.loads(to_json(report("marked")))["traces"]
    assert [(each["key"], each["total"], each["per_second"]) for each in content["throughput"]] == [
        ("micro_batch", 3.0, 100.0),
        ("samples", 96.0, 3200.0),
        ("tokens", 49152.0, 1638400.0),
    ]
    assert [(each["phase"], each["count"], each["dur_ns"], each["median_ns"]) for each in content["phases"]] == [
        ("data", 6, 12_000_006, 4_000_002.0),
        ("forward", 3, 9_000_000, 3_000_000.0),
        ("checkpoint", 1, 1_500_000, 0.0),
    ]
    assert content["phases"][1]["step_share"] == 0.3
    assert content["trace"]["overhead_share"] == 0.0345


def test_json_of_several_traces_lists_them():
    content = json.loads(to_json(report("three_ranks")))
    assert content.keys() == {"schema_version", "verdict", "jobs", "traces"}
    assert [each["trace"]["rank"] for each in content["traces"]] == [0, 1, 2]
    verdict = {
        "outcome": "cannot tell",
        "text": "The database has no trace.",
        "lines": ["Fill it: traceq ingest TRACE... -o traces.duckdb"],
        "trace_id": None,
    }
    nothing = {"schema_version": 4, "verdict": verdict, "jobs": [], "traces": []}
    assert json.loads(to_json(report("no_traces"))) == nothing
