"""A report as headings, paragraphs, tables and queries: what all formats for people have in common.

Text is made of spans. A plain str is traceq's own words, Name is text from a trace, Literal is to be typed.
Every renderer escapes all three; they differ in how they look.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from traceq.reports import flame
from traceq.reports.timeline import Timeline

if TYPE_CHECKING:
    from traceq.reports.drawing import Drawing

T = TypeVar("T")


class Name(str):
    """A text from a trace or from a file's name: untrusted, and of any length."""

    __slots__ = ()


class Title(Name):
    """A text written by traceq itself that may be cut, as a Name may, where there is little room."""

    __slots__ = ()


class Literal(str):
    """A text that the reader types exactly so: an option, a call or a command."""

    __slots__ = ()


class Address(str):
    """The address of a page on the web."""

    __slots__ = ()


class Reference(str):
    """The anchor of a heading within the same trace, as F1."""

    __slots__ = ()


Spans = tuple[str, ...]


def split_code(text: str) -> Spans:
    """Return `text` as spans: each part in backticks becomes a Literal, without its backticks.

    With an odd number of backticks, the text stays as it is.
    """
    if text.count("`") % 2:
        return (text,)
    return tuple(Literal(part) if index % 2 else part for index, part in enumerate(text.split("`")) if part)


class Heading(msgspec.Struct, frozen=True):
    """A title; level 1 is the report's, 2 a trace's. `anchor` is unique in a trace.

    The blocks below a minor heading may be folded: they are about less than 1 % of the time, or on rules that found
    nothing.
    """

    level: int
    spans: Spans
    anchor: str | None = None
    is_minor: bool = False


class Header(msgspec.Struct, frozen=True):
    """The labels and values that identify the report; formats with a single line for them leave out `more`."""

    rows: tuple[tuple[str, Spans], ...]
    more: tuple[tuple[str, Spans], ...] = ()


Outcome = typing.Literal["problem", "look into", "healthy", "cannot tell"]


class Verdict(msgspec.Struct, frozen=True):
    """The first sentence of a report: what to do first; `beside` is its confidence, `lines` its saving, the way, and more.

    Outcome "look into" is for a finding of low confidence. The last command in the lines of "cannot
    tell" is the one that would tell. On a page, `label` stands above a verdict on another subject.
    """

    spans: Spans
    outcome: Outcome = "problem"
    beside: str = ""
    lines: tuple[Spans, ...] = ()
    label: str = ""

    @property
    def way_out(self) -> tuple[Spans, ...]:
        """The line with the last command, which of "cannot tell" is the one that would tell; else the last line, if any."""
        commands = [line for line in self.lines if any(isinstance(span, Literal) for span in line)]
        return tuple(commands[-1:]) or self.lines[-1:]


def verdict_in_a_line(verdict: Verdict) -> str:
    """Return the verdict as text in one line: its sentence, then what it saves, or the command that would tell."""
    lines = verdict.way_out if verdict.outcome == "cannot tell" else verdict.lines[:1]
    return ". ".join("".join(spans).removesuffix(".") for spans in (verdict.spans, *lines))


class LedgerRow(msgspec.Struct, frozen=True):
    """A category of the ledger: its label, its name, its share (0..1), its time as text, the findings that explain it.

    `verdict` says how much of it no finding explains; empty where that is little. `kind` gives its colour, "" if the
    category does.
    """

    label: str
    category: str
    share: float
    text: str
    owners: tuple[Reference, ...] = ()
    verdict: str = ""
    kind: str = ""


class Ledger(msgspec.Struct, frozen=True):
    """The time of a device by category, drawn as bars to one scale."""

    title: Spans
    total: str
    rows: tuple[LedgerRow, ...]


class RankedFinding(msgspec.Struct, frozen=True):
    """A row of the ranking: a finding with its saving, share and confidence as text; `deed` is what to do."""

    anchor: Reference
    title: Title
    saves: str
    share: str
    cumulative: str
    confidence: str
    deed: Spans


class Ranking(msgspec.Struct, frozen=True):
    """The findings, first the one that saves most; `unit` is what savings are per (step or window)."""

    rows: tuple[RankedFinding, ...]
    unit: str


class Card(msgspec.Struct, frozen=True):
    """A finding in detail: its row of the ranking, the share (0..1) of the step that it saves, and its evidence."""

    finding: RankedFinding
    saved_share: float
    blocks: tuple[Block, ...]


class Commands(msgspec.Struct, frozen=True):
    """The commands to type next, under a title, as (what it shows, command)."""

    title: str
    rows: tuple[tuple[str, str], ...]


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph of running text."""

    spans: Spans


class Warn(msgspec.Struct, frozen=True):
    """A paragraph that is shown as a warning."""

    spans: Spans


class Items(msgspec.Struct, frozen=True):
    """A bulleted list."""

    items: tuple[Spans, ...]


class Facts(msgspec.Struct, frozen=True):
    """A list of labels with their values."""

    rows: tuple[tuple[str, Spans], ...]


class Table(msgspec.Struct, frozen=True):
    """A table; the columns at `text_columns` hold text, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: tuple[int, ...] = (0,)


def make_table(rows: Iterable[T], columns: Mapping[str, Callable[[T], str]], text: tuple[int, ...] = (0,)) -> Table:
    """Make a table with a row for each of `rows`.

    `columns` maps a column's title to the function from a row to its cell; `text` has the places of text columns.
    """
    cells = tuple(tuple(cell(row) for cell in columns.values()) for row in rows)
    return Table(tuple(columns), cells, text)


class Bar(msgspec.Struct, frozen=True):
    """A single bar of stacked parts, as (label, share); the shares add up to 1."""

    parts: tuple[tuple[str, float], ...]


class BarRow(msgspec.Struct, frozen=True):
    """A bar among several: its label, its parts as (label, amount), and the text behind it."""

    label: str
    parts: tuple[tuple[str, float], ...]
    text: str


class Bars(msgspec.Struct, frozen=True):
    """Several bars to one scale; the longest takes the whole width."""

    rows: tuple[BarRow, ...]


class Curve(msgspec.Struct, frozen=True):
    """A curve of values over time, drawn from 0 to the highest; `text` says what the values are."""

    values: tuple[float, ...]
    text: str


class Query(msgspec.Struct, frozen=True):
    """The SQL text that gives the numbers of the blocks above again."""

    sql: str


class ChartPoints(msgspec.Struct, frozen=True):
    """A table with a row for each dot of a chart, in the order in which they are drawn, and a note on dots left out."""

    table: Table
    note: str


class Picture(msgspec.Struct, frozen=True):
    """A chart: its name (a file name, unique in the report), its content in words, and the function that draws it.

    Words or tables of the report say all of it too. `queries` are SQL texts that give the numbers of the chart, where no
    other block has them. With `points`, a page says what each dot is.
    """

    name: str
    alt: str
    draw: Callable[[], Drawing]
    queries: tuple[str, ...] = ()
    points: ChartPoints | None = None


class Tracks(msgspec.Struct, frozen=True):
    """A timeline: slices on their threads and streams."""

    timeline: Timeline


class Flame(msgspec.Struct, frozen=True):
    """A flame graph: host and GPU time by call path, of one side or with the difference of two."""

    graph: flame.FlameGraph | flame.FlameDifference


class Fold(msgspec.Struct, frozen=True):
    """Blocks under a title that a page hides until the reader opens them."""

    title: Spans
    blocks: tuple[Block, ...]


Block = (
    Heading
    | Verdict
    | Ledger
    | Ranking
    | Card
    | Header
    | Commands
    | Paragraph
    | Warn
    | Items
    | Facts
    | Table
    | Bar
    | Bars
    | Curve
    | Query
    | Picture
    | Tracks
    | Flame
    | Fold
)
