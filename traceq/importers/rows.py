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
    if not rows:
        return []
    try:
        return [(table, pa.RecordBatch.from_pylist(list(rows)))]
    except (OverflowError, UnicodeEncodeError, pa.ArrowException):
        return _fit_rows(table, rows)


def _fit_rows(table: str, rows: Sequence[dict[str, Any]]) -> Batches:
    """Return the rows as a batch, with NULL for values unlike the others of their column; a second batch is the note on them."""
    columns, notes = {}, Notes()
    for name in rows[0]:
        values = [row[name] for row in rows]
        kinds = {type(value) for value in values}
        whole = pa.bool_() if bool in kinds else pa.string()
        kind = pa.float64() if float in kinds else pa.int64() if int in kinds else whole
        columns[name] = notes.fit_column(table, name, values, kind)
    return [(table, pa.RecordBatch.from_pydict(columns)), *notes.batches()]


def fit_column(values: Sequence[Any], kind: pa.DataType) -> tuple[pa.Array, int]:
    """Return the values as a column, and how many of them it cannot hold: these are NULL. Fractions fit no integers."""
    try:
        # Arrow cuts fractions off.
        if not (pa.types.is_integer(kind) and float in set(map(type, values))):
            return pa.array(values, kind), 0
    except (OverflowError, UnicodeEncodeError, pa.ArrowException):
        pass
    fitting = [_fit_value(value, kind) for value in values]
    lost = sum(new is None and old is not None for new, old in zip(fitting, values, strict=True))
    return pa.array(fitting, kind), lost


def _fit_value(value: Any, kind: pa.DataType) -> Any:
    """Return the value if a column of this type can hold it, else None."""
    if pa.types.is_integer(kind):
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        limit = 1 << (kind.bit_width - 1)
        return value if type(value) is int and -limit <= value < limit else None
    if isinstance(value, bool) and not pa.types.is_boolean(kind):
        return None
    try:
        return pa.scalar(value, kind).as_py()
    except (OverflowError, UnicodeEncodeError, pa.ArrowException):
        return None


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

    def fit_column(self, table: str, name: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        """Return the values as a column of the table; those that it cannot hold are NULL, and counted."""
        column, lost = fit_column(values, kind)
        self.data_loss("number_out_of_range", lost, f"values of {table}.{name} that its column cannot hold are NULL")
        return column

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
