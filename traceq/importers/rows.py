"""Batches of few rows, which are made one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Batches = list[tuple[str, pa.RecordBatch]]


def batches_of(table: str, rows: Sequence[dict[str, Any]]) -> Batches:
    """The rows as one batch of the table, which all have the same columns; no batch of no rows."""
    return [(table, pa.RecordBatch.from_pylist(list(rows)))] if rows else []
