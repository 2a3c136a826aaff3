"""The blocks of the document as HTML, one function each."""

from __future__ import annotations

from functools import singledispatch

from markupsafe import Markup

from traceq.reports.charts.svg import svg
from traceq.reports.document import (
    Bar,
    Bars,
    Curve,
    Facts,
    Fold,
    Heading,
    Items,
    Name,
    Paragraph,
    Picture,
    Query,
    Table,
    Title,
    Tracks,
    Verdict,
    Warn,
)
from traceq.reports.html import bars
from traceq.reports.html.markup import inline, joined, span, tag, text
from traceq.reports.html.tracks import tracks
from traceq.reports.names import shortened

_CELL_LIMIT = 80


@singledispatch
def markup(block: object, _anchors: str) -> Markup:
    """`block` as HTML; the second argument stands before the anchors of its trace."""
    raise TypeError(f"no HTML for {type(block).__name__}")


@markup.register
def _(block: Heading, anchors: str) -> Markup:
    anchor = None if block.anchor is None else f"{anchors}{block.anchor}"
    return tag(f"h{block.level}", inline(block.spans, anchors), id=anchor)


@markup.register
def _(block: Verdict, anchors: str) -> Markup:
    return tag("p", inline(block.spans, anchors), class_="verdict")


@markup.register
def _(block: Paragraph, anchors: str) -> Markup:
    return tag("p", inline(block.spans, anchors))


@markup.register
def _(block: Warn, anchors: str) -> Markup:
    return tag("p", inline(block.spans, anchors), class_="warn", role="note")


@markup.register
def _(block: Items, anchors: str) -> Markup:
    return tag("ul", *(tag("li", inline(spans, anchors)) for spans in block.items))


@markup.register
def _(block: Facts, anchors: str) -> Markup:
    rows = (tag("div", tag("dt", text(label)), tag("dd", inline(spans, anchors))) for label, spans in block.rows)
    return tag("dl", *rows)


@markup.register
def _(block: Table, anchors: str) -> Markup:
    header = tag("tr", *(_header(block, index) for index in range(len(block.columns))))
    rows = (tag("tr", *(_cell(block, index, row[index], anchors) for index in range(len(row)))) for row in block.rows)
    table = tag("table", tag("thead", header), tag("tbody", *rows), class_="sortable")
    # With a keyboard only what can be focused can be scrolled.
    return tag("div", table, class_="scroll", tabindex=0, role="group", aria_label=f"table: {', '.join(block.columns)}")


def _header(block: Table, index: int) -> Markup:
    kind = None if index in block.text_columns else "number"
    if not block.columns[index]:
        return tag("td")
    return tag("th", text(block.columns[index]), scope="col", class_=kind)


def _cell(block: Table, index: int, value: str, anchors: str) -> Markup:
    if isinstance(value, Title) or not isinstance(value, Name):
        return tag("td", span(value, anchors), class_=None if index in block.text_columns else "number")
    short = shortened(value, _CELL_LIMIT)
    full = None if short == value else shortened(value, 10 * _CELL_LIMIT)
    return tag("td", span(Name(short)), title=full and text(full).unescape())


@markup.register
def _(block: Bar, _: str) -> Markup:
    return bars.bar(block)


@markup.register
def _(block: Bars, _: str) -> Markup:
    return bars.bars(block)


@markup.register
def _(block: Curve, _: str) -> Markup:
    return bars.curve(block)


@markup.register
def _(block: Query, _: str) -> Markup:
    code = tag("pre", tag("code", text(block.sql)), tabindex=0)
    return tag("details", tag("summary", text("SQL that gives these numbers")), code, class_="sql")


@markup.register
def _(block: Fold, anchors: str) -> Markup:
    content = joined(_folded(each, anchors) for each in block.blocks)
    return tag("details", tag("summary", inline(block.title, anchors)), content, class_="sql")


def _folded(block: object, anchors: str) -> Markup:
    if isinstance(block, Query):
        return tag("pre", tag("code", text(block.sql)), tabindex=0)
    return markup(block, anchors)


@markup.register
def _(block: Picture, _: str) -> Markup:
    return tag("figure", Markup(svg(block.draw(), block.name, block.alt)), class_="chart")  # noqa: S704 - escaped by svg


@markup.register
def _(block: Tracks, _: str) -> Markup:
    return tracks(block.timeline)
