"""Times that a trace can have: sums and differences of them fit 64 bits. Databases of others may hold any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traceq.database.sql import read_columns
from traceq.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

# How far from the middle of a trace its events may lie, and how long one may take, ns: 417 days.
REACH = 1 << 55
# Nanoseconds since 1970 that others can be added to: until 2116. Also of all durations of a table together.
LATEST = 1 << 62
# The clocks of host and GPU are this close together, ns.
CLOCKS_APART = 100_000

_TIMES = {"ts", "dur", "gpu_ts", "gpu_dur", "utc_origin_ns"}
# A step may take less than nothing where the replay leaves more out than it holds.
_SIGNED = {("replay_step", "dur")}
_TOO_LONG = """
select 'cpu_slice', 'dur', sum(dur) || ' in all' from cpu_slice having sum(dur) > $1
union all
select 'gpu_slice', 'dur', sum(dur) || ' in all' from gpu_slice having sum(dur) > $1
"""


def check_times(connection: duckdb.DuckDBPyConnection, path: Path, schema: Sequence[str]) -> None:
    """Raise StoreError if a time in the database is one that no trace can have, or a trace's arguments are not JSON.

    `schema` names the SQL files that define the tables. The check is fast: DuckDB stores the extremes of each column.
    """
    columns = _find_times(schema)
    ends_of = [
        f"select {number}, min({column}), max({column}) from {table}"  # noqa: S608 - names of the schema
        for number, (table, column) in enumerate(columns)
    ]
    found = connection.execute(" union all ".join(ends_of)).fetchall()
    for number, *ends in sorted(found):
        table, column = columns[number]
        for value in ends:
            if not _is_possible(columns[number], value):
                raise impossible_value(path, table, column, value)
    if too_long := connection.execute(_TOO_LONG, [LATEST]).fetchone():
        raise impossible_value(path, *too_long)
    if wrong := connection.execute("select args from trace where not json_valid(args)").fetchone():
        raise impossible_value(path, "trace", "args", *wrong)


def _is_possible(place: tuple[str, str], value: object) -> bool:
    """Return whether a trace can have the value in the column (`place` is table and column); None is possible."""
    least = 0 if place[1].endswith("dur") and place not in _SIGNED else -LATEST
    return value is None or (isinstance(value, int) and least <= value < LATEST)


def impossible_value(path: Path, table: str, column: str, value: object) -> StoreError:
    """Return the error for a value that no trace can have."""
    return StoreError(
        f"{path}: not as traceq makes it, {table}.{column} holds {str(value)[:30]!r}, which no trace has; ask its author for the"
        " trace"
    )


def _find_times(schema: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of table and column for all columns of times in the SQL files."""
    return [
        (table, column)
        for table, columns in read_columns(tuple(schema)).items()
        for column, kind in columns.items()
        if column in _TIMES and kind.startswith("bigint") and "generated" not in kind
    ]
