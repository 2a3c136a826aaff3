"""Statements of users that would change DuckDB's settings, where the connection itself cannot be locked.

A lock holds for all connections of the process to one file, and some settings (what a division by zero gives) are set for each
connection: those opened after a lock would compute otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import duckdb

from traceq.errors import QueryError

_REFUSED = "settings are fixed here: traceq.open takes memory_limit=, and `set variable` works"

# What has the type of a setting and is none, and pragmas that only show.
_NO_SETTING = re.compile(
    r"\s*(?:(?:set|reset)\s+variable\b|use\b|(?:set|reset)\s+(?:session\s+)?(?:schema|search_path)\b)", re.IGNORECASE
)
_SHOWS = re.compile(
    r"\s*pragma\s+(?:collations|database_list|database_size|functions|metadata_info|platform|show\w*|storage_info|table_info"
    r"|user_agent|version)\b",
    re.IGNORECASE,
)

# Functions that set something. DuckDB 2.0 ends the process when logs cannot be written, as none can without files.
_SETS = re.compile(
    r"(?:en|dis)able_(?:logging|profil)\w*|truncate_duckdb_logs|json_execute_serialized_sql", re.IGNORECASE
)
# Its text may be computed, and only a plan shows what it calls.
_COMPUTED = re.compile(r"\bquery\b\"?\s*(?:\(|/\*|--)", re.IGNORECASE)
# What runs later, or while it is explained: no plan shows in time what it calls.
_UNPLANNED = {duckdb.StatementType.CREATE, duckdb.StatementType.CREATE_FUNC, duckdb.StatementType.MULTI}
# What cannot be explained.
_KEPT = {duckdb.StatementType.PREPARE, duckdb.StatementType.EXECUTE}

_EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+)?(?:\([^)]*\)\s*)?", re.IGNORECASE)


def refuse_settings(
    connection: duckdb.DuckDBPyConnection, statement: str, params: Sequence[object] | Mapping[str, object] | None
) -> None:
    """Raise QueryError if the SQL statement would change a setting of DuckDB; statements that are wrong pass.

    It is not run, but for pivots.
    """
    try:
        kind = next((parsed.type for parsed in connection.extract_statements(statement)), None)
    except ValueError:  # of a kind that has no name in Python: none of them reads
        raise QueryError(_REFUSED) from None
    if kind is duckdb.StatementType.SET:
        is_refused = not _NO_SETTING.match(statement)
    elif kind is duckdb.StatementType.PRAGMA:
        is_refused = not _SHOWS.match(statement)
    else:
        is_refused = kind in _KEPT
    if kind in _UNPLANNED:
        is_refused = is_refused or _COMPUTED.search(statement) is not None
    if is_refused or _SETS.search(statement) or _SETS.search(_plan_of(connection, statement, params)):
        raise QueryError(_REFUSED)


def _plan_of(
    connection: duckdb.DuckDBPyConnection, statement: str, params: Sequence[object] | Mapping[str, object] | None
) -> str:
    """Return the plan of the statement as JSON; empty where DuckDB has none, as for a statement that is wrong."""
    try:
        return str(
            connection.execute(f"explain (format json) {_EXPLAIN.sub('', statement, count=1)}", params).fetchall()
        )
    except duckdb.Error:
        # It fails again when it is run, and says where.
        return ""
