"""The report for a terminal: plain text, at most 100 columns, no escape codes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

from traceq.printable import printable
from traceq.reports import bar
from traceq.reports.compose import compose
from traceq.reports.document import (
    Bar,
    Bars,
    Curve,
    Facts,
    Heading,
    Items,
    Name,
    Paragraph,
    Query,
    Spans,
    Table,
    Warn,
)
from traceq.reports.names import shortened, width

if TYPE_CHECKING:
    from traceq.reports.report import Report

WIDTH = 100
_INDENT = "  "
_NAME_LIMIT = 70
_LEAST_NAME = 16
_UNDERLINES = {1: "=", 2: "=", 3: "-"}


def to_text(report: Report) -> str:
    """The report as lines of text."""
    lines: list[str] = []
    for block in compose(report):
        if lines and not (isinstance(block, Query) and not lines[-1]):
            lines.append("")
        lines.extend(_lines(block))
    return "\n".join(line.rstrip() for line in lines) + "\n"


@singledispatch
def _lines(block: object) -> Iterator[str]:
    raise TypeError(f"no text for {type(block).__name__}")


@_lines.register
def _(block: Heading) -> Iterator[str]:
    text = _plain(block.spans)
    if block.level in (1, 2):
        yield text
        yield _UNDERLINES[block.level] * min(width(text), WIDTH)
    else:
        yield text
        if block.level in _UNDERLINES:
            yield _UNDERLINES[block.level] * min(width(text), WIDTH)


@_lines.register
def _(block: Paragraph) -> Iterator[str]:
    yield from _wrapped(_plain(block.spans))


@_lines.register
def _(block: Warn) -> Iterator[str]:
    yield from _wrapped(_plain(block.spans), first="! ", others="! ")


@_lines.register
def _(block: Items) -> Iterator[str]:
    for spans in block.items:
        yield from _wrapped(_plain(spans), first="- ", others=_INDENT)


@_lines.register
def _(block: Facts) -> Iterator[str]:
    margin = max(len(label) for label, _ in block.rows) + len(_INDENT)
    for label, spans in block.rows:
        yield from _wrapped(_plain(spans), first=label.ljust(margin), others=" " * margin)


@_lines.register
def _(block: Table) -> Iterator[str]:
    rows = [block.columns, *block.rows]
    limit = _name_limit(rows)
    cells = [[_cell(text, limit) for text in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * each for each in widths])
    for row in cells:
        yield _INDENT.join(
            _padded(text, size, left=index in block.text_columns)
            for index, (text, size) in enumerate(zip(row, widths, strict=True))
        )


def _name_limit(rows: Sequence[Sequence[str]]) -> int:
    """How wide names of this table may be, so that the widest row stays within WIDTH."""
    free = WIDTH
    for row in zip(*rows, strict=True):
        fixed = max(len(text) for text in row if not isinstance(text, Name))
        free -= len(_INDENT) + fixed * (not any(isinstance(text, Name) for text in row))
    with_names = sum(any(isinstance(text, Name) for text in column) for column in zip(*rows, strict=True))
    return max(_LEAST_NAME, free // with_names) if with_names else free


def _cell(text: str, limit: int) -> str:
    return shortened(printable(text), limit) if isinstance(text, Name) else printable(text)


def _padded(text: str, size: int, *, left: bool) -> str:
    blanks = " " * (size - width(text))
    return text + blanks if left else blanks + text


@_lines.register
def _(block: Bar) -> Iterator[str]:
    yield from bar.draw(block.parts)


@_lines.register
def _(block: Bars) -> Iterator[str]:
    yield from bar.draw_rows(block.rows)


@_lines.register
def _(block: Curve) -> Iterator[str]:
    yield bar.curve(block.values)
    yield block.text


@_lines.register
def _(block: Query) -> Iterator[str]:
    # A shell reads a quoted argument over several lines, so that they can be pasted as they are.
    yield from _wrapped(f'traceq sql DB "{block.sql}"', first=_INDENT, others=_INDENT * 2)


def _plain(spans: Spans) -> str:
    return "".join(
        shortened(printable(span), _NAME_LIMIT) if isinstance(span, Name) else printable(span) for span in spans
    )


def _wrapped(text: str, *, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
