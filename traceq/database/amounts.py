"""Amounts, which are 0 or more: durations, sizes, counts, rates; and shares. Databases of others may hold any number."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from traceq.database.sql import read_columns
from traceq.database.times import impossible_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

_NUMBER = re.compile(r"(bigint|double)(?!\[| generated)")

# Points in time, names that are numbers, and values of counters, whatever they count.
_NO_AMOUNT = re.compile(
    r"\w+\.((\w+_)?ts(_\w+)?|recorded|finished|own_begins|utc_\w+|zone_ns|\w+_id|pid|tid|stream|context|wait_on_stream|address"
    r"|sequence|number|event|event_end|event_free|drained_by|late_after)|run_\w+\.(at_ns|\w+_at|shift|value|loss)"
    r"|(compil\w+|graph_break|recompilation)\.\w+_at|request_log\.shift"
    r"|counter\.value|monitor_step\.(lowest|mean|highest)"
)
# Below 0 where it goes the other way.
_DIFFERENCE = re.compile(
    r"\w+\.(lag|usual|win|\w+_win|adds|cause_ns|stage_share|worker_share|growth|memory_growth|clock_drift|clock_offset|offset_ns"
    r"|residual_ns|correlation|error|replay_error)|replay_step\.dur"
)
# 1 at the most, and what sums of floats are above it.
_SHARE = re.compile(
    r"worker_busy|overlap_share|sm_coverage|(theoretical|estimated)_occupancy|wave_efficiency|matched_share|late_steps"
)
_MOST_SHARE = 1 + 1e-9
# Integers by which reports look up rows in memory.
_PLACES = {"cpu_slice": ["slice_id", "thread_id", "depth"], "gpu_slice": ["slice_id"]}


def check_amounts(connection: duckdb.DuckDBPyConnection, path: Path, schema: Sequence[str]) -> None:
    """Raise StoreError if an amount in the database is below 0, or a share above 1.

    `schema` names the SQL files that define the tables. The check is fast: DuckDB stores the extremes of each column.
    """
    tables = _find_amounts(tuple(schema))
    wrong = " union all ".join(
        f"select '{table}' from {table} having {' or '.join(ends_of)}"  # noqa: S608 - names of the schema
        for table, ends_of in tables.items()
    )
    if not (found := connection.execute(wrong).fetchone()):
        return
    [table] = found
    for end in tables[table]:
        what = end.partition(" ")[0]
        if value := connection.execute(f"select {what} from {table} having {end}").fetchone():  # noqa: S608 - names of the schema
            column = what[what.index("(") + 1 : -1]
            raise impossible_value(path, table, column, *value)


@cache
def _find_amounts(schema: tuple[str, ...]) -> dict[str, list[str]]:
    """Return by table the conditions of SQL that only impossible amounts meet, for the tables of the SQL files."""
    found = {}
    for table, columns in read_columns(schema).items():
        numbers = [column for column, kind in columns.items() if _NUMBER.match(kind)]
        others = [name for name in numbers for words in (_NO_AMOUNT, _DIFFERENCE) if words.fullmatch(f"{table}.{name}")]
        amounts = [column for column in numbers if column not in others] + _PLACES.get(table, [])
        shares = [column for column in numbers if _SHARE.fullmatch(column)]
        found[table] = [f"min({column}) < 0" for column in amounts] + [
            f"max({column}) > {_MOST_SHARE}" for column in shares
        ]
    return {table: conditions for table, conditions in found.items() if conditions}
