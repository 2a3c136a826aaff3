"""Which columns of an export's table hold values at all.

Exports declare every column there could be. Most are NULL throughout, and reading a NULL costs as much as reading a number:
a search for the first value costs less.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from traceq.importers.nsys.files import READ_WHAT_IS_THERE
from traceq.importers.sqlite import limit_steps, quoted, uri


def filled_columns(path: Path, table: str, columns: Iterable[str]) -> set[str]:
    """Those of the columns, all of which the table must have, that hold a value in some row; all when it is damaged."""
    empty = list(columns)
    filled: set[str] = set()
    with closing(sqlite3.connect(uri(path), uri=True)) as connection:
        limit_steps(connection, path)
        try:
            connection.execute(READ_WHAT_IS_THERE)
            while empty:
                tests = [f"{quoted(name)} is not null" for name in empty]
                query = f"select {', '.join(tests)} from {quoted(table)} where {' or '.join(tests)} limit 1"  # noqa: S608
                row = connection.execute(query).fetchone()
                if row is None:
                    break
                filled.update(name for name, has_value in zip(empty, row, strict=True) if has_value)
                empty = [name for name in empty if name not in filled]
        except sqlite3.Error:
            filled.update(empty)
    return filled
