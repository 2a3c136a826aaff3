"""Batches of few rows, which are made one by one; and oddities, which are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Batches = list[tuple[str, pa.RecordBatch]]


def batches_of(table: str, rows: Sequence[dict[str, Any]]) -> Batches:
    """The rows as one batch of the table, which all have the same columns; no batch of no rows."""
    return [(table, pa.RecordBatch.from_pylist(list(rows)))] if rows else []


# How often something odd was met, by (severity, code, text) of import_note.
Oddities = Counter[tuple[str, str, str]]


def notes_of(oddities: Oddities) -> Batches:
    """Rows of import_note for what was counted."""
    rows = [
        {"severity": severity, "code": code, "count": count, "text": text}
        for (severity, code, text), count in oddities.items()
        if count
    ]
    return batches_of("import_note", rows)
