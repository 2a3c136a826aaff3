"""Rows of text in aligned columns, or as a Markdown table; what could steer a terminal is made harmless."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import BinaryIO, TypeVar

from rich.cells import cell_len, set_cell_size

from traceq.common.text import markdown, printable, shortened, telling_nobody
from traceq.exports.result import Result

_GAP = "  "

# On a terminal too narrow for the table, text columns give way down to this width.
_LEAST_WIDTH = 12
# Names of C++ kernels have up to thousands of characters. Of a longer text start and end are shown, as by short_name in SQL.
_LONGEST_TEXT = 80
# As many rows are shown one below the other where their columns do not fit.
_FEW_ROWS = 5
_ELLIPSIS = "…"

T = TypeVar("T")


def write_plain(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: Sequence[bool],
    file: BinaryIO,
    width: int | None = None,
) -> None:
    """Write aligned columns, numbers to the right; with `width` (terminal columns) no line is longer.

    Long text is then cut, with an ellipsis. If that is not enough, a few rows are written vertically; for many rows
    columns in the middle are left out, as a last line says.
    """
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    note = ""
    if width is not None:
        widths = _narrow(widths, numeric, width)
        if _total_width(widths) > width and 1 < len(lines) <= _FEW_ROWS + 1:
            write_vertical(header, lines[1:], file, width)
            return
        shown = _columns_that_fit(widths, width)
        if len(shown) < len(widths):
            note = f"{len(shown)} of {len(widths)} columns are shown; --vertical shows all\n"
            lines, widths, numeric = _leave_out(lines, widths, numeric, shown)
    for row in (lines[0], ["-" * size for size in widths], *lines[1:]):
        cells = map(_fit_cell, row, widths, numeric)
        file.write(f"{_GAP.join(cells).rstrip()}\n".encode())
    if len(lines) == 1:
        file.write(b"(no rows)\n")
    file.write(note.encode())


def write_vertical(
    header: Sequence[str], rows: Iterable[Sequence[str]], file: BinaryIO, width: int | None = None
) -> None:
    """Write each value on a line after its column's name, with a blank line between rows."""
    names = [printable(name) for name in header]
    margin = max(map(cell_len, names), default=0)
    for number, row in enumerate(rows):
        if number:
            file.write(b"\n")
        for name, value in zip(names, row, strict=True):
            line = f"{name}{' ' * (margin - cell_len(name))}{_GAP}{printable(value)}".rstrip()
            file.write(f"{_fit_cell(line, width, False).rstrip() if width else line}\n".encode())


def write_markdown(
    header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool], file: BinaryIO
) -> None:
    """Write the rows under their header to `file` as a table of GitHub's Markdown; `numeric` columns stand on the right."""
    rule = ["---:" if is_number else "---" for is_number in numeric]
    cells = chain((map(markdown, header), rule), ([telling_nobody(markdown(cell)) for cell in row] for row in rows))
    file.writelines(f"| {' | '.join(row)} |\n".encode() for row in cells)


def write_result(result: Result, file: BinaryIO, *, vertical: bool = False, wide: bool = False) -> None:
    """Write a query's result in aligned columns, or with `vertical` a line per value; a query plan unchanged.

    Without a terminal, texts beside other columns are cut to 80 columns; with `wide` nothing is cut, nor left out.
    """
    rows: list[Sequence[str]] = list(result.rows())
    if result.schema.names == ["explain_key", "explain_value"]:
        file.writelines(f"{printable(line)}\n".encode() for _, plan in rows for line in plan.splitlines())
    elif vertical:
        write_vertical(result.schema.names, rows, file, result.width)
    elif wide:
        write_plain(result.schema.names, rows, result.numeric, file)
    else:
        if len(result.numeric) > 1 and result.width is None:
            rows = [[shortened(printable(cell), _LONGEST_TEXT) for cell in row] for row in rows]
        write_plain(result.schema.names, rows, result.numeric, file, result.width)


def write_markdown_result(result: Result, file: BinaryIO) -> None:
    """Write a query's result to `file` as a Markdown table."""
    write_markdown(result.schema.names, result.rows(), result.numeric, file)


def _total_width(widths: Sequence[int]) -> int:
    """Return the width of a table with columns of these widths, gaps included."""
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _columns_that_fit(widths: Sequence[int], available: int) -> list[int]:
    """Return the indices of columns that fit, from both ends, with room for an ellipsis; all if all fit, at least the first."""
    if _total_width(widths) <= available:
        return list(range(len(widths)))
    left, right = [0], list[int]()
    while len(left) + len(right) < len(widths):
        takes_left = len(left) <= len(right)
        column = len(left) if takes_left else len(widths) - 1 - len(right)
        kept = [widths[place] for place in (*left, *right, column)]
        if _total_width([*kept, len(_ELLIPSIS)]) > available:
            break
        (left if takes_left else right).append(column)
    return [*left, *reversed(right)]


def _leave_out(
    lines: Sequence[Sequence[str]], widths: Sequence[int], numeric: Sequence[bool], shown: Sequence[int]
) -> tuple[list[list[str]], list[int], list[bool]]:
    """Return lines, widths and kinds of the columns `shown`, with a column of ellipses in place of the others."""
    at = next(number for number, column in enumerate([*shown, len(widths)]) if number != column)

    def cut(row: Sequence[T], mark: T) -> list[T]:
        kept = [row[column] for column in shown]
        return [*kept[:at], mark, *kept[at:]]

    return [cut(line, _ELLIPSIS) for line in lines], cut(widths, len(_ELLIPSIS)), cut(numeric, False)


def _narrow(widths: Sequence[int], numeric: Sequence[bool], available: int) -> list[int]:
    """Return the widths with the widest text columns narrowed until all fit, or none can give more; numbers are never cut."""
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


def _fit_cell(cell: str, width: int, is_number: bool) -> str:
    """Return the cell filled up with blanks to `width` columns, or cut to it with an ellipsis.

    Numbers stand on the right.
    """
    length = cell_len(cell)
    if length > width:
        return set_cell_size(cell, width - 1) + "…"
    padding = " " * (width - length)
    return padding + cell if is_number else cell + padding
