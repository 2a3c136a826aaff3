"""Rows of text in aligned columns, or as a Markdown table; what could steer a terminal is made harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from rich.cells import cell_len, set_cell_size

from traceq.common.text import markdown, printable

if TYPE_CHECKING:
    from traceq.exports.result import Result

_GAP = "  "

# On a terminal too narrow for the table, text columns give way down to this width.
_LEAST_WIDTH = 12


@dataclass(frozen=True)
class Grid:
    """A header, rows of as many cells, and which columns are numbers (which are set to the right)."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]


def write_plain(grid: Grid, file: BinaryIO, width: int | None = None) -> None:
    """Aligned columns; with `width` (cells of a terminal), long text is cut to fit, marked by an ellipsis."""
    header = [printable(name) for name in grid.header]
    rows = [[printable(cell) for cell in row] for row in grid.rows]
    widths = [max(map(cell_len, column)) for column in zip(header, *rows, strict=True)]
    if width is not None:
        widths = _narrowed(widths, grid.numeric, width)
    for row in chain((header, ["-" * each for each in widths]), rows):
        cells = map(_fitted, row, widths, grid.numeric)
        file.write(f"{_GAP.join(cells).rstrip()}\n".encode())
    if not rows:
        file.write(b"(no rows)\n")


def write_markdown(grid: Grid, file: BinaryIO) -> None:
    """A table of GitHub's Markdown."""
    rule = ["---:" if numeric else "---" for numeric in grid.numeric]
    cells = chain((map(markdown, grid.header), rule), (map(markdown, row) for row in grid.rows))
    file.writelines(f"| {' | '.join(row)} |\n".encode() for row in cells)


def write_result(result: Result, file: BinaryIO) -> None:
    """Aligned columns for a person to read; a query plan, which is a drawing, as it is."""
    rows = list(result.rows())
    if result.schema.names == ["explain_key", "explain_value"]:
        file.writelines(f"{printable(line)}\n".encode() for _, plan in rows for line in plan.splitlines())
    else:
        write_plain(Grid(result.schema.names, rows, result.numeric), file, result.width)


def write_markdown_result(result: Result, file: BinaryIO) -> None:
    """A Markdown table."""
    write_markdown(Grid(result.schema.names, list(result.rows()), result.numeric), file)


def _narrowed(widths: Sequence[int], numeric: Sequence[bool], available: int) -> list[int]:
    """Take from the widest text column until all fit or none can give more; a number is never cut."""
    narrowed = list(widths)
    texts = [i for i, is_number in enumerate(numeric) if not is_number]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - available
    while excess > 0 and texts:
        widest, *others = sorted(texts, key=lambda i: -narrowed[i])
        level = max(_LEAST_WIDTH, narrowed[others[0]] if others else 0)
        cut = min(excess, max(1, narrowed[widest] - level))
        if narrowed[widest] - cut < _LEAST_WIDTH:
            break
        narrowed[widest] -= cut
        excess -= cut
    return narrowed


def _fitted(cell: str, width: int, is_number: bool) -> str:
    length = cell_len(cell)
    if length > width:
        return set_cell_size(cell, width - 1) + "…"
    padding = " " * (width - length)
    return padding + cell if is_number else cell + padding
