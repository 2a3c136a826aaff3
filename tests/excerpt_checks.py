"""Whether a part of a trace says of its time what the whole says of it: both as databases, compared row by row."""

from __future__ import annotations

import json
from collections import Counter

# What runs or is launched in the time, with the call that launched it.
_GPU = """
    select
        g.device, g.stream, g.context, g.pid, g.kind, g.name, g.ts, g.dur, g.correlation_id, g.external_id, g.bytes, g.copy_kind,
        g.is_communication, g.graph_id, g.args, c.name as call, c.ts as launched, c.dur as call_dur, t.pid as call_pid, t.tid,
        t.thread_name, o.name as operator, a.name as annotation,
        case when s.ts >= $ts and s.ts_end <= $ts_end then s.name end as step
    from gpu_slice as g
    left join cpu_slice as c on c.slice_id = g.launch_id
    left join thread as t using (thread_id)
    left join cpu_slice as o on o.slice_id = c.operator_id
    left join cpu_slice as a on a.slice_id = c.annotation_id
    left join step as s on s.step = g.step
    where {condition}
"""
_GPU_IN = "(g.ts < $ts_end and (g.ts_end > $ts or g.ts = $ts)) or (c.ts >= $ts and c.ts < $ts_end)"
_LAUNCH_STATE = """
    select g.device, g.stream, g.ts, g.name, l.phase, l.queue_depth
    from launch_state as l
    inner join gpu_slice as g using (slice_id)
    inner join cpu_slice as c on c.slice_id = g.launch_id
    where c.ts >= $ts and c.ts < $ts_end
"""
_HOST = """
    select
        t.pid, t.tid, t.process_name, t.thread_name, t.rank, c.kind, c.category, c.name, c.ts, c.dur, c.correlation_id,
        c.external_id, c.args {more}
    from cpu_slice as c
    inner join thread as t using (thread_id)
    left join cpu_slice as p on p.slice_id = c.parent_id
    left join cpu_slice as o on o.slice_id = c.operator_id
    left join cpu_slice as a on a.slice_id = c.annotation_id
    where {condition}
"""
_HOST_MORE = ", c.depth, p.name, p.ts, o.name, o.ts, a.name, a.ts"
_HOST_IN = "c.ts < $ts_end and (c.ts_end > $ts or c.ts = $ts)"
_STEP = """
    select name, source, ts, dur, gpu_ts, gpu_dur, excluded
    from step
    where ts >= $ts and ts_end <= $ts_end
"""
_LEDGER = """
    select l.device, s.ts, l.category, l.dur
    from time_ledger as l
    inner join step as s using (step)
    where s.ts >= $ts and s.ts_end <= $ts_end
"""
_HOST_LEDGER = """
    select t.tid, s.ts, l.category, l.phase, l.dur
    from host_ledger as l
    inner join step as s using (step)
    inner join thread as t on t.thread_id = l.thread_id
    where s.ts >= $ts and s.ts_end <= $ts_end
"""
_SYNCHRONIZATION = """
    select device, stream, kind, ts, dur, correlation_id, wait_on_stream, wait_on_correlation_id
    from synchronization
    where ts < $ts_end and (ts + dur > $ts or ts = $ts)
"""
_COUNTER = "select device, name, ts, value from counter where ts >= $ts and ts < $ts_end"

SAME = {
    "gpu": _GPU.format(condition=_GPU_IN),
    "launch_state": _LAUNCH_STATE,
    "host": _HOST.format(more=_HOST_MORE, condition=_HOST_IN),
    "step": _STEP,
    "ledger": _LEDGER,
    "host_ledger": _HOST_LEDGER,
    "synchronization": _SYNCHRONIZATION,
    "counter": _COUNTER,
}
# Whatever stands in the part stands in the whole.
HELD = {
    "gpu": _GPU.format(condition="true")
    .replace("case when s.ts >= $ts and s.ts_end <= $ts_end then s.name end", "0")
    .replace("o.name as operator, a.name as annotation", "0"),
    "host": _HOST.format(more="", condition="true"),
}


def said(connection):
    """What a part says of itself."""
    ((text,),) = connection.execute("select args ->> '$.traceq.trim' from trace").fetchall()
    return json.loads(text)


def differences(whole, part):
    """By what is compared, how many rows only one of both has, and examples of these; empty when all are the same."""
    ts, ts_end = said(part)["window"]
    found = {}
    for name, query in SAME.items():
        rows = [
            Counter(map(str, each.execute(query, {"ts": ts, "ts_end": ts_end}).fetchall())) for each in (whole, part)
        ]
        if rows[0] != rows[1]:
            lost, more = rows[0] - rows[1], rows[1] - rows[0]
            found[name] = (lost.total(), more.total(), [*lost][:2], [*more][:2])
    for name, query in HELD.items():
        more = Counter(map(str, part.execute(query).fetchall())) - Counter(map(str, whole.execute(query).fetchall()))
        if more:
            found[f"held {name}"] = (0, more.total(), [], [*more][:2])
    return found


def counted(part):
    """How many rows were compared, by what they are."""
    ts, ts_end = said(part)["window"]
    return {
        name: part.execute(f"select count(*) from ({query})", {"ts": ts, "ts_end": ts_end}).fetchone()[0]
        for name, query in SAME.items()
    }
