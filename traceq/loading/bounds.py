"""Staged rows whose numbers no machine can have are left out or mended, with a note: sums and differences then fit 64 bits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from traceq.common.units import duration
from traceq.database.sql import run
from traceq.database.times import CLOCKS_APART, LATEST, REACH
from traceq.loading.staging import add_note

if TYPE_CHECKING:
    import duckdb

# More bytes no machine has: a petabyte.
_MOST_BYTES = 1 << 50
_MOST_DEVICES = 1 << 16
# Threads, registers or bytes of a multiprocessor, and multiprocessors of a GPU: a thousand times what there is.
_MOST_OF_SM = 1 << 28
_MOST_RANKS = 1 << 24
# Larger readings cannot be squared and summed.
_MOST_VALUE = "1e100"

_SLICES = ("gpu_slice", "cpu_slice")
_TIMED = (
    *_SLICES,
    *("gpu_annotation", "synchronization", "cuda_event", "counter", "page_fault", "file_access", "cpu_sample", "thread_switch"),
    *("allocator_event", "graph_node"),
)  # fmt: skip
_LASTING = (*_SLICES, "gpu_annotation", "synchronization", "page_fault", "file_access")

# Table -> columns, of numbers within which each is true: others are NULL.
_RANGES: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "trace": (("rank", 0, _MOST_RANKS), ("world_size", 1, _MOST_RANKS)),
    "gpu_slice": (
        ("bytes", 0, _MOST_BYTES),
        ("src_device", -1, _MOST_DEVICES),
        ("dst_device", -1, _MOST_DEVICES),
        ("shared_memory", 0, _MOST_BYTES),
        ("registers_per_thread", 0, _MOST_OF_SM),
        *((f"{size}_{axis}", 0, (1 << 31) - 1) for size in ("grid", "block") for axis in "xyz"),
    ),
    "collective": (("group_size", 1, _MOST_RANKS), ("in_elements", 0, _MOST_BYTES), ("out_elements", 0, _MOST_BYTES)),
    "device": (
        ("memory_bytes", 0, _MOST_BYTES),
        ("memory_bandwidth", 0, _MOST_BYTES),
        *(
            (column, 0, _MOST_OF_SM)
            for column in (
                *("sm_count", "warp_size", "max_threads_per_sm", "max_blocks_per_sm"),
                *("registers_per_sm", "shared_memory_per_sm"),
            )
        ),
    ),
    "counter": (("device", -1, _MOST_DEVICES),),
    "file_access": (("bytes", 0, _MOST_BYTES),),
}
# What a row is nothing without: rows with others are left out.
_NEEDED: Mapping[str, str] = {
    "gpu_slice": f"device between -1 and {_MOST_DEVICES}",
    "gpu_annotation": f"device between -1 and {_MOST_DEVICES}",
    "device": f"device between -1 and {_MOST_DEVICES}",
    # Totals that PyTorch tells, with what it reserves, are not below 0. Those of nsys count from the start of the capture.
    "counter": f"""
        abs(value) < {_MOST_VALUE} and (
            unit is distinct from 'bytes'
            or value between -{_MOST_BYTES} and {_MOST_BYTES}
            and (
                value >= 0
                or name not in ('memory_allocated', 'memory_reserved')
                or not exists (from staging.counter where name = 'memory_reserved')
            )
        )
    """,
    "allocator_event": f"coalesce(bytes, 0) between 0 and {_MOST_BYTES}",
    "allocator_segment": f"bytes between 0 and {_MOST_BYTES}",
    "allocator_block": f"bytes between 0 and {_MOST_BYTES}",
}


# Columns that may not be NULL where staging is copied, by table; the copy brings trace_id.
_WHOLE = """
    select s.table_name, list(s.column_name order by s.column_index)
    from duckdb_columns() as s
    join duckdb_columns() as kept using (table_name, column_name)
    where s.database_name = 'staging' and kept.database_name = current_database() and not kept.is_nullable
        and column_name <> 'trace_id' and s.table_name in (select unnest($tables))
    group by s.table_name
    order by s.table_name
"""


def drop_incomplete_rows(connection: duckdb.DuckDBPyConnection, tables: Collection[str]) -> None:
    """Delete the staged rows of `tables` that lack an id or a time that every row of the table must have.

    Each table that loses rows gets a note with their number.
    """
    for table, columns in connection.execute(_WHOLE, {"tables": list(tables)}).fetchall():
        lacks = " or ".join(f"{column} is null" for column in columns)
        found = _count(connection, table, lacks)
        if found:
            missing = [column for column in columns if _count(connection, table, f"{column} is null")]
            connection.execute(f"delete from staging.{table} where {lacks}")
            text = f"rows of {table} without {' or '.join(missing)} were left out"
            add_note(connection, "data_loss", "malformed_event", found, text)


def drop_out_of_range(connection: duckdb.DuckDBPyConnection) -> None:
    """Delete staged rows whose times or numbers no machine can have, or mend them: numbers become NULL, durations 0.

    Each kind that is left out or changed gets a note with the number of rows.
    """
    for table in _SLICES:
        _drop_without_times(connection, table)
    middle = _median_time(connection, " union all ".join(f"select ts from staging.{table}" for table in _SLICES))
    for table in _TIMED:
        _limit_times(connection, table, middle)
    for table in _LASTING:
        _limit_durations(connection, table)
    # The latest event must have a time since 1970, too.
    _limit(connection, "trace", ("utc_origin_ns", 0, LATEST - max(0, middle or 0)))
    for table, columns in _RANGES.items():
        _limit(connection, table, *columns)
    for table, condition in _NEEDED.items():
        found = _count(connection, table, f"not coalesce({condition}, false)")
        if found:
            connection.execute(f"delete from staging.{table} where not coalesce({condition}, false)")
            text = f"rows of {table} with numbers that cannot be true were left out"
            add_note(connection, "data_loss", "number_out_of_range", found, text)


def end_marks(connection: duckdb.DuckDBPyConnection) -> None:
    """Let staged annotations that overlap the next one of their name by little end where it begins, with a note."""
    run(connection, "loading/mark_ends.sql")
    ((found,),) = connection.execute("select count(*) from _mark_end").fetchall()
    if found:
        text = (
            "marks that overlap the next one of their kind by a hundredth of their length or less end where it begins"
        )
        add_note(connection, "info", "mark_overlaps_next", found, text)
    connection.execute("drop table _mark_end")


_CUT = "and may have ended before; capture again, with a newer profiler"
# Table of slices that last too long -> severity of the note, beyond what they last, and what becomes of them.
_ENDS = {
    "_gpu_end": (
        "data_loss",
        "the end of one that ran after them on the same stream",
        f"they end where it begins, {_CUT}",
    ),
    "_waited_end": ("data_loss", "the return of a call that waited for them", f"they end with it, {_CUT}"),
    "_doubted_end": (
        "info",
        "the return of a call that seems to have waited for them",
        (
            "more than a tenth of such calls return before their work ends, so they waited for something else (another GPU"
            " or context), or the clocks of host and GPU differ; the durations are kept as recorded"
        ),
    ),
}


def end_gpu_work(connection: duckdb.DuckDBPyConnection) -> None:
    """Let staged GPU work that outlasts what ran after it on its stream, or a call that waited for it, end there, with a note.

    Where calls return early too often to have waited for the work, it keeps its durations, with a note.
    """
    run(connection, "loading/gpu_ends.sql")
    run(connection, "loading/wait_ends.sql", apart=CLOCKS_APART)
    is_late = bool(connection.execute("from _late_work limit 1").fetchone())
    if is_late:
        run(connection, "loading/wait_cuts.sql", apart=CLOCKS_APART)
    for table, (severity, what, then) in _ENDS.items() if is_late else [("_gpu_end", _ENDS["_gpu_end"])]:
        ((found, most),) = connection.execute(f"select count(*), max(dur) from {table}").fetchall()
        if found:
            text = f"GPU slices last beyond {what}, the longest {duration(most)}: {then}"
            add_note(connection, severity, "impossible_duration", found, text)
    for table in ("_host_wait", "_late_work", "_tested_work", "_doubted_wait", *_ENDS):
        connection.execute(f"drop table if exists {table}")


def _limit(connection: duckdb.DuckDBPyConnection, table: str, *ranges: tuple[str, int, int]) -> None:
    """Set values of columns outside of their range to NULL, with a note; `ranges` are (column, least, most)."""
    wheres = {column: f"{column} not between {least} and {most}" for column, least, most in ranges}
    counts = ", ".join(f"count(*) filter ({where})" for where in wheres.values())
    (found,) = connection.execute(f"select {counts} from staging.{table}").fetchall()
    for (column, where), count in zip(wheres.items(), found, strict=True):
        if count:
            connection.execute(f"update staging.{table} set {column} = null where {where}")
            text = f"values of {table}.{column} that cannot be true are NULL"
            add_note(connection, "data_loss", "number_out_of_range", count, text)


def _median_time(connection: duckdb.DuckDBPyConnection, times: str) -> int | None:
    """Return the median of the column ts (ns) of the query `times`; its least value if all are near it, None without rows."""
    ((least, most),) = connection.execute(f"select min(ts), max(ts) from ({times})").fetchall()
    if least is None or most - least <= REACH:
        return least  # type: ignore[no-any-return]
    ((middle,),) = connection.execute(f"select quantile_disc(ts, 0.5) from ({times})").fetchall()
    return middle  # type: ignore[no-any-return]


def _limit_times(connection: duckdb.DuckDBPyConnection, table: str, middle: int | None) -> None:
    """Delete rows of a staged table that lie years from `middle` (ns), with a note; None stands for the table's own median."""
    if middle is None:
        middle = _median_time(connection, f"select ts from staging.{table}")
    if middle is None:
        return
    where = f"ts not between {middle - REACH} and {middle + REACH}"
    found = _count(connection, table, where)
    if found:
        connection.execute(f"delete from staging.{table} where {where}")
        text = f"rows of {table} that lie years from the other events were left out: their times cannot be true"
        add_note(connection, "data_loss", "time_out_of_range", found, text)


def _drop_without_times(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    """Delete slices of a staged table that start at 0 and last 0, with a note, if there are several: they have no times.

    A profiler that lost the times of records writes them so (pytorch#188481). An instant may be the first thing there is.
    """
    where = "ts = 0 and dur = 0" + (" and kind <> 'other'" if table == "cpu_slice" else "")
    found = _count(connection, table, where)
    if found > 1:
        connection.execute(f"delete from staging.{table} where {where}")
        text = f"rows of {table} without a time (0 for start and duration) were left out"
        add_note(connection, "data_loss", "time_out_of_range", found, text)


def _limit_durations(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    """Set durations of a staged table that no program can have to 0, with a note, so that all of them sum up in 64 bits."""
    ((rows, longest, total),) = connection.execute(
        f"select count(*), coalesce(max(dur), 0), coalesce(sum(dur), 0) from staging.{table}"
    ).fetchall()
    limit = REACH if total <= LATEST else min(REACH, LATEST // rows)
    if longest <= limit:
        return
    found = _count(connection, table, f"dur > {limit}")
    connection.execute(f"update staging.{table} set dur = 0 where dur > {limit}")
    add_note(
        connection,
        "data_loss",
        "duration_overflow",
        found,
        f"durations in {table} that no program can have were set to 0",
    )


def _count(connection: duckdb.DuckDBPyConnection, table: str, where: str) -> int:
    """Return the number of rows of a staged table for which the SQL condition `where` holds."""
    ((found,),) = connection.execute(f"select count(*) from staging.{table} where {where}").fetchall()
    return int(found)
