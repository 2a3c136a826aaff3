"""Charges gaps to calls that wait for a GPU: gaps that the host comes late to because it was held before."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.analysis.in_parts import stream_rows
from traceq.database.sql import relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

# Calls that let a device run dry, and gaps that the host comes late to, in the order of time. Of calls: how long they had held
# the host by then. Of gaps: how long they last without the call that is still waiting, and without what the next work waits for
# once it has been launched, where that is longer than any launch takes (100 us); and how far ahead of the device the host can be
# there: CUDA holds the launches of about 1,024 kernels that have not started.
_EVENTS = """
with
work as (
    select device, slice_id, lag(ts, 1000) over (partition by device order by ts, slice_id) as thousandth_before
    from gpu_slice
    where device in (select device from _dry)
),

waiting as (
    select interval_id as gap_id, sum(ts_end - ts)::bigint as dur
    from _idle_piece
    where synchronizing_id is not null
    group by interval_id
)

select d.device, d.pid, d.ts, 0 as place, d.drained_by as id, d.held as dur, null::bigint as ahead,
    regexp_matches(c.name, '^(cuda|hip)DeviceSynchronize|^cuCtxSynchronize') as waits_for_device
from _dry as d
inner join cpu_slice as c on c.slice_id = d.drained_by
union all
select g.device, t.pid, g.ts, 1, g.gap_id,
    if(g.ts_end - g.launched < 100000, g.ts_end, g.launched) - g.ts - coalesce(w.dur, 0),
    g.ts - n.thousandth_before, false
from _gap as g
inner join thread as t using (thread_id)
left join work as n on n.slice_id = g.next_slice_id
left join waiting as w on w.gap_id = g.gap_id
where g.launched > g.ts and g.device in (select device from _dry)
order by device, pid nulls first, ts, place, id
"""


# An operator with its launch takes the host 20 to 50 us: in longer gaps it did something else, for which it may have needed what
# it waited for.
_LONGEST = 100_000


class DebtEvent(NamedTuple):
    """A call that held the host for `dur` ns until the device ran dry (`place` 0), or an idle gap of `dur` ns (`place` 1).

    `ahead` is how far (ns) the host can be ahead of the device when the gap begins; None for no limit.
    `waits_for_device` tells whether the call waits for all work of the device, and so for no value in particular.
    """

    device: int
    pid: int | None
    ts: int
    place: int
    id: int
    dur: int
    ahead: int | None = None
    waits_for_device: bool = False


def fill_debt(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary table _owed (gap_id, slice_id, dur): how many ns of each idle gap are due to each waiting host call."""
    found_debt = find_debts(connection, _EVENTS, "slice_id")
    connection.register("found_debt", found_debt)
    connection.execute("create or replace temp table _owed as from found_debt")
    connection.unregister("found_debt")


def find_debts(connection: duckdb.DuckDBPyConnection, events: str, name: str) -> pa.Table:
    """Return a table (gap_id, `name`, dur): how many ns of each idle gap are due to each call that held the host.

    `events` is a query whose rows have the fields of DebtEvent, in the order of device, process and time; `name` is the
    column for the ids of the calls.
    """
    found = charge_gaps(map(DebtEvent._make, stream_rows(relation(connection, events))))
    numbers = np.fromiter(chain.from_iterable(found), np.int64).reshape(-1, 3)
    return pa.table({column: numbers[:, place] for place, column in enumerate(("gap_id", name, "dur"))})


def charge_gaps(events: Iterable[DebtEvent]) -> Iterator[tuple[int, int, int]]:
    """Charge each idle gap to the last calls that held the host; yield (gap id, call id, ns).

    `events` are by device, process and time. A gap is charged no more than it lasts, a call no more than it held the host. A
    gap of more than 100 us is charged to the call that still waits when it begins, and to earlier calls only if they wait for
    all work of the device.
    """
    lane: tuple[int, int | None] | None = None
    held: deque[DebtEvent] = (
        deque()
    )  # calls, with what they held the host for beyond the gaps that were charged to them
    total = 0
    for event in events:
        if lane != (event.device, event.pid):
            lane, total = (event.device, event.pid), 0
            held.clear()
        if not event.place:
            held.append(event)
            total += event.dur
            continue
        if event.ahead is not None and total > event.ahead:
            _drop_earliest(held, total - event.ahead)
            total = event.ahead
        late = event.dur
        while late > 0 and held:
            latest = held[-1]
            charged = min(late, latest.dur)
            if charged and (event.dur <= _LONGEST or latest.ts == event.ts or latest.waits_for_device):
                yield event.id, latest.id, charged
            held[-1] = latest._replace(dur=latest.dur - charged)
            total -= charged
            late -= charged
            if not held[-1].dur:
                held.pop()


def _drop_earliest(held: deque[DebtEvent], too_much: int) -> None:
    """Take `too_much` ns off the durations of the earliest calls in `held`, and remove calls of which nothing is left."""
    while too_much > 0:
        earliest = held.popleft()
        if earliest.dur > too_much:
            held.appendleft(earliest._replace(dur=earliest.dur - too_much))
        too_much -= earliest.dur
