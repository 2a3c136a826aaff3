"""Tiny nsys exports for tests: a table is a list of rows, a row is a dict of its columns."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

from traceq.importers import nsys

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"

PID, TID = 111, 222
NO = (1 << 32) - 1
"""How CUPTI says that there is no stream or no event."""


def global_id(tid: int = TID, pid: int = PID) -> int:
    """nsys' global id of a thread; of a process with tid 0."""
    return 1 << 48 | pid << 24 | tid


GPID = global_id(0)


def write(path: Path, strings: dict[int, Any] | None = None, **tables: list[dict[str, Any]]) -> Path:
    """A SQLite file with these tables and columns, and StringIds from a dict."""
    with closing(sqlite3.connect(path)) as database:
        for name, rows in {
            "StringIds": [{"id": k, "value": v} for k, v in (strings or {}).items()],
            **tables,
        }.items():
            columns = list(dict.fromkeys(column for row in rows for column in row)) or ["id", "value"]
            declared = ", ".join(f'"{column}"' for column in columns)
            database.execute(f'create table "{name}" ({declared})')
            marks = ", ".join("?" * len(columns))
            database.executemany(
                f'insert into "{name}" values ({marks})',
                [[row.get(column) for column in columns] for row in rows],
            )
        database.commit()
    return path


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows the importer yields, by table."""
    tables = defaultdict(list)
    for table, batch in nsys.read(path):
        batch.validate(full=True)
        tables[table] += batch.to_pylist()
    return tables


def pick_columns(rows: list[dict[str, Any]], columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the rows, as tuples; None where the importer left a column out."""
    return [tuple(row.get(column) for column in columns.split()) for row in rows]


def count_notes(tables: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """Counts of the notes by code."""
    counts: dict[str, int] = {}
    for row in tables["import_note"]:
        counts[row["code"]] = counts.get(row["code"], 0) + row["count"]
    return counts
