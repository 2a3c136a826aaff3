"""A report as headings, paragraphs, tables and queries: what all formats for people have in common.

Text is made of spans. A plain str is traceq's own words, Name is text from a trace, Literal is to be typed.
Every renderer escapes all three; they differ in how they look.
"""

from __future__ import annotations

from dataclasses import dataclass


class Name(str):
    """Text that comes from a trace or from its file's name: untrusted, and of any length."""

    __slots__ = ()


class Literal(str):
    """An option, a call or a command, to be typed as it stands."""

    __slots__ = ()


Spans = tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the report's own."""

    level: int
    spans: Spans


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
    """A table; the first `text_columns` columns hold text, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1


@dataclass(frozen=True)
class Bar:
    """One bar of stacked parts, as (label, share); the shares add up to 1."""

    parts: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Query:
    """The SQL that gives the numbers above again."""

    sql: str


Block = Heading | Paragraph | Warn | Items | Facts | Table | Bar | Query
