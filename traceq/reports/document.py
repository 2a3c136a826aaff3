"""A report as headings, paragraphs, tables and queries: what all formats for people have in common.

Text is made of spans. A plain str is traceq's own words, Name is text from a trace, Literal is to be typed.
Every renderer escapes all three; they differ in how they look.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from traceq.reports import flame
from traceq.reports.timeline import Timeline

if TYPE_CHECKING:
    from traceq.reports.drawing import Drawing

T = TypeVar("T")


class Name(str):
    """Text that comes from a trace or from its file's name: untrusted, and of any length."""

    __slots__ = ()


class Title(Name):
    """Words of traceq's own that may be cut like a name where there is little room."""

    __slots__ = ()


class Literal(str):
    """An option, a call or a command, to be typed as it stands."""

    __slots__ = ()


class Address(str):
    """The address of a page on the web."""

    __slots__ = ()


class Reference(str):
    """Names the heading of this anchor within the same trace: F1."""

    __slots__ = ()


Spans = tuple[str, ...]


def split_code(text: str) -> Spans:
    """`text` as spans: what stands in backticks is to be typed. With one that has no partner none counts."""
    if text.count("`") % 2:
        return (text,)
    return tuple(Literal(part) if index % 2 else part for index, part in enumerate(text.split("`")) if part)


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the report's own, each trace begins with one of level 2. `anchor` is unique in a trace.

    What is below a minor one is about less than 1 % of the time, or lists what was not found: it may be shown folded.
    """

    level: int
    spans: Spans
    anchor: str | None = None
    is_minor: bool = False


@dataclass(frozen=True)
class Header:
    """Labels and values that say which report this is; a single line leaves out `more`."""

    rows: tuple[tuple[str, Spans], ...]
    more: tuple[tuple[str, Spans], ...] = ()


Outcome = typing.Literal["problem", "healthy", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """A sentence on what to do first, how sure it is, and a few lines on its saving and how to do it.

    `label` stands above it on a page where it is about something else than what to do.
    """

    spans: Spans
    outcome: Outcome = "problem"
    beside: str = ""
    lines: tuple[Spans, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class LedgerRow:
    """A category of the ledger: its label, the name of the category, its share (0..1), its time, the findings that own it.

    `verdict` is the account's on what findings leave of it; empty where that is little.
    """

    label: str
    category: str
    share: float
    text: str
    owners: tuple[Reference, ...] = ()
    verdict: str = ""


@dataclass(frozen=True)
class Ledger:
    """Time of a device by category, as bars to one scale."""

    title: Spans
    total: str
    rows: tuple[LedgerRow, ...]


@dataclass(frozen=True)
class RankedFinding:
    """A finding in a line, and below it what to do; the numbers are words already."""

    anchor: Reference
    title: Title
    saves: str
    share: str
    cumulative: str
    confidence: str
    deed: Spans


@dataclass(frozen=True)
class Ranking:
    """The findings, the one that saves most first."""

    rows: tuple[RankedFinding, ...]
    unit: str


@dataclass(frozen=True)
class Card:
    """A finding with its evidence: its line of the ranking, what share (0..1) of the step it saves, and blocks on it."""

    finding: RankedFinding
    saved_share: float
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Commands:
    """Commands to type next, under a title, each with what it gives."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    spans: Spans


@dataclass(frozen=True)
class Warn:
    """Running text that must not be overlooked."""

    spans: Spans


@dataclass(frozen=True)
class Items:
    """A list, an item each."""

    items: tuple[Spans, ...]


@dataclass(frozen=True)
class Facts:
    """Labels and what belongs to them."""

    rows: tuple[tuple[str, Spans], ...]


@dataclass(frozen=True)
class Table:
    """A table; the columns at `text_columns` hold text, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: tuple[int, ...] = (0,)


def make_table(rows: Iterable[T], columns: Mapping[str, Callable[[T], str]], text: tuple[int, ...] = (0,)) -> Table:
    """Make a table with a row for each of `rows`; `columns` gives the cell by title, `text` the places of text columns."""
    cells = tuple(tuple(cell(row) for cell in columns.values()) for row in rows)
    return Table(tuple(columns), cells, text)


@dataclass(frozen=True)
class Bar:
    """One bar of stacked parts, as (label, share); the shares add up to 1."""

    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class BarRow:
    """One of several bars: what it is of, its parts as (label, amount), and what to say after it."""

    label: str
    parts: tuple[tuple[str, float], ...]
    text: str


@dataclass(frozen=True)
class Bars:
    """Bars to one scale, the longest as wide as there is room."""

    rows: tuple[BarRow, ...]


@dataclass(frozen=True)
class Curve:
    """Values over time, from 0 to the highest, and what they are."""

    values: tuple[float, ...]
    text: str


@dataclass(frozen=True)
class Query:
    """The SQL that gives the numbers above again."""

    sql: str


@dataclass(frozen=True)
class Picture:
    """A chart: its name, fit for a file and unique in the report, what it shows in words, and who draws it.

    Everything in it is said in words or tables too.
    """

    name: str
    alt: str
    draw: Callable[[], Drawing]


@dataclass(frozen=True)
class Tracks:
    """Slices on their threads and streams over time."""

    timeline: Timeline


@dataclass(frozen=True)
class Flame:
    """Host and GPU time by call path."""

    graph: flame.FlameGraph


@dataclass(frozen=True)
class Fold:
    """Blocks that need not be seen at once, under a title."""

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
