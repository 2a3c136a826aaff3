"""The report's queries: run with parameters here, printed with literals for the user to run again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from traceq.sql import statement

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[a-z][a-z0-9_]*")


def rows(connection: duckdb.DuckDBPyConnection, name: str, **values: int | str) -> list[dict[str, Any]]:
    """The rows of the query in traceq/sql/report/`name`.sql, as dictionaries by column name."""
    cursor = connection.execute(statement(f"report/{name}.sql"), values or None)
    columns = [column[0] for column in cursor.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def standalone(name: str, **values: int | str) -> str:
    """The query `name` on one line, without comments and with `values` in place of its parameters.

    Values are integers and category words of traceq's own; anything else is refused, so that no text of a
    trace can become SQL.
    """
    text = re.sub(r"--[^\n]*", "", statement(f"report/{name}.sql"))
    text = re.sub(r"\$(\w+)", lambda match: _literal(values[match[1]]), text)
    return re.sub(r"(?<=\() | (?=\))", "", " ".join(text.split()))


def _literal(value: int | str) -> str:
    if isinstance(value, int):
        return str(int(value))
    if not _WORD.fullmatch(value):
        raise ValueError(f"not a word that may stand in a query: {value!r}")
    return f"'{value}'"
