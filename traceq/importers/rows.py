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
    """Return the rows as a list of one (table, batch), an empty list without rows; all rows have the same columns."""
    return [(table, pa.RecordBatch.from_pylist(list(rows)))] if rows else []


def repeat_text(text: str | None, rows: int) -> pa.DictionaryArray:
    """Return a column of `rows` rows that all hold this text, or NULL."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([text], pa.string()))


def pseudonym_of(host: str) -> str:
    """Return a name that stands for the machine and hides its own: "host-" and 8 hexadecimal digits of a hash."""
    return "host-" + hashlib.sha256(host.encode()).hexdigest()[:8]


class Notes(Counter[tuple[str, str, str]]):
    """Counter of the import's notes by (severity, code, text) of import_note, in order of appearance."""

    def info(self, code: str, count: int, text: str) -> None:
        """Add `count` cases of something worth knowing by which no data is lost; 0 adds no note."""
        self._count("info", code, count, text)

    def data_loss(self, code: str, count: int, text: str) -> None:
        """Add `count` cases of something in the file that is not in the tables; 0 adds no note."""
        self._count("data_loss", code, count, text)

    def error(self, code: str, count: int, text: str) -> None:
        """Add `count` cases of something that makes the capture itself incomplete or wrong; 0 adds no note."""
        self._count("error", code, count, text)

    def _count(self, severity: str, code: str, count: int, text: str) -> None:
        """Add `count` to the note of this severity, code and text; 0 adds no note."""
        if count:
            self[severity, code, text] += count

    def batches(self) -> Batches:
        """Return the notes as one batch of import_note, an empty list where there are none."""
        rows = [
            {"severity": severity, "code": code, "count": count, "text": text}
            for (severity, code, text), count in self.items()
            if count
        ]
        return batches_of("import_note", rows)
