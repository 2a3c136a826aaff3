"""A trace as its importer delivers it, changed in a way whose effect on every analysis is known, and what analyses say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from tables import filled

Change = Callable[[str, pa.RecordBatch], list[pa.RecordBatch]]

# Ids of second halves: beyond any other.
SECOND = 1 << 40

# Numbers of the GPUs of a second process: beyond any other.
OTHER_DEVICES = 100


def unchanged(_table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch]


def shifted(by: int) -> Change:
    return lambda _table, batch: [_replaced(batch, ts=lambda ts: pc.add(ts, pa.scalar(by, pa.int64())))]


def started_later(by: int) -> Change:
    """All of it later, after a slice of the host that lasts until then."""
    is_done = False

    def change(table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        nonlocal is_done
        (later,) = shifted(by)(table, batch)
        if table != "cpu_slice" or is_done or not batch.num_rows:
            return [later]
        is_done = True
        first = pc.min(batch["ts"]).as_py()
        before = {
            "ts": first,
            "dur": by - 1,
            "slice_id": SECOND,
            "correlation_id": None,
            "kind": "op",
            "name": "start-up",
        }
        row = [
            pa.array([before.get(field.name, batch[field.name][0].as_py())]).cast(field.type) for field in batch.schema
        ]
        return [pa.RecordBatch.from_arrays(row, schema=batch.schema), later]

    return change


def scaled(factor: int) -> Change:
    def times(column: pa.Array) -> pa.Array:
        return pc.multiply(column, pa.scalar(factor, pa.int64()))

    return lambda _table, batch: [_replaced(batch, ts=times, dur=times)]


def after(first: Change, second: Change) -> Change:
    """Both changes, one after the other."""
    return lambda table, batch: [made for one in first(table, batch) for made in second(table, one)]


def without_annotations(pattern: str = "") -> Change:
    """Without the program's annotations, on the host and as projected onto the GPU, whose name matches; of all by default."""

    def change(table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        if table not in ("cpu_slice", "gpu_annotation"):
            return [batch]
        is_one = pc.match_substring_regex(batch["name"].cast(pa.string()), pattern)
        if table == "cpu_slice":
            is_one = pc.and_(is_one, pc.equal(batch["kind"].cast(pa.string()), "annotation"))
        return [batch.filter(pc.invert(is_one))]

    return change


def backwards(_table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The rows in the opposite order, numbered as they then come."""
    rows = batch.take(pa.array(range(batch.num_rows - 1, -1, -1), pa.int64()))
    return [_replaced(rows, slice_id=lambda ids: pc.subtract(pa.scalar(SECOND, pa.int64()), ids))]


def doubled(table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Add a copy of all rows, as of a second process on GPUs of its own."""
    if table in ("trace", "import_note"):
        return [batch]
    further = {"slice_id": SECOND, "thread_id": 10**6, "device": OTHER_DEVICES, "pid": 10**6, "correlation_id": 10**9}
    return [batch, _replaced(batch, **{name: _plus(by) for name, by in further.items()})]


def _plus(by: int) -> Callable[[pa.Array], pa.Array]:
    return lambda column: pc.add(column, pa.scalar(by, pa.int64()))


def cut_on_device(table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Each GPU slice as two adjacent ones of the same launch."""
    if table == "collective":
        return [batch, _replaced(batch, slice_id=lambda ids: pc.add(ids, SECOND))]
    if table != "gpu_slice":
        return [batch]
    first = pc.divide(pc.multiply(batch["dur"], pa.scalar(2, pa.int64())), pa.scalar(5, pa.int64()))
    return _halves(batch, pc.greater(first, 0), first)


def cut_on_host(cuts: dict[int, int]) -> Change:
    """The host slices named as two adjacent ones; slice_id -> how long the first one is."""

    def change(table: str, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        if table != "cpu_slice":
            return [batch]
        first = pa.array([cuts.get(slice_id, 0) for slice_id in batch["slice_id"].to_pylist()], pa.int64())
        return _halves(batch, pc.greater(first, 0), first)

    return change


def _halves(batch: pa.RecordBatch, is_cut: pa.Array, first: pa.Array) -> list[pa.RecordBatch]:
    kept, head = batch.filter(pc.invert(is_cut)), batch.filter(is_cut)
    first = first.filter(is_cut)
    tail = _replaced(
        head,
        slice_id=lambda ids: pc.add(ids, SECOND),
        ts=lambda ts: pc.add(ts, first),
        dur=lambda dur: pc.subtract(dur, first),
    )
    return [kept, _replaced(head, dur=lambda _: first), tail]


def _replaced(batch: pa.RecordBatch, **changes: Callable[[pa.Array], pa.Array]) -> pa.RecordBatch:
    for name, change in changes.items():
        position = batch.schema.get_field_index(name)
        if position >= 0:
            field = batch.schema.field(name)
            batch = batch.set_column(position, field, change(batch[name].cast(pa.int64())).cast(field.type))
    return batch


# What may be cut without changing what the host does: no call whose correlation id is used, no mark of a step, no operator that
# autograd numbers (of several with a number one makes the node), and nothing whose second half would begin and end with a slice
# inside it.
_CUTS = """
    with inside as (
        select parent_id, min(ts) as ts, max_by(ts_end, -ts) as ts_end
        from cpu_slice where parent_id is not null and depth is not null and dur > 0 group by parent_id
    ),
    used as (
        select correlation_id from gpu_slice
        union all select correlation_id from synchronization
        union all select correlation_id from cuda_event
    )
    select c.slice_id, coalesce(i.ts, c.ts + c.dur * 3 // 7) - c.ts as first
    from cpu_slice as c left join inside as i on i.parent_id = c.slice_id
    where c.depth is not null and first > 0 and first < c.dur and coalesce(i.ts_end < c.ts_end, true)
        and coalesce(c.correlation_id not in (select correlation_id from used where correlation_id is not null), true)
        and not regexp_matches(c.name, '(?i)step|^epoch')
        and not coalesce(contains(c.args, '"Sequence number"'), false)
"""


def host_cuts(database: duckdb.DuckDBPyConnection) -> dict[int, int]:
    return dict(database.execute(_CUTS).fetchall())


def analyzed(importer: Any, path: Path, change: Change = unchanged) -> duckdb.DuckDBPyConnection:
    """Tables of the trace in `path`, changed, with the analyses that this module asks."""
    rows = (
        (table, changed) for table, batch in importer.read(path) for changed in change(table, batch) if changed.num_rows
    )
    return filled(rows, "launch_state", "notes", format_=importer.NAME)


# ---- what the analyses say; what is in times is named t_ (points) and d_ (durations), so that a test can shift and double it

UNIONS = {
    "step": "select step, name, source, ts as t_ts, dur as d_dur, excluded from step",
    "ledger": "select device, step, category, dur as d_dur from time_ledger",
    "gap": "select device, step, ts as t_ts, dur as d_dur, cause, thread_id from idle_gap",
    "cause": """
        select device, step, g.ts as t_ts, c.cause, c.ts as t_from, c.dur as d_dur
        from idle_gap_cause as c join idle_gap as g using (gap_id)
    """,
    "host": "select step, thread_id, category, phase, dur as d_dur from host_ledger",
    "drained": """
        select g.device, g.ts as t_ts, c.name from idle_gap as g join cpu_slice as c on c.slice_id = g.drained_by
    """,
}
"""Kept by every cut as well."""

SLICES = {
    "fault": "select device, step, ts as t_ts, dur as d_dur, cpu_slice_id, annotation, operator from idle_gap",
    "launch": "select slice_id, phase, queue_depth from launch_state",
    "wait": """
        select slice_id, ts as t_ts, recorded as t_recorded, waited_for_id, finished as t_finished, next_slice_id
        from stream_wait
    """,
    "activity": "select * exclude (trace_id) rename (ts as t_ts, dur as d_dur) from device_activity",
}
"""Names slices, so that only what leaves slices alone keeps it."""


def said(database: duckdb.DuckDBPyConnection, queries: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """What the analyses say: rows of each query, in one order."""
    found = {}
    for name, query in queries.items():
        result = database.execute(f"from ({query}) order by all")
        columns = [column[0] for column in result.description]
        found[name] = [dict(zip(columns, row, strict=True)) for row in result.fetchall()]
    return found


def moved(rows: dict[str, list[dict[str, Any]]], factor: int = 1, by: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The same with times multiplied and then shifted."""

    def new(column: str, value: Any) -> Any:
        if value is None or column[:2] not in ("t_", "d_"):
            return value
        return value * factor + (by if column.startswith("t_") else 0)

    return {name: [{c: new(c, v) for c, v in row.items()} for row in each] for name, each in rows.items()}


def differences(found: dict[str, list[dict[str, Any]]], expected: dict[str, list[dict[str, Any]]]) -> list[Any]:
    """The first rows of each kind that only one of the two has."""
    wrong = []
    for name, rows in expected.items():
        ours, theirs = ({tuple(row.items()): number for number, row in enumerate(each)} for each in (found[name], rows))
        only = [row for row in ours if row not in theirs], [row for row in theirs if row not in ours]
        if any(only) or len(found[name]) != len(rows):
            wrong.append((name, len(only[0]), len(only[1]), only[0][:2], only[1][:2]))
    return wrong


IDENTITIES = {
    "gap causes = gap": """
        select g.device, g.ts, g.dur, sum(c.dur) from idle_gap as g left join idle_gap_cause as c using (gap_id)
        group by all having sum(c.dur) is distinct from g.dur or min(c.dur) <= 0
    """,
    "ledger parts = step": """
        select d.device, s.step, s.dur, sum(l.dur)
        from step as s cross join (select distinct device from gpu_slice) as d
        left join time_ledger as l on l.step = s.step and l.device = d.device
        group by all having sum(l.dur) is distinct from s.dur or min(l.dur) <= 0
    """,
    "host ledger = step": """
        select s.step, s.dur, sum(h.dur) from step as s left join host_ledger as h using (step)
        where exists (select 1 from cpu_slice where depth is not null)
        group by all having sum(h.dur) is distinct from s.dur or min(h.dur) <= 0 or count(distinct h.thread_id) > 1
    """,
    "idle in the ledger = gaps": """
        from (select device, step, sum(dur) as dur from idle_gap group by all)
        full join (
            select device, step, sum(dur) as parts from time_ledger where starts_with(category, 'idle') group by all
        ) using (device, step)
        where dur is distinct from parts
    """,
    "no work in a gap": """
        with work as (
            select device, ts, max(ts_end) over (partition by device order by ts, slice_id) as until
            from gpu_slice where dur > 0
        )
        from idle_gap as g asof left join work as w on w.device = g.device and w.ts < g.ts + g.dur
        where w.until > g.ts
    """,
}


def broken(database: duckdb.DuckDBPyConnection) -> list[Any]:
    """Identities that do not hold, each with a row that breaks it."""
    found = ((name, database.execute(query).fetchmany(2)) for name, query in IDENTITIES.items())
    return [one for one in found if one[1]]
