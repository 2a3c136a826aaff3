"""Timeline of the modules of a model on each host thread: calls of modules nested by a sweep with a stack."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.analysis.in_parts import read_rows
from traceq.database.sql import relation
from traceq.database.tables import insert_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

_ROWS_AT_ONCE = 122_880
_TYPES = (pa.int32(), pa.int64(), pa.string(), pa.int64())

# Between the names of a module and of those around it; no name of a module has it.
SEPARATOR = "/"


class Call(NamedTuple):
    """A call of a model's module on a host thread, [ts, ts_end) in ns."""

    number: int
    thread_id: int
    ts: int
    ts_end: int
    module: str


class Boundary(NamedTuple):
    """A moment (ns) from which a thread is in the module at `path`, names from the outermost in, separated by "/".

    `path` is empty outside of all modules; `number` is the number of the innermost call, None outside.
    """

    thread_id: int
    ts: int
    path: str
    number: int | None


def nest_calls(calls: Iterable[Call]) -> Iterator[Boundary]:
    """Yield a boundary wherever a thread enters or leaves a module; `calls` are ordered by thread and start, longest first.

    A call that outlasts the call around it is cut at the end of the outer one. A call of the same module name directly inside
    adds nothing to the path.
    """
    stack: list[tuple[int, str, int]] = []
    thread = None

    def close(until: int) -> Iterator[Boundary]:
        while stack and stack[-1][0] <= until:
            ended = stack.pop()[0]
            path, number = (stack[-1][1], stack[-1][2]) if stack else ("", None)
            yield Boundary(thread or 0, ended, path, number)

    for call in calls:
        if call.thread_id != thread:
            yield from close(1 << 63)
            thread = call.thread_id
        yield from close(call.ts)
        around = stack[-1] if stack else None
        # A wrapper and what it wraps have one name.
        is_same = around is not None and around[1].rpartition(SEPARATOR)[2] == call.module
        path = around[1] if around and is_same else SEPARATOR.join(filter(None, (around and around[1], call.module)))
        end = min(call.ts_end, around[0]) if around else call.ts_end
        stack.append((end, path, call.number))
        yield Boundary(call.thread_id, call.ts, path, call.number)
    yield from close(1 << 63)


def fill_timeline(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary tables _module_timeline (thread_id, ts, path) and _module_call (number, path).

    The first has the module path that a thread is in from `ts` (ns) on, NULL outside of modules; the second the path of each
    call.
    """
    connection.execute("create or replace temp table _module_timeline (thread_id integer, ts bigint, path varchar)")
    connection.execute("create or replace temp table _module_call (number bigint, path varchar)")
    if not connection.execute("from _module_slice limit 1").fetchone():
        return
    connection.execute(
        "create temp table _module_boundary (thread_id integer, ts bigint, path varchar, number bigint, place bigint)"
    )
    calls = relation(connection, "select number, thread_id, ts, ts_end, module from _module_slice order by number")
    found = nest_calls(Call(*row) for row in read_rows(calls))
    for place, part in enumerate(iter(lambda: list(islice(found, _ROWS_AT_ONCE)), [])):
        columns = [pa.array(column, kind) for column, kind in zip(zip(*part, strict=True), _TYPES, strict=True)]
        columns.append(pa.array(range(place * _ROWS_AT_ONCE, place * _ROWS_AT_ONCE + len(part)), pa.int64()))
        insert_rows(connection, "_module_boundary", pa.table(columns, names=[*Boundary._fields, "place"]))
    # Of several at one instant the last holds.
    connection.execute(
        "insert into _module_timeline"
        " select thread_id, ts, nullif(max_by(path, place), '') as path from _module_boundary group by thread_id, ts"
    )
    connection.execute(
        "insert into _module_call"
        " select number, min_by(path, place) as path from _module_boundary where number is not null group by number"
    )
    connection.execute("drop table _module_boundary")
