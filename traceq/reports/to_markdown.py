"""The report in GitHub-flavoured Markdown, for a ticket.

Names from traces become code spans, all other text is escaped: nothing in a trace can start a tag, a link, a
mention or a new cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    Literal,
    Name,
    Paragraph,
    Query,
    Spans,
    Table,
    Warn,
)
from traceq.reports.names import shortened

if TYPE_CHECKING:
    from traceq.reports.report import Report

_NAME_LIMIT = 120

# Everything that can mean something to Markdown; underscores inside words do not.
_SPECIAL = re.compile(r"[\\`*{}\[\]<>#|~&@$!]|(?<![^\W_])_|_(?![^\W_])|(?<=:)//|(?<=www)\.")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def to_markdown(report: Report) -> str:
    """The report as Markdown."""
    return "\n\n".join(_markdown(block) for block in compose(report)) + "\n"


@singledispatch
def _markdown(block: object) -> str:
    raise TypeError(f"no Markdown for {type(block).__name__}")


@_markdown.register
def _(block: Heading) -> str:
    return f"{'#' * block.level} {_inline(block.spans)}"


@_markdown.register
def _(block: Paragraph) -> str:
    return _inline(block.spans)


@_markdown.register
def _(block: Warn) -> str:
    return f"> **Note:** {_inline(block.spans)}"


@_markdown.register
def _(block: Items) -> str:
    return "\n".join(f"- {_inline(spans)}" for spans in block.items)


@_markdown.register
def _(block: Facts) -> str:
    return "\n".join(f"- **{label}**: {_inline(spans)}" for label, spans in block.rows)


@_markdown.register
def _(block: Table) -> str:
    rule = [":---" if index in block.text_columns else "---:" for index in range(len(block.columns))]
    return "\n".join([_row(block.columns), _row_of(rule), *(_row(row) for row in block.rows)])


def _row(cells: tuple[str, ...]) -> str:
    return _row_of(_span(text).replace("|", "\\|") for text in cells)


def _row_of(cells: Iterator[str] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


@_markdown.register
def _(block: Bar) -> str:
    drawn, legend = bar.draw(block.parts)
    return f"```text\n{drawn}\n{legend}\n```"


@_markdown.register
def _(block: Bars) -> str:
    return "\n".join(["```text", *(line.rstrip() for line in bar.draw_rows(block.rows)), "```"])


@_markdown.register
def _(block: Curve) -> str:
    return f"```text\n{bar.curve(block.values).rstrip()}\n{block.text}\n```"


@_markdown.register
def _(block: Query) -> str:
    return f'```sh\ntraceq sql DB "{block.sql}"\n```'


def _inline(spans: Spans) -> str:
    return "".join(map(_span, spans))


def _span(text: str) -> str:
    if isinstance(text, Name):
        return _code(shortened(printable(text), _NAME_LIMIT))
    if isinstance(text, Literal):
        return _code(printable(text))
    return _SPECIAL.sub(lambda match: "".join(map(_entity, match[0])), printable(text))


def _entity(character: str) -> str:
    """As an entity and not after a backslash, which not everything that reads Markdown takes for an escape."""
    return _ENTITIES.get(character, f"&#{ord(character)};")


def _code(text: str) -> str:
    """`text` as a code span: fenced by one backtick more than it holds, padded where they touch."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{padding}{text}{padding}{fence}"
