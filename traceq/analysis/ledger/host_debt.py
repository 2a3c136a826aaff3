"""How far the host has fallen behind by calls that wait for a GPU, where they follow on one another before it has caught up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

_CALLS = """
select d.device, d.pid, d.drained_by, d.held, coalesce(max(a.lead), 0) as furthest
from _dry as d
left join _ahead as a using (device, drained_by)
group by d.device, d.pid, d.drained_by, d.held, d.ts
order by d.device, d.pid nulls first, d.ts, d.drained_by
"""


def fill_debt(connection: duckdb.DuckDBPyConnection) -> None:
    """The temporary table _debt: device, drained_by; the call whose wait the host had not made up then, and its length, ns."""
    calls = connection.sql(_CALLS).fetchall()
    owed = list(debts(calls))
    found_debt = pa.table(
        {
            "device": pa.array([call[0] for call in calls], pa.int64()),
            "drained_by": pa.array([call[2] for call in calls], pa.int64()),
            "owed_to": pa.array([each[0] for each in owed], pa.int64()),
            "debt": pa.array([each[1] for each in owed], pa.int64()),
        }
    )
    connection.register("found_debt", found_debt)
    connection.execute("create or replace temp table _debt as from found_debt")
    connection.unregister("found_debt")


def debts(calls: Iterable[tuple[int, int | None, int, int, int]]) -> Iterator[tuple[int, int]]:
    """For each call the longest wait that is not made up then, its own or one before it: call and ns.

    `calls`, in order: device, process, call, how long it had held the host, how far ahead the host was at most until the next.
    """
    lane, furthest = None, 0
    owed = (0, 0)
    for device, process, call, held, ahead in calls:
        if lane != (device, process) or furthest >= owed[1] or held >= owed[1]:
            owed = (call, held)
        lane, furthest = (device, process), ahead
        yield owed
