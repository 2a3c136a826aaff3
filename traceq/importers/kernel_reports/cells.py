"""Cells of CSV files that profilers write: rows behind other output, numbers of any locale, amounts with their units."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["share", "time", "bytes", "clock", "number"]

_HEAD = 1 << 18
_MOST_HEAD_LINES = 5000
# Launches have at most 2^31 blocks.
_MOST_SIZE_DIGITS = 10
_UNREADABLE = "(cut)"
_LINE_END = re.compile("\r\n|\n|\r")
_EMPTY = frozenset(("", "n/a", "na", "nan", "-nan", "inf", "-inf", "none", "null"))
# 1.234,5 and 12,5: a comma before one or two, or more than three digits groups nothing.
_COMMA_DECIMAL = re.compile(r"-?\d{1,3}(\.\d{3})+,\d+|-?\d+,(\d{1,2}|\d{4,})")
# 1,234.5 and 12.5 the other way round.
_POINT_DECIMAL = re.compile(r"-?\d{1,3}(,\d{3})+\.\d+|-?\d+\.(\d{1,2}|\d{4,})")
# Digits in groups of three, of two as well where lakhs are counted.
_GROUPED = re.compile(r"-?\d{1,3}(,\d{2,3})*,\d{3}(\.\d*)?")
_SWAPPED = str.maketrans(",.", ".,")
_BLANKS = str.maketrans("", "", " \u00a0\u202f'\u2019")
# What the first unit is in the second: ns, bytes and Hz. Prefixes are of ten, as Nsight Compute writes them.
_FACTORS: dict[str, dict[str, float]] = {
    "share": {"%": 0.01, "pct": 0.01},
    "time": {
        "ns": 1, "nsecond": 1, "nanosecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9,
        "second": 1e9,
    },
    "bytes": {"byte": 1, "bytes": 1, "b": 1, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9},
    "clock": {
        "hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9, "cycle/second": 1, "cycle/s": 1, "cycle/msecond": 1e3,
        "cycle/ms": 1e3, "cycle/usecond": 1e6, "cycle/us": 1e6, "cycle/nsecond": 1e9, "cycle/ns": 1e9,
    },
}  # fmt: skip


class CellAmount(NamedTuple):
    """A cell with its unit, as the file writes them, and what it counts; `needs_unit`: without one it means something else."""

    text: str
    unit: str
    kind: Kind
    needs_unit: bool = False


class NumberStyle(NamedTuple):
    """Style of the numbers of a file: with commas before decimals, as many locales do, or with points."""

    has_comma_decimals: bool

    @classmethod
    def of_cells(cls, texts: Iterable[str]) -> NumberStyle:
        """Return the style that most of those numbers show that show one."""
        votes = 0
        for text in texts:
            bare = text.translate(_BLANKS)
            votes += bool(_COMMA_DECIMAL.fullmatch(bare)) - bool(_POINT_DECIMAL.fullmatch(bare))
        return cls(votes > 0)

    def read_number(self, text: str) -> float | None:
        """Return the number, None for what says that there is none. Raises ValueError for other text."""
        bare = text.translate(_BLANKS)
        if bare.lower() in _EMPTY:
            return None
        if self.has_comma_decimals:
            bare = bare.translate(_SWAPPED)
        if "," in bare and not _GROUPED.fullmatch(bare):
            raise ValueError(f"{text!r} is not written as numbers of this file's locale are")
        value = float(bare.replace(",", ""))
        if not math.isfinite(value):
            raise ValueError(f"{text!r} is not finite")
        return value

    def read_amount(self, amount: CellAmount) -> float | None:
        """Return the amount as a share (0..1), ns, bytes, Hz or number; None for what says that there is none.

        Raises ValueError for other text, an unknown unit, and what is below 0.
        """
        value = self.read_number(amount.text)
        if value is None:
            return None
        if value < 0:
            raise ValueError(f"{amount.text!r} is below 0")
        if amount.kind == "number":
            return value
        unit = amount.unit.strip().lower().removesuffix("/block")
        if not unit and not amount.needs_unit:
            unit = {"share": "%", "time": "ns", "bytes": "byte", "clock": "hz"}[amount.kind]
        factor = _FACTORS[amount.kind].get(unit)
        if factor is None:
            raise ValueError(f"{amount.unit!r} is no unit of {amount.kind}")
        return value * factor


def read_head(path: Path) -> list[str]:
    """Return the first lines of a file, without their ends; none of a file that is not text. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    encoding = _find_encoding(head)
    if encoding != "utf-16" and b"\0" in head[:4096]:
        return []
    return _LINE_END.split(head.decode(encoding, "replace"))[:_MOST_HEAD_LINES]


def split_cells(line: str) -> list[str]:
    """Return the cells of a line of CSV by the sign that parts most of it: a comma, semicolon or tab; [] where none does."""
    delimiter = find_delimiter(line)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def find_delimiter(line: str) -> str:
    """Return the sign between the cells of a header."""
    return max(",;\t", key=line.count)


def read_rows(path: Path, first_line: int, delimiter: str) -> Iterator[list[str] | None]:
    """Yield the rows of a CSV from the line with this number (from 0) on, None for each that cannot be read. Raises OSError.

    Lines of a profiler or the program between rows are left out.
    """
    with path.open("rb") as file:
        encoding = _find_encoding(file.read(4))
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        for _ in range(first_line):
            file.readline()
        lines = (line for line in file if not line.startswith("=="))
        rows = csv.reader((_UNREADABLE if _is_cut(line) else line for line in lines), delimiter=delimiter)
        while True:
            try:
                row = next(rows)
            except csv.Error:
                yield None
            except StopIteration:
                return
            else:
                yield None if row == [_UNREADABLE] else row


def _is_cut(line: str) -> bool:
    """Return whether a line is the last one and ends within a cell: its number may have had further digits."""
    if line.endswith(("\n", "\r")):
        return False
    return not line.endswith(('"', ",")) or line.count('"') % 2 == 1


def read_size(text: str) -> tuple[int, int, int] | None:
    """Return the three numbers of a grid or block, as in (256, 1, 1); None where there are not three."""
    match [int(number) for number in re.findall(r"[0-9]+", text) if len(number) <= _MOST_SIZE_DIGITS]:
        case [x, y, z]:
            return (x, y, z)
        case _:
            return None


def _find_encoding(head: bytes) -> str:
    """Return the encoding that a byte-order mark tells, else UTF-8."""
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
