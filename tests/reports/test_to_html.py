"""The page: complete without a network and without a script, safe whatever the names, and not too large."""

from __future__ import annotations

import base64
import hashlib
import importlib
import re
from functools import cache
from html.parser import HTMLParser

import handmade_traces
import pytest
from handmade_traces import HOSTILE, complete, hostile, on_host_only, waiting
from msgspec import structs

from traceq.reports.document import Address, Bar, BarRow, Bars, Curve, Literal, Name, Paragraph, Table
from traceq.reports.renderers.html.blocks import render_block
from traceq.reports.renderers.to_html import LIMIT, to_html

CASES = {
    "hostile": lambda: [hostile()],
    "host_only": lambda: [on_host_only()],
    "waiting": lambda: [waiting()],
    "complete": lambda: [complete()],
    "no_traces": list,
}
_VOID = {"meta", "link", "br", "input"}


def report(case):
    return handmade_traces.report(*CASES[case](), scope="drawing")


def times(number, case):
    """The report of as many traces that are the same."""
    (trace,) = report(case).traces
    traces = (structs.replace(trace, trace=structs.replace(trace.trace, trace_id=n + 1)) for n in range(number))
    return structs.replace(report(case), traces=tuple(traces))


@cache
def page(case):
    return to_html(times(8, "complete") if case == "eight" else report(case))


class Reader(HTMLParser):
    """Elements as (tag, attributes), the visible text, and whether every element was closed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@cache
def read(case):
    reader = Reader(page(case))
    assert reader.open == []
    return reader


every_case = pytest.mark.parametrize("case", [*CASES, "eight"])


@every_case
def test_the_page_is_small(case):
    assert len(page(case).encode()) < LIMIT


@every_case
def test_nothing_is_loaded_from_anywhere(case):
    for name, attributes in read(case).elements:
        assert name not in ("link", "img", "iframe", "object", "embed", "base", "form"), name
        assert "src" not in attributes
        href = attributes.get("href", "#")
        assert href.startswith(("#", "https://", "http://")), href
        assert href.startswith("#") or name == "a"
    assert "@import" not in page(case)
    assert "url(" not in page(case).replace("url(#", "")


@every_case
def test_the_policy_names_the_one_style_and_script_and_nothing_is_inline_besides(case):
    text = page(case)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    for content in (style, script):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    for _, attributes in read(case).elements:
        assert not any(name == "style" or name.startswith("on") for name in attributes)


@every_case
def test_ids_are_unique_and_links_lead_to_them(case):
    ids = [attributes["id"] for _, attributes in read(case).elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    links = {
        attributes["href"][1:] for _, attributes in read(case).elements if attributes.get("href", "").startswith("#")
    }
    assert links <= set(ids)


@every_case
def test_pictures_say_in_words_what_they_show(case):
    for name, attributes in read(case).elements:
        if name == "svg" and attributes.get("role") == "img":
            assert attributes.get("aria-label") or attributes.get("aria-labelledby")


@pytest.mark.parametrize("case", ["waiting", "complete"])
def test_all_that_markdown_says_of_findings_is_on_the_page(case):
    said = " ".join("".join(read(case).text).split())
    for trace in report(case).traces:
        for finding in trace.findings:
            for text in (finding.title, finding.fix, finding.wrong_if, finding.finding_id, finding.confidence_reason):
                assert " ".join(text.replace("`", "").split()) in said
            for evidence in (finding.summary, finding.instances):
                assert evidence.query in said


def test_the_first_thing_said_of_a_trace_is_what_to_fix_and_what_it_wins():
    text = page("waiting")
    first = report("waiting").traces[0].findings[0]
    shown = re.search(r'<section class="verdict problem" aria-label="Verdict of t1">(.*?)</section>', text, re.DOTALL)[
        1
    ]
    words = re.sub("<[^>]*>", " ", shown)
    assert f"{'Look into' if first.confidence == 'low' else 'Fix'} first: {first.title}" in words
    assert " -&gt; " in words
    assert first.deed.split("`")[0] in words
    assert text.index('"verdict ') < text.index("<table")
    assert first.title in re.search(r"<title>(.*?)</title>", text)[1]


def test_a_curve_is_drawn_from_0_to_its_highest_value():
    drawn = render_block(Curve((1.0, 4.0, 0.0), "in use, 0 to 4"), "")
    assert 'd="M0 100V75h1V0h1V100h1V100z"' in drawn
    assert 'viewBox="0 0 3 100"' in drawn
    assert "<figcaption>In use, 0 to 4.</figcaption>" in drawn


def test_a_curve_of_zeros_lies_on_the_ground():
    assert 'd="M0 100V100h1V100h1V100z"' in render_block(Curve((0.0, 0.0), "in use"), "")


def test_verdicts_of_several_traces_have_names_of_their_own():
    labels = re.findall(r'aria-label="(Verdict[^"]*)"', page("eight"))
    assert len(labels) >= 8
    assert len(set(labels)) == len(labels)


def test_hostile_names_stay_text():
    said = "".join(read("hostile").text)
    assert "<script>alert(1)</script>" in said
    assert [name for name, attributes in read("hostile").elements if name == "script" and not attributes] == ["script"]
    assert "\x1b" not in page("hostile")
    assert "\u202e" not in page("hostile")


def test_a_name_of_ten_megabytes_is_cut():
    name = HOSTILE + "n" * 10_000_000
    assert len(render_block(Paragraph((Name(name),)), "")) < 2000


def test_text_is_escaped_in_elements_and_attributes():
    quoted = "<b>\"'&"
    escaped = "&lt;b&gt;&#34;&#39;&amp;"

    def paragraph(span):
        return render_block(Paragraph((span,)), "").removeprefix("<p>").removesuffix("</p>")

    assert paragraph(Literal(quoted)) == f"<code>{escaped}</code>"
    assert paragraph(Name(quoted)) == f"<bdi>{escaped}</bdi>"
    assert paragraph(Address("javascript:alert(1)")) == "javascript:alert(1)"
    assert paragraph("https://e.vil/") == "https://e.vil/"
    assert paragraph(Address('https://e.vil/"')).startswith('<a href="https://e.vil/&#34;" rel="noopener noreferrer"')
    long = Name(quoted + "x" * 100)
    assert f'title="{escaped}xxx' in render_block(Table((quoted,), ((long,),)), "")
    assert f'aria-label="table: {escaped}"' in render_block(Table((quoted,), ()), "")
    for block in (Bar(((quoted, 1.0),)), Bars((BarRow(quoted, ((quoted, 1.0),), quoted),))):
        assert escaped in render_block(block, "")
        assert "<b>" not in render_block(block, "")


def test_a_page_that_would_be_too_large_leaves_drawings_out_before_findings(monkeypatch):
    whole = page("eight")
    sizes = []
    for limit in (len(whole.encode()) - 1, len(whole) // 2, len(whole) // 8):
        monkeypatch.setattr(importlib.import_module("traceq.reports.renderers.to_html"), "LIMIT", limit)
        text = to_html(times(8, "complete"))
        sizes.append(len(text.encode()))
        assert sizes[-1] <= limit
        assert "left out to keep the page small" in text
        assert text.count('class="verdict ') == whole.count('class="verdict ') == 1 + 8
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_hundreds_of_traces_fit():
    text = to_html(times(300, "waiting"))
    assert len(text.encode()) <= LIMIT
    assert text.count('aria-label="Verdict of t') == 300


def test_the_same_report_gives_the_same_bytes():
    assert to_html(report("complete")) == page("complete")
