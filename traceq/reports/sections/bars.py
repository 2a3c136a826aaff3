"""Bars that are worth looking at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from traceq.reports.document import BarRow, Bars, Block


def pictured(rows: Sequence[BarRow]) -> Iterator[Block]:
    """The rows as bars, without parts that none of them has; nothing when that is a single part of a single row."""
    present = {label for row in rows for label, amount in row.parts if amount}
    if len(rows) > 1 or len(present) > 1:
        kept = (tuple(part for part in row.parts if part[0] in present) for row in rows)
        yield Bars(tuple(replace(row, parts=parts) for row, parts in zip(rows, kept, strict=True)))
