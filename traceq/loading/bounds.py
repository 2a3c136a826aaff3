"""Staged rows whose numbers no machine can have are left out or mended, with a note: sums and differences then fit 64 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from traceq.common.units import duration
from traceq.database.sql import read_columns, relation, run, statement
from traceq.database.times import CLOCKS_APART, LATEST, REACH
from traceq.loading.staging import COPIED, add_note, list_staged

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

# Table of slices -> what holds for those without a time.
_WITHOUT_TIME = {"gpu_slice": "ts = 0 and dur = 0", "cpu_slice": "ts = 0 and dur = 0 and kind <> 'other'"}
_TIMED = (
    *_WITHOUT_TIME,
    *("gpu_annotation", "synchronization", "cuda_event", "counter", "page_fault", "file_access", "cpu_sample", "thread_switch"),
    *("allocator_event", "graph_node", "python_sample", "collection"),
)  # fmt: skip
_LASTING = (*_WITHOUT_TIME, "gpu_annotation", "synchronization", "page_fault", "file_access")

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
_REQUIRED: Mapping[str, Sequence[str]] = {
    table: [column for column, kind in columns.items() if "not null" in kind and column != "trace_id"]
    for table, columns in read_columns(("database/schema.sql",)).items()
    if table in COPIED[1:]
}


def drop_impossible(connection: duckdb.DuckDBPyConnection) -> None:
    """Delete staged rows whose times or numbers no machine can have, or mend them: numbers become NULL, durations 0.

    Rows that lack an id or a time which every row of their table must have are deleted as well. Each kind that is left out or
    changed gets a note with the number of rows.
    """
    tables = list_staged(connection)
    if not _is_doubtful(connection, tables):
        return
    _drop_out_of_range(connection, tables)
    for table in filter(_REQUIRED.__contains__, tables):
        lacks = {column: f"{column} is null" for column in _REQUIRED[table]}
        missing = [c for c in lacks if connection.execute(f"from staging.{table} where {lacks[c]}").fetchone()]
        text = f"rows of {table} without {' or '.join(missing)} were left out"
        _drop_rows(connection, table, " or ".join(lacks.values()), "malformed_event", text)


def _is_doubtful(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> bool:
    """Return whether anything in these staged tables may have to be left out or mended.

    One query looks at all of them, because planning the many that find out what is wrong takes longer than all else.
    """
    looks = []
    for table in tables:
        wrong = [f"{column} not between {least} and {most}" for column, least, most in _RANGES.get(table, ())]
        wrong += [f"{column} is null" for column in _REQUIRED.get(table, ())]
        wrong += [f"not coalesce({_NEEDED[table]}, false)"] if table in _NEEDED else []
        facts = [f"bool_or({' or '.join(wrong)}) as is_wrong"] if wrong else []
        facts += ["min(ts) as least, max(ts) as most"] if table in _TIMED else []
        facts += ["max(dur) as longest, sum(dur) as total"] if table in _LASTING else []
        facts += [f"count(*) filter ({_WITHOUT_TIME[table]}) as lost"] if table in _WITHOUT_TIME else []
        facts += ["max(utc_origin_ns) as origin, min(utc_origin_ns) < 0 as is_before"] if table == "trace" else []
        if facts:
            looks.append(f"select {', '.join(facts)} from staging.{table}")
    ((is_doubtful,),) = connection.execute(f"""
        select
            coalesce(bool_or(is_wrong or is_before or longest > {REACH} or total > {LATEST} or lost > 1), false)
            or coalesce(max(most)::hugeint - min(least) > {REACH}, false)
            or coalesce(max(origin) > {LATEST} - greatest(0, max(most)), false)
        from ({" union all by name ".join(looks)})
    """).fetchall()
    return bool(is_doubtful)


def _drop_out_of_range(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
    """Delete rows of these staged tables whose times or numbers no machine can have, or mend them, with notes."""
    for table, where in _WITHOUT_TIME.items():
        # A profiler that lost the times of records writes them so (pytorch#188481); one alone may be the first thing there is.
        several = f"(select count(*) > 1 from staging.{table} where {where})"
        text = f"rows of {table} without a time (0 for start and duration) were left out"
        _drop_rows(connection, table, f"{where} and {several}", "time_out_of_range", text)
    middle = _median_time(connection, " union all ".join(f"select ts from staging.{table}" for table in _WITHOUT_TIME))
    for table in filter(tables.__contains__, _TIMED):
        around = _median_time(connection, f"select ts from staging.{table}") if middle is None else middle
        if around is not None:
            where = f"ts not between {around - REACH} and {around + REACH}"
            text = f"rows of {table} that lie years from the other events were left out: their times cannot be true"
            _drop_rows(connection, table, where, "time_out_of_range", text)
    for table in filter(tables.__contains__, _LASTING):
        _limit_durations(connection, table)
    # The latest event must have a time since 1970, too.
    _limit(connection, "trace", ("utc_origin_ns", 0, LATEST - max(0, middle or 0)))
    for table in filter(tables.__contains__, _RANGES):
        _limit(connection, table, *_RANGES[table])
    for table in filter(tables.__contains__, _NEEDED):
        text = f"rows of {table} with numbers that cannot be true were left out"
        _drop_rows(connection, table, f"not coalesce({_NEEDED[table]}, false)", "number_out_of_range", text)


def end_marks(connection: duckdb.DuckDBPyConnection) -> None:
    """Let staged annotations that overlap the next one of their name by little end where it begins, with a note."""
    cut = relation(connection, statement("loading/mark_ends.sql")).to_arrow_table()
    if cut.num_rows:
        connection.execute("update staging.cpu_slice as c set dur = cut.dur from cut where c.slice_id = cut.slice_id")
        text = (
            "marks that overlap the next one of their kind by a hundredth of their length or less end where it begins"
        )
        add_note(connection, "info", "mark_overlaps_next", cut.num_rows, text)


_CUT = "and may have ended before; capture again, with a newer profiler"
# Slices that last too long -> severity of the note, beyond what they last, and what becomes of them.
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
    ends = relation(connection, statement("loading/gpu_ends.sql")).to_arrow_table()
    if ends.num_rows:
        connection.execute(
            "update staging.gpu_slice as g set dur = possible from ends where g.slice_id = ends.slice_id"
        )
    found = {"_gpu_end": (ends.num_rows, pc.max(ends.column("dur")).as_py())}
    if run(connection, "loading/wait_ends.sql", apart=CLOCKS_APART).fetchone():
        run(connection, "loading/wait_cuts.sql", apart=CLOCKS_APART)
        for table in ("_waited_end", "_doubted_end"):
            (found[table],) = connection.execute(f"select count(*), max(dur) from {table}").fetchall()
        for table in ("_doubted_end", "_waited_end", "_doubted_wait", "_tested_work"):
            connection.execute(f"drop table {table}")
    connection.execute("drop table _host_wait")
    for table, (count, most) in found.items():
        if count:
            severity, what, then = _ENDS[table]
            text = f"GPU slices last beyond {what}, the longest {duration(most)}: {then}"
            add_note(connection, severity, "impossible_duration", count, text)


def _limit(connection: duckdb.DuckDBPyConnection, table: str, *ranges: tuple[str, int, int]) -> None:
    """Set values of columns outside of their range to NULL, with a note; `ranges` are (column, least, most)."""
    for column, least, most in ranges:
        mend = f"update staging.{table} set {column} = null where {column} not between {least} and {most}"
        ((found,),) = connection.execute(mend).fetchall()
        if found:
            text = f"values of {table}.{column} that cannot be true are NULL"
            add_note(connection, "data_loss", "number_out_of_range", found, text)


def _median_time(connection: duckdb.DuckDBPyConnection, times: str) -> int | None:
    """Return the median of the column ts (ns) of the query `times`; its least value if all are near it, None without rows."""
    ((least, most),) = connection.execute(f"select min(ts), max(ts) from ({times})").fetchall()
    if least is None or most - least <= REACH:
        return least  # type: ignore[no-any-return]
    ((middle,),) = connection.execute(f"select quantile_disc(ts, 0.5) from ({times})").fetchall()
    return middle  # type: ignore[no-any-return]


def _limit_durations(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    """Set durations of a staged table that no program can have to 0, with a note, so that all of them sum up in 64 bits."""
    ((rows, total),) = connection.execute(f"select count(*), coalesce(sum(dur), 0) from staging.{table}").fetchall()
    limit = REACH if total <= LATEST else min(REACH, LATEST // rows)
    ((found,),) = connection.execute(f"update staging.{table} set dur = 0 where dur > {limit}").fetchall()
    if found:
        text = f"impossible durations in {table} were set to 0"
        add_note(connection, "data_loss", "duration_overflow", found, text)


def _drop_rows(connection: duckdb.DuckDBPyConnection, table: str, where: str, code: str, text: str) -> None:
    """Delete the rows of a staged table for which the SQL condition `where` holds, with a note that says how many."""
    ((found,),) = connection.execute(f"delete from staging.{table} where {where}").fetchall()
    if found:
        add_note(connection, "data_loss", code, found, text)
