"""Rows of text in aligned columns, or as a Markdown table; what could steer a terminal is made harmless."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import BinaryIO

from rich.cells import cell_len, set_cell_size

from traceq.common.text import markdown, printable
from traceq.exports.result import Result

_GAP = "  "

# On a terminal too narrow for the table, text columns give way down to this width.
_LEAST_WIDTH = 12


def write_plain(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: Sequence[bool],
    file: BinaryIO,
    width: int | None = None,
) -> None:
    """Aligned columns, numeric ones to the right; with `width` (cells of a terminal), long text is cut, marked by an ellipsis."""
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        widths = _narrowed(widths, numeric, width)
    for row in (lines[0], ["-" * each for each in widths], *lines[1:]):
        cells = map(_fitted, row, widths, numeric)
        file.write(f"{_GAP.join(cells).rstrip()}\n".encode())
    if len(lines) == 1:
        file.write(b"(no rows)\n")


def write_markdown(
    header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool], file: BinaryIO
) -> None:
    """A table of GitHub's Markdown."""
    rule = ["---:" if each else "---" for each in numeric]
    cells = chain((map(markdown, header), rule), (map(markdown, row) for row in rows))
    file.writelines(f"| {' | '.join(row)} |\n".encode() for row in cells)


def write_result(result: Result, file: BinaryIO) -> None:
    """Aligned columns for a person to read; a query plan, which is a drawing, as it is."""
    rows = list(result.rows())
    if result.schema.names == ["explain_key", "explain_value"]:
        file.writelines(f"{printable(line)}\n".encode() for _, plan in rows for line in plan.splitlines())
    else:
        write_plain(result.schema.names, rows, result.numeric, file, result.width)


def write_markdown_result(result: Result, file: BinaryIO) -> None:
    """A Markdown table."""
    write_markdown(result.schema.names, result.rows(), result.numeric, file)


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
