"""Numbers at the borders of all columns, for walks through the fields of a format, and what is wrong with what came of them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

_NEAR = [sign * 2**bits + more for bits in (7, 15, 31, 32, 53, 63, 64) for sign in (1, -1) for more in (-1, 0, 1)]
INTEGERS = [0, -1, *_NEAR, 10**30]
OTHERS = [1e30, 1e308, -1e308, float("inf"), float("nan"), 0.5, "", "text", "1.5", None]
BORDERS = [*INTEGERS, *OTHERS]
NESTED = [True, False, [], [1], {}, {"a": 1}]
"""Values of JSON beside these."""


def collect_tables(batches: Any) -> dict[str, list[dict[str, Any]]]:
    """All rows by table."""
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for table, batch in batches:
        batch.validate(full=True)
        tables[table] += batch.to_pylist()
    return tables


def count_losses(tables: dict[str, list[dict[str, Any]]]) -> int:
    """How many things the notes say are lost, changed or left out."""
    return sum(note["count"] for note in tables["import_note"])


def find_untold(usual: dict[str, Any], put: dict[Any, Any], rows: list[dict[str, Any]], counted: int, key: str) -> str:
    """Say what is wrong with rows that were made with the values `put` in one field each, by the row's `key`; "" if nothing is.

    A row has to be there, with the numbers of the `usual` row or the one put in; what is missing has to be counted.
    """
    found = {row[key]: row for row in rows}
    lost = len(put) - len(found)
    if lost < 0 or found.keys() - put.keys():
        return f"{len(found)} rows of {len(put)}"
    for name, row in found.items():
        lost += any(row[column] is None and usual[column] is not None for column in row) and put[name] is not None
        for column, value in row.items():
            if isinstance(value, int | float) and column != key and value not in (usual[column], put[name]):
                return f"{column} {value} of {put[name]}"
    return f"{lost} lost, {counted} counted" if lost > counted else ""
