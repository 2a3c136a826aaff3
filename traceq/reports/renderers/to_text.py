"""The report for a terminal: plain text of any width from 40 columns up, in colour if wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from traceq.common.text import printable, width
from traceq.reports import document as doc
from traceq.reports.model import Report
from traceq.reports.renderers import bar
from traceq.reports.renderers.colour import Paint, painted, plain
from traceq.reports.renderers.first_screen import ledger_lines, ranking_lines, verdict_lines
from traceq.reports.renderers.plain_text import plain_text
from traceq.reports.renderers.table_text import table_text
from traceq.reports.renderers.wrapping import wrapped, wrapped_sql
from traceq.reports.sections.brief import brief

WIDTH = 100
LEAST_WIDTH = 40

_INDENT = "  "
_UNDERLINES = {1: "=", 2: "=", 3: "-"}

# Facts stand beside their labels where at least as much is left for them.
_LEAST_ROOM = 44


@dataclass(frozen=True)
class _Page:
    """How wide a line may be, in columns, how text is coloured, and the source named in commands."""

    width: int
    paint: Paint
    source: str = "DB"


def to_text(report: Report, width: int = WIDTH, *, colour: bool = False) -> str:
    """The first screen of the report, in lines of at most `width` columns, taken as 40 to 100.

    Only commands are longer, so that they can be copied. With `colour` there are escape codes for colours, and no others:
    nothing in a trace can bring its own.
    """
    return text_of(brief(report), width, colour=colour)


def text_of(blocks: Iterable[doc.Block], width: int = WIDTH, *, colour: bool = False, source: str = "DB") -> str:
    """The blocks as `to_text` shows them; queries have words longer than a line. `source` is named in commands."""
    page = _Page(min(max(width, LEAST_WIDTH), WIDTH), painted if colour else plain, source)
    lines: list[str] = []
    for block in _in_sight(blocks):
        if lines and not (isinstance(block, doc.Query) and not lines[-1]):
            lines.append("")
        lines.extend(_LINES[type(block)](block, page))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _in_sight(blocks: Iterable[doc.Block]) -> Iterator[doc.Block]:
    """What is drawn elsewhere is said in words too; what is folded elsewhere has its title above it."""
    for block in blocks:
        if isinstance(block, doc.Fold):
            yield doc.Heading(4, block.title)
            yield from _in_sight(block.blocks)
        elif not isinstance(block, doc.Picture | doc.Tracks | doc.Flame):
            yield block


def _heading(block: doc.Heading, page: _Page) -> Iterator[str]:
    yield from _wrapped(plain_text(block.spans), page, style="heading")
    if block.level in _UNDERLINES:
        columns = max((width(line) for line in _wrapped(plain_text(block.spans), _Page(page.width, plain))), default=0)
        yield _UNDERLINES[block.level] * columns


def _warn(block: doc.Warn, page: _Page) -> Iterator[str]:
    mark = page.paint("!", "warning") + " "
    return _wrapped(plain_text(block.spans), page, first=mark, others=mark, style="warning", indent=len("! "))


def _items(block: doc.Items, page: _Page) -> Iterator[str]:
    for spans in block.items:
        yield from _wrapped(plain_text(spans), page, first="- ", others=_INDENT, indent=len(_INDENT))


def _facts(block: doc.Facts, page: _Page) -> Iterator[str]:
    margin = max(width(printable(label)) for label, _ in block.rows) + len(_INDENT)
    beside = page.width - margin >= _LEAST_ROOM
    for label, spans in block.rows:
        text = plain_text(spans)
        style, styled = _weight(label, text)
        if beside:
            first, indent = printable(label).ljust(margin), margin
        else:
            yield printable(label)
            first, indent = _INDENT, len(_INDENT)
        yield from _wrapped(text, page, first=first, others=" " * indent, style=style, styled=styled, indent=indent)


def _weight(label: str, text: str) -> tuple[str, int]:
    """The style of what a fact begins with, and how many characters that are."""
    if label == "confidence":
        level = text.partition(".")[0]
        return level, len(level)
    if label == "saving":
        return "saving", len(text.partition(",")[0])
    return "", 0


# In quotes, as the path may have spaces.
_VARIABLE = '"$TRACE"'


def _commands(block: doc.Commands, page: _Page) -> Iterator[str]:
    """Render commands, each after what it shows; a command is never cut, so that it can be copied.

    A long path that makes them wider than the page stands once, as a variable of the shell.
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


def _query(block: doc.Query, page: _Page) -> Iterator[str]:
    # A shell reads a quoted argument over several lines, so that they can be pasted as they are.
    rooms = page.width - len(_INDENT), page.width - 2 * len(_INDENT)
    for number, line in enumerate(wrapped_sql(f'traceq sql {page.source} "{printable(block.sql)}"', *rooms)):
        yield _INDENT * (2 if number else 1) + page.paint(line, "dim")


_LINES: dict[type, Callable[[Any, _Page], Iterable[str]]] = {
    doc.Heading: _heading,
    doc.Header: lambda block, page: _wrapped(" · ".join(plain_text(spans) for _, spans in block.rows), page),
    doc.Verdict: lambda block, page: verdict_lines(block, page.width, page.paint),
    doc.Ledger: lambda block, page: ledger_lines(block, page.width, page.paint),
    doc.Ranking: lambda block, page: ranking_lines(block, page.width, page.paint),
    doc.Commands: _commands,
    doc.Paragraph: lambda block, page: _wrapped(plain_text(block.spans), page),
    doc.Warn: _warn,
    doc.Items: _items,
    doc.Facts: _facts,
    doc.Table: lambda block, page: table_text(block, page.width, page.paint),
    doc.Bar: lambda block, page: bar.draw(block.parts, page.width, page.paint),
    doc.Bars: lambda block, page: bar.draw_rows(block.rows, page.width, page.paint),
    doc.Curve: lambda block, page: [bar.curve(block.values, page.width), *_wrapped(printable(block.text), page)],
    doc.Query: _query,
}


def _wrapped(
    text: str,
    page: _Page,
    *,
    first: str = "",
    others: str = "",
    indent: int = 0,
    style: str = "",
    styled: int | None = None,
) -> Iterator[str]:
    """Lines that begin with `first` or `others`, both `indent` columns; `style` is for the first `styled` characters."""
    until = len(text) if styled is None else styled
    for number, (start, end) in enumerate(wrapped(text, page.width - indent, whole=page.width < WIDTH)):
        middle = min(max(start, until), end)
        yield (others if number else first) + page.paint(text[start:middle], style) + text[middle:end]
