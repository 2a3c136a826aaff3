"""A table for a terminal: in columns, with names cut and titles in two lines where that makes it fit, else row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from traceq.common.text import fits, printable, shortened, width
from traceq.reports.document import Name, Table, Title
from traceq.reports.renderers.colour import Paint
from traceq.reports.renderers.wrapping import wrap_text

_GAP = "  "
_LEAST_NAME = 16

# What is not cut to its column is cut to so many lines.
_MOST_LINES = 3

# With less room than this, the titles of columns are broken before names are cut, and those of findings are not cut.
_WIDE = 100

# The lines of a cell.
_Lines = tuple[str, ...]


def render_table(table: Table, room: int, paint: Paint) -> Iterator[str]:
    """Yield the lines of the table, each at most `room` columns wide; names are cut to fit.

    If the columns do not fit, each cell gets a line of its own.
    """
    columns = [printable(title) for title in table.columns]
    whole: list[_Lines] = [(title,) for title in columns]
    broken = [_break_title(title) for title in columns]
    limit = _name_limit(table, whole, room)
    cuts = any(isinstance(text, Name) and not fits(printable(text), limit) for row in table.rows for text in row)
    for head in [broken] if cuts and room < _WIDE else [whole, broken]:
        limit = _name_limit(table, head, room)
        cells = [[_cell_lines(text, limit, room) for text in row] for row in table.rows]
        sizes = [max(map(width, chain(title, *column))) for title, *column in zip(head, *cells, strict=True)]
        if sum(sizes) + len(_GAP) * (len(sizes) - 1) <= room:
            yield from _render_columns(table, head, cells, sizes, paint)
            return
    yield from _render_rows(table, columns, room, paint)


def _name_limit(table: Table, head: Sequence[_Lines], room: int) -> int:
    """Return how many columns a name may take so that the widest row stays within `room`, at least _LEAST_NAME.

    `head` has the lines of each column's title.
    """
    free = room
    with_names = 0
    for title, *column in zip(head, *table.rows, strict=True):
        has_names = any(isinstance(text, Name) for text in column)
        with_names += has_names
        fixed = max(len(text) for text in (*title, *column) if not isinstance(text, Name))
        free -= len(_GAP) + fixed * (not has_names)
    return max(_LEAST_NAME, free // with_names) if with_names else free


def _break_title(title: str) -> _Lines:
    """Return the title in two lines, broken at the space that makes the longer line shortest; a single word in one line."""
    words = title.split(" ")
    broken = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return min(broken, key=lambda lines: max(map(len, lines)), default=(title,))


def _cell_lines(text: str, limit: int, room: int) -> _Lines:
    if isinstance(text, Title) and room < _WIDE:
        title = shortened(printable(text), _MOST_LINES * limit)
        return tuple(title[start:end] for start, end in wrap_text(title, limit, whole=True))
    return (shortened(printable(text), limit) if isinstance(text, Name) else printable(text),)


def _render_columns(
    table: Table, head: Sequence[_Lines], cells: Sequence[Sequence[_Lines]], sizes: Sequence[int], paint: Paint
) -> Iterator[str]:
    def lines(row: Sequence[_Lines], styles: Sequence[str]) -> Iterator[str]:
        for texts in zip_longest(*row, fillvalue=""):
            padded = (
                _pad_text(text, size, style, paint, left=index in table.text_columns)
                for index, (text, size, style) in enumerate(zip(texts, sizes, styles, strict=True))
            )
            yield _GAP.join(padded).rstrip()

    unstyled = [""] * len(sizes)
    height = max(map(len, head))
    # Titles of one line stand at the bottom.
    yield from lines([("",) * (height - len(title)) + title for title in head], unstyled)
    yield from lines([("-" * size,) for size in sizes], unstyled)
    for texts, row in zip(cells, table.rows, strict=True):
        yield from lines(texts, _choose_styles(table, row))


def _render_rows(table: Table, columns: Sequence[str], room: int, paint: Paint) -> Iterator[str]:
    """Yield the table cell by cell, each on a line with its column's title.

    A cell without a column title stands above as a heading.
    """
    margin = min(max(map(width, columns)) + len(_GAP), room // 2)
    for number, row in enumerate(table.rows):
        if number:
            yield ""
        for title, text, style in zip(columns, row, _choose_styles(table, row), strict=True):
            if not title:
                yield paint(shortened(printable(text), room), "heading")
                continue
            label = shortened(title, margin - len(_GAP))
            value = shortened(printable(text), _MOST_LINES * room) if isinstance(text, Name) else printable(text)
            for start, end in wrap_text(value, room - margin, whole=True):
                yield _pad_text(label, margin, "", paint, left=True) + paint(value[start:end], style)
                label = ""


def _choose_styles(table: Table, row: Sequence[str]) -> list[str]:
    """Return the name of a style for each cell of the row, "" for none.

    Only tables with a column `confidence` have styles: for this column and for those that begin with "per ".
    """
    if "confidence" not in table.columns:
        return [""] * len(row)
    return [
        text if title == "confidence" else "saving" if title.startswith("per ") else ""
        for title, text in zip(table.columns, row, strict=True)
    ]


def _pad_text(text: str, size: int, style: str, paint: Paint, *, left: bool) -> str:
    blanks = " " * (size - width(text))
    return paint(text, style) + blanks if left else blanks + paint(text, style)
