"""Which module of a model a host thread is in: calls of modules nested by a sweep with a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

# Between the names of a module and of those around it; no name of a module has it.
SEPARATOR = "/"


class Call(NamedTuple):
    """A call of a module on a thread, [ts, ts_end) in ns."""

    number: int
    thread_id: int
    ts: int
    ts_end: int
    module: str


class Boundary(NamedTuple):
    """From `ts` on the thread is in the module at `path`, empty outside of all; `number` is the innermost call."""

    thread_id: int
    ts: int
    path: str
    number: int | None


def timeline(calls: Iterable[Call]) -> list[Boundary]:
    """The boundaries of all threads, in their order; `calls` are ordered by thread and start, longest first.

    A call that outlasts the one around it ends with it.
    """
    found: list[Boundary] = []
    stack: list[tuple[int, str, int]] = []
    thread = None

    def close(until: int) -> None:
        while stack and stack[-1][0] <= until:
            ended = stack.pop()[0]
            path, number = (stack[-1][1], stack[-1][2]) if stack else ("", None)
            found.append(Boundary(thread or 0, ended, path, number))

    for call in calls:
        if call.thread_id != thread:
            close(1 << 63)
            thread = call.thread_id
        close(call.ts)
        around = stack[-1] if stack else None
        # A wrapper and what it wraps have one name.
        is_same = around is not None and around[1].rpartition(SEPARATOR)[2] == call.module
        path = around[1] if around and is_same else SEPARATOR.join(filter(None, (around and around[1], call.module)))
        end = min(call.ts_end, around[0]) if around else call.ts_end
        stack.append((end, path, call.number))
        found.append(Boundary(call.thread_id, call.ts, path, call.number))
    close(1 << 63)
    return found


def fill_timeline(connection: duckdb.DuckDBPyConnection) -> None:
    """From _module_slice the temporary tables _module_timeline (thread_id, ts, path) and _module_call (number, path).

    Without rows of it they are not made.
    """
    rows = connection.execute(
        "select number, thread_id, ts, ts_end, module from _module_slice order by number"
    ).fetchall()
    if not rows:
        return
    found = timeline(Call(*row) for row in rows)
    columns = zip(*found, strict=True)
    types = (pa.int32(), pa.int64(), pa.string(), pa.int64())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    places = pa.array(range(len(found)), pa.int64())
    connection.register("_module_rows", pa.table([*arrays, places], names=[*Boundary._fields, "place"]))
    # Of several at one instant the last holds.
    connection.execute(
        "create temp table _module_timeline as"
        " select thread_id, ts, nullif(max_by(path, place), '') as path from _module_rows group by thread_id, ts"
    )
    connection.execute(
        "create temp table _module_call as"
        " select number, min_by(path, place) as path from _module_rows where number is not null group by number"
    )
    connection.unregister("_module_rows")
