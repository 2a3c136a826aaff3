"""Batches of few rows, columns of one value, and oddities, which are counted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Batches = list[tuple[str, pa.RecordBatch]]


def batches_of(table: str, rows: Sequence[dict[str, Any]]) -> Batches:
    """Return the rows, which all have the same columns, as one batch of the table; no batch without rows."""
    return [(table, pa.RecordBatch.from_pylist(list(rows)))] if rows else []


def repeat_text(text: str | None, rows: int) -> pa.DictionaryArray:
    """Return a column with the same text in every row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([text], pa.string()))


def pseudonym_of(host: str) -> str:
    """Return a name that stands for the machine and does not tell its own."""
    return "host-" + hashlib.sha256(host.encode()).hexdigest()[:8]


class Notes(Counter[tuple[str, str, str]]):
    """Counts of oddities by severity, code and text of import_note, in order of appearance."""

    def info(self, code: str, count: int, text: str) -> None:
        """Count something to know; nothing is lost."""
        self._count("info", code, count, text)

    def data_loss(self, code: str, count: int, text: str) -> None:
        """Count something in the file that is not in the tables."""
        self._count("data_loss", code, count, text)

    def error(self, code: str, count: int, text: str) -> None:
        """Count what makes the capture itself incomplete or wrong."""
        self._count("error", code, count, text)

    def _count(self, severity: str, code: str, count: int, text: str) -> None:
        if count:
            self[severity, code, text] += count

    def batches(self) -> Batches:
        """Return the rows of import_note."""
        rows = [
            {"severity": severity, "code": code, "count": count, "text": text}
            for (severity, code, text), count in self.items()
            if count
        ]
        return batches_of("import_note", rows)
