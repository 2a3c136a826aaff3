"""RPD databases of rocmProfileData (runTracer.sh, librpd_tracer): operations of GPUs, calls that caused them, and strings.

The tool numbers its own calls (writing tables) from 2**31 on. Ranges and marks of roctx are calls of UserMarker with their text
as arguments. GPUs have numbers and no names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from traceq.importers.rocm.dispatches import RowBuilder, Rows, count_blocks, describe_copy, kernel_name
from traceq.importers.rows import batches_of
from traceq.importers.sqlite import fetch_batches

_OWN_CALLS = 1 << 31
MARKER = "UserMarker"


def read(connection: sqlite3.Connection, tables: Mapping[str, set[str]], builder: RowBuilder) -> Rows:
    """Yield (table, batch) of the operations and calls in an RPD database; `tables` are the columns by table."""
    strings = {number: str(text) for number, text in connection.execute("select id, string from rocpd_string")}
    for rows in fetch_batches(connection, _operations_query(tables)):
        named = (
            (*place, strings.get(text) or strings.get(sort, ""), strings.get(sort, ""), *rest)
            for place, (text, sort, *rest) in ((row[:4], row[4:]) for row in rows)
        )
        yield from build_operations(named, builder)
    query = 'select start, "end", id, pid, tid, apiName_id, args_id from rocpd_api order by id'
    for rows in fetch_batches(connection, query):
        calls = ((*row, strings.get(name, f"call {name}"), strings.get(args, MARKER)) for *row, name, args in rows)
        yield from build_calls(calls, builder)
    if "rocpd_monitor" in tables:
        (count,) = connection.execute("select count(*) from rocpd_monitor").fetchone()
        text = "samples of clocks (rocpd_monitor) were left out: they number GPUs differently from operations"
        builder.notes["data_loss", "records_not_imported", text] += count
    yield from batches_of("trace", [{"producer": "rocmProfileData"}])


# What tables about calls say of an operation, where the file has them.
_DETAILS = {
    "rocpd_kernelapi": ("groupSegmentSize", *(f"{size}{axis}" for size in ("grid", "workgroup") for axis in "XYZ")),
    "rocpd_copyapi": ("size",),
}


def _operations_query(tables: Mapping[str, set[str]]) -> str:
    """Return SQL text for the operations on GPUs, each with the call that caused it and the details of its launch or copy.

    Columns that the file lacks are null; `tables` are the columns by table.
    """
    columns = [
        f"{table}.{column}" if column in tables.get(table, ()) else "null"
        for table, wanted in _DETAILS.items()
        for column in wanted
    ]
    joins = [f"left join {table} on {table}.api_ptr_id = l.api_id" for table in _DETAILS if table in tables]
    return f"""
        select o.start, o."end", o.gpuId, o.queueId, o.description_id, o.opType_id, a.id, a.pid, {", ".join(columns)}
        from rocpd_op as o
        left join (select op_id, min(api_id) as api_id from rocpd_api_ops group by op_id) as l on l.op_id = o.id
        left join rocpd_api as a on a.id = l.api_id
        {" ".join(joins)}
        order by o.id
    """  # noqa: S608 - names of ours


def build_operations(rows: Iterable[Sequence[Any]], builder: RowBuilder) -> Rows:
    """Yield (table, batch) of operations on GPUs: copies and fills, if the text of their sort says so, else kernels.

    A row is (start, end, device, queue, name, sort, call's id, pid, shared memory, grid x, y, z, block x, y, z, bytes);
    times in ns.
    """
    kernels, copies, fills = [], [], []
    for start, end, device, queue, name, sort, call, pid, shared, *sizes, size in rows:
        place, caused = (device, queue), (pid, call)
        if "copy" in sort.lower():
            copy, *told = describe_copy(sort)
            copies.append((start, end, *place, copy, *caused, *told, None, None, size))
        elif "fill" in sort.lower():
            fills.append((start, end, *place, "Memset (Device)", *caused))
        else:
            shape = count_blocks(sizes[:3], sizes[3:])
            kernels.append((start, end, *place, kernel_name(name, "of no name"), *caused, *shape, None, shared))
    for kind, found in (("kernel", kernels), ("memcpy", copies), ("memset", fills)):
        yield from builder.build_batches(kind, found)


def build_calls(rows: Iterable[Sequence[Any]], builder: RowBuilder) -> Rows:
    """Yield (table, batch) of HIP and other calls, of roctx ranges, and of the profiler's own calls.

    A row is (start, end, number, pid, tid, name, text); a call named MARKER is a range with `text` as its name.
    """
    calls, ranges, others = [], [], []
    for start, end, number, pid, tid, name, text in rows:
        thread = builder.number_thread(pid, tid)
        if name == MARKER:
            ranges.append((start, end, thread, "roctx", text, False))
        elif isinstance(number, int) and number >= _OWN_CALLS:
            others.append((start, end, thread, "overhead", "rpd", name))
        else:
            calls.append((start, end, thread, "hip" if name.startswith("hip") else None, name, number))
    for kind, found in (("call", calls), ("range", ranges), ("other", others)):
        yield from builder.build_batches(kind, found)
