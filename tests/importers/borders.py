"""Numbers at the borders of all columns, for walks through the fields of a format, and what is wrong with what came of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

_NEAR = [sign * 2**bits + more for bits in (7, 15, 31, 32, 53, 63, 64) for sign in (1, -1) for more in (-1, 0, 1)]
INTEGERS = [0, -1, *_NEAR, 10**30]
OTHERS = [1e30, 1e308, -1e308, float("inf"), float("nan"), 0.5, "", "text", "1.5", None]
BORDERS = [*INTEGERS, *OTHERS]
NESTED = [True, False, [], [1], {}, {"a": 1}]
"""Values of JSON beside these."""

Rows = list[dict[str, Any]]


def collect_tables(batches: Iterable[tuple[str, pa.RecordBatch]]) -> dict[str, Rows]:
    """Collect all rows by table."""
    tables: dict[str, Rows] = defaultdict(list)
    for table, batch in batches:
        batch.validate(full=True)
        tables[table] += batch.to_pylist()
    return tables


def count_losses(tables: dict[str, Rows]) -> int:
    """Count what the notes say is lost, changed or left out."""
    return sum(note["count"] for note in tables["import_note"])


def find_untold(put: dict[Any, Any], rows: Rows, counted: int, key: str, but: tuple[str, ...] = ()) -> str:
    """Say what is wrong with rows like the first one that were made with the values `put` in one field each; "" if nothing is.

    Of each value, by the row's `key`, there has to be a row with the numbers of the first one or the value; what is
    missing has to be counted. The columns `but` are not compared.
    """
    usual, *others = rows
    found = {row[key]: row for row in others}
    lost = len(put) - len(found)
    if found.keys() - put.keys():
        return f"{len(found)} rows of {len(put)}"
    for name, row in found.items():
        lost += any(row[column] is None and usual[column] is not None for column in row) and put[name] is not None
        for column, value in row.items():
            is_told = value in (usual[column], put[name]) or column in (key, *but)
            if isinstance(value, int | float) and not is_told:
                return f"{column} {value} of {put[name]}"
    return f"{lost} lost, {counted} counted" if lost > counted else ""
