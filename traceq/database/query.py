"""The queries of rules and reports: run with parameters here, printed with literals for the user to run again."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

from traceq.database.sql import execute

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[a-z][a-z0-9_]*")
_QUOTED = r"""\b[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$.*?\$\$"""
_QUOTED_OR_COMMENT = re.compile(rf"({_QUOTED})|--[^\n]*|/\*.*?\*/", re.DOTALL)

Setting = int | float | str


def ask(connection: duckdb.DuckDBPyConnection, query: str, **values: Setting | list[int]) -> list[dict[str, Any]]:
    """Run the SQL text `query` and return its rows as dictionaries by column name.

    `values` that it does not name are ignored. Infinities and NaN, which only a changed database holds, become None, in lists and
    structs too.
    """
    cursor = execute(connection, query, values)
    columns = [column[0] for column in cursor.description or ()]
    return [dict(zip(columns, map(_finite_or_none, row), strict=True)) for row in cursor.fetchall()]


def _finite_or_none(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return list(map(_finite_or_none, value))
    if isinstance(value, dict):
        return {name: _finite_or_none(part) for name, part in value.items()}
    return value


def literal(query: str, **values: Setting) -> str:
    """Return the SQL query on one line, without comments and with `values` in place of its parameters, for a user to run.

    Values are numbers and category words of traceq's own. Raises ValueError for other text, so that no text of a trace
    can become SQL.
    """
    parts = _split(query)
    for place in range(0, len(parts), 2):
        code = re.sub(r"\$(\w+)", lambda match: _literal_of(values[match[1]]), parts[place])
        parts[place] = re.sub(r"(?<=\() | (?=\))", "", re.sub(r"\s+", " ", code))
    return "".join(parts).strip()


def without_end(query: str) -> str:
    """Return the query without comments and final semicolon, so that it can be nested in another."""
    return "".join(_split(query)).rstrip().removesuffix(";")


def _split(query: str) -> list[str]:
    """Return the query, without comments, as unquoted (even places) and quoted parts (odd places)."""
    bare = _QUOTED_OR_COMMENT.sub(lambda match: match[1] or " ", query)
    return re.split(f"({_QUOTED})", bare, flags=re.DOTALL)


def _literal_of(value: Setting) -> str:
    """Return a parameter's value as SQL text.

    Raises ValueError for text other than a lower-case word (letters, digits, _).
    """
    if isinstance(value, int | float):
        return repr(value)
    if not _WORD.fullmatch(value):
        raise ValueError(f"not allowed in a query: {value!r}")
    return f"'{value}'"
