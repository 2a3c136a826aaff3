from __future__ import annotations

import dataclasses
import json
import re
from functools import cache
from html.parser import HTMLParser

import made_up
import pytest
from made_up import MadeUp, complete, database, eight_ranks, hostile, marked, on_host_only, training, unmarked, waiting
from markdown_it import MarkdownIt

from traceq.cli.report import _FORMAT_OF_SUFFIX, FORMATS
from traceq.reports import RENDERERS, SUFFIXES
from traceq.reports.build import build
from traceq.reports.names import width
from traceq.reports.to_json import to_json
from traceq.reports.to_markdown import to_markdown
from traceq.reports.to_text import to_text

_SUFFIX_OF = {name: suffix for suffix, name in SUFFIXES.items()}

CASES = {
    "training": lambda: [training()],
    "hostile": lambda: [hostile()],
    "host_only": lambda: [on_host_only()],
    "unmarked": lambda: [unmarked()],
    "marked": lambda: [marked()],
    "waiting": lambda: [waiting()],
    "complete": lambda: [complete()],
    "eight_ranks": eight_ranks,
    "no_slices": lambda: [MadeUp(ts=None, dur=None)],
    "no_traces": list,
}


@cache
def connected(case):
    return database(*CASES[case]())


def report(case):
    return made_up.report(*CASES[case](), top=1 if case == "eight_ranks" else 10, drawn=True)


@pytest.mark.parametrize("format_", RENDERERS)
@pytest.mark.parametrize("case", CASES)
def test_reports_are_as_the_golden_files(case, format_, golden):
    text = RENDERERS[format_](report(case))
    golden.check(f"{case}{_SUFFIX_OF[format_]}", _without_drawings(text) if format_ == "html" else text)


def _without_drawings(text):
    """The page without what has tests of its own: style, script and the inside of pictures."""
    return re.sub(r"(<(style|script|svg)\b[^>]*>).*?(</\2>)", r"\1\3", text, flags=re.DOTALL)


@pytest.mark.parametrize("format_", RENDERERS)
def test_the_same_trace_gives_the_same_bytes(format_):
    # analysed anew, too
    made_up._made_once.cache_clear()
    again = build(database(training()), 10, drawn=True)
    assert RENDERERS[format_](report("training")) == RENDERERS[format_](again)


@pytest.mark.parametrize("render", [to_text, to_markdown])
def test_a_report_that_was_built_to_be_drawn_reads_the_same_elsewhere(render):
    (trace,) = report("waiting").traces
    assert trace.timelines
    bare = dataclasses.replace(trace, timelines=(), close_ups={})
    assert render(report("waiting")) == render(dataclasses.replace(report("waiting"), traces=(bare,)))


def test_several_traces_begin_with_what_to_fix_first_in_each():
    text = to_text(report("eight_ranks"))
    assert text.index("fix first") < text.index("Trace 1: ")


def test_the_command_offers_the_formats_there_are():
    assert tuple(RENDERERS) == FORMATS
    assert SUFFIXES == _FORMAT_OF_SUFFIX


@pytest.mark.parametrize("case", CASES)
def test_text_has_at_most_100_columns_and_nothing_that_steers_a_terminal(case):
    lines = to_text(report(case)).splitlines()
    assert all(line.isprintable() for line in lines)
    assert max(map(width, lines)) <= 100


@pytest.mark.parametrize("case", ["training", "unmarked", "waiting", "complete"])
def test_queries_can_be_copied_from_the_text(case):
    queries = re.findall(r'traceq sql DB "([^"]*)"', to_text(report(case)))
    assert len(queries) > 3
    results = [connected(case).execute(query).fetchall() for query in queries]
    told = {value for rows in results for row in rows for value in row}
    assert {finding.claimed_ns for finding in report(case).traces[0].findings} <= told


class _Page(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.cells, self.links = set(), [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.links += [value for name, value in attributes if name == "href"]
        if tag == "tr":
            self.cells.append(0)
        if tag in ("td", "th"):
            self.cells[-1] += 1


def test_hostile_names_make_no_markup_and_no_cells_in_markdown():
    text = to_markdown(report("hostile"))
    page = _Page(MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").render(text))
    harmless = {"h1", "h2", "h3", "h4", "p", "ul", "li", "strong", "code", "pre", "blockquote", "details", "summary"}
    assert page.tags == harmless | {"a", "table", "thead", "tbody", "tr", "th", "td"}
    assert all(link.startswith("https://") for link in page.links)
    # steps, the ledger and the training thread, findings and their evidence, sizes of gaps, gaps, kernels, copies
    assert set(page.cells) == {8, 4, 6, 3, 7, 5, 10}
    assert "@me" not in re.sub(r"`+[^\n]*?`+", "", text)


def test_json_of_one_trace_has_the_promised_keys_at_the_top():
    content = json.loads(to_json(report("training")))
    assert content["schema_version"] == 3
    promised = {"trace", "steps", "ledger", "findings", "clean", "not_applicable", "failed", "notes"}
    promised |= {"gaps", "gap_sizes", "outliers", "host_ledger"}
    promised |= {"copies", "communication", "kernels", "data", "memory"}
    assert promised <= content.keys()
    of_a_finding = {"rule", "title", "id", "saving_ns", "saving_low_ns", "saving_high_ns", "expected_step_ns"}
    of_a_finding |= {"confidence", "where", "evidence", "query", "fix", "wrong_if", "claimed_ns", "owned_ns", "parts"}
    assert all(of_a_finding <= finding.keys() for finding in content["findings"])


def test_json_numbers_are_not_rounded():
    content = json.loads(to_json(report("training")))
    claimed = next(each for each in content["findings"] if each["rule"] == "idle-unattributed")["claimed_ns"]
    assert claimed == 9_295_501 / 3
    assert sum(row["dur_ns"] for row in content["ledger"] if row["device"] == 0) == 30_000_001
    assert content["steps"]["total_ns"] == 30_000_001


def test_json_has_throughput_and_phases_of_marked_steps():
    content = json.loads(to_json(report("marked")))
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
    content = json.loads(to_json(report("eight_ranks")))
    assert content.keys() == {"schema_version", "traces"}
    assert [each["trace"]["rank"] for each in content["traces"]] == list(range(8))
    assert json.loads(to_json(report("no_traces"))) == {"schema_version": 3, "traces": []}
