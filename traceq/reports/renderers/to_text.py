"""The report for a terminal: plain text of any width from 40 columns up, in colour if wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from shlex import quote
from typing import Any

import msgspec

from traceq.common.text import printable, width
from traceq.reports import document as doc
from traceq.reports.fit import pick_fitting
from traceq.reports.model import Report
from traceq.reports.renderers import bar
from traceq.reports.renderers.colour import Paint, paint_nothing, paint_text
from traceq.reports.renderers.first_screen import ledger_lines, ranking_lines, verdict_lines
from traceq.reports.renderers.table_text import render_table
from traceq.reports.renderers.wrapping import to_plain_text, wrap_sql, wrap_text
from traceq.reports.sections.brief import ROOMS, first_screen

WIDTH = 100
LEAST_WIDTH = 40

_INDENT = "  "
# Of headings of sections; those above them are the report's own, of which there is one each.
_UNDERLINES = {3: "-"}
# Lines of the first screen of a job.
_LINES_OF_JOB = 48

# Facts stand beside their labels where at least as much is left for them.
_LEAST_ROOM = 44


class _TextPage(msgspec.Struct, frozen=True):
    """A page of text: its width in columns, its painter for colours, and the path of the source that commands name."""

    width: int
    paint: Paint
    source: str = "DB"


def to_text(report: Report, width: int = WIDTH, *, colour: bool = False, source: str | None = None) -> str:
    """Return the first screen of the report as text in lines of at most `width` columns (40 to 100).

    Only commands may be longer, so that they can be copied; they name the file or database `source`. With `colour` there
    are escape codes, but none from the trace. Where the report is on a job, what matters least is left out until its lines
    are at most 48, if that is possible.
    """
    named_source = quote(source or "DB")
    texts = (
        blocks_to_text(first_screen(report, source, room), width, colour=colour, source=named_source)
        for room in (ROOMS if report.jobs else ROOMS[:1])
    )
    return pick_fitting(texts, lambda text: text.count("\n") <= _LINES_OF_JOB)


def blocks_to_text(blocks: Iterable[doc.Block], width: int = WIDTH, *, colour: bool = False, source: str = "DB") -> str:
    """Return the blocks as text in lines of at most `width` columns (40 to 100); commands and words of SQL may be longer.

    `source` is the path that commands name.
    """
    page = _TextPage(min(max(width, LEAST_WIDTH), WIDTH), paint_text if colour else paint_nothing, source)
    lines: list[str] = []
    for block in _unfold_blocks(blocks):
        if lines and not (isinstance(block, doc.Query) and not lines[-1]):
            lines.append("")
        lines.extend(_LINES[type(block)](block, page))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _unfold_blocks(blocks: Iterable[doc.Block]) -> Iterator[doc.Block]:
    """Yield the blocks without charts, timelines and flame graphs; a fold is replaced by a heading and its blocks."""
    for block in blocks:
        if isinstance(block, doc.Fold):
            yield doc.Heading(4, block.title)
            yield from _unfold_blocks(block.blocks)
        elif not isinstance(block, doc.Picture | doc.Tracks | doc.Flame):
            yield block


def _render_heading(block: doc.Heading, page: _TextPage) -> Iterator[str]:
    yield from _wrap_spans(to_plain_text(block.spans), page, style="heading")
    if block.level in _UNDERLINES:
        columns = max(
            (width(line) for line in _wrap_spans(to_plain_text(block.spans), _TextPage(page.width, paint_nothing))),
            default=0,
        )
        yield _UNDERLINES[block.level] * columns


def _render_warning(block: doc.Warn, page: _TextPage) -> Iterator[str]:
    mark = page.paint("!", "warning") + " "
    return _wrap_spans(to_plain_text(block.spans), page, first=mark, others=mark, style="warning", indent=len("! "))


def _render_items(block: doc.Items, page: _TextPage) -> Iterator[str]:
    for spans in block.items:
        yield from _wrap_spans(to_plain_text(spans), page, first="- ", others=_INDENT, indent=len(_INDENT))


def _render_facts(block: doc.Facts, page: _TextPage) -> Iterator[str]:
    margin = max(width(printable(label)) for label, _ in block.rows) + len(_INDENT)
    beside = page.width - margin >= _LEAST_ROOM
    for label, spans in block.rows:
        text = to_plain_text(spans)
        style, styled = _choose_style(label, text)
        if beside:
            first, indent = printable(label).ljust(margin), margin
        else:
            yield printable(label)
            first, indent = _INDENT, len(_INDENT)
        yield from _wrap_spans(text, page, first=first, others=" " * indent, style=style, styled=styled, indent=indent)


def _choose_style(label: str, text: str) -> tuple[str, int]:
    """Return (style for the beginning of a fact's `text`, length of this beginning); ("", 0) for none."""
    if label == "confidence":
        level = text.partition(".")[0]
        return level, len(level)
    if label == "saving":
        return "saving", len(text.partition(",")[0])
    return "", 0


# In quotes, as the path may have spaces.
_VARIABLE = '"$TRACE"'


def _render_commands(block: doc.Commands, page: _TextPage) -> Iterator[str]:
    """Yield the block's title, then a line for each command, after what it shows.

    Commands are not cut, so that they can be copied. If commands are too wide, a long path is set once as a shell
    variable.
    """
    yield page.paint(f"{block.title}:", "heading")
    margin = max(width(what) for what, _ in block.rows) + 2 * len(_INDENT)
    commands = [printable(command) for _, command in block.rows]
    path = printable(page.source)
    if len(path) > len(_VARIABLE) and max(map(width, commands)) + margin > page.width:
        yield f"{_INDENT}TRACE={path}"
        commands = [command.replace(path, _VARIABLE) for command in commands]
    for (what, _), command in zip(block.rows, commands, strict=True):
        yield f"{(_INDENT + what).ljust(margin)}{command}"


def _render_query(block: doc.Query, page: _TextPage) -> Iterator[str]:
    # A shell reads a quoted argument over several lines, so that they can be pasted as they are.
    rooms = page.width - len(_INDENT), page.width - 2 * len(_INDENT)
    for number, line in enumerate(wrap_sql(f'traceq sql {page.source} "{printable(block.sql)}"', *rooms)):
        yield _INDENT * (2 if number else 1) + page.paint(line, "dim")


_LINES: dict[type, Callable[[Any, _TextPage], Iterable[str]]] = {
    doc.Heading: _render_heading,
    doc.Header: lambda block, page: _wrap_spans(" · ".join(to_plain_text(spans) for _, spans in block.rows), page),
    doc.Verdict: lambda block, page: verdict_lines(block, page.width, page.paint),
    doc.Ledger: lambda block, page: ledger_lines(block, page.width, page.paint),
    doc.Ranking: lambda block, page: ranking_lines(block, page.width, page.paint),
    doc.Commands: _render_commands,
    doc.Paragraph: lambda block, page: _wrap_spans(to_plain_text(block.spans), page),
    doc.Warn: _render_warning,
    doc.Items: _render_items,
    doc.Facts: _render_facts,
    doc.Table: lambda block, page: render_table(block, page.width, page.paint),
    doc.Bar: lambda block, page: bar.draw_bar(block.parts, page.width, page.paint),
    doc.Bars: lambda block, page: bar.draw_bar_rows(block.rows, page.width, page.paint),
    doc.Curve: lambda block, page: [
        bar.draw_curve(block.values, page.width),
        *_wrap_spans(printable(block.text), page),
    ],
    doc.Query: _render_query,
}


def _wrap_spans(
    text: str,
    page: _TextPage,
    *,
    first: str = "",
    others: str = "",
    indent: int = 0,
    style: str = "",
    styled: int | None = None,
) -> Iterator[str]:
    """Yield the lines of `text`, wrapped; they begin with `first`, then with `others`, both `indent` columns wide.

    The first `styled` characters are painted in `style`, all of them for None.
    """
    until = len(text) if styled is None else styled
    for number, (start, end) in enumerate(wrap_text(text, page.width - indent, whole=page.width < WIDTH)):
        middle = min(max(start, until), end)
        yield (others if number else first) + page.paint(text[start:middle], style) + text[middle:end]
