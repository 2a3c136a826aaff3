"""Whether two databases say the same but for names: of a trace, and of it without names."""

from __future__ import annotations

from collections import Counter

SAME = {
    "step": "select step, source, ts, dur, gpu_ts, gpu_dur, excluded from step",
    "ledger": "select device, step, category, dur from time_ledger",
    "host_ledger": "select step, thread_id, category, phase, dur from host_ledger",
    "gpu": "select device, stream, kind, ts, dur, step, is_communication, bytes, copy_kind, grid_x, block_x from gpu_slice",
    "launch": "select g.ts, c.ts, c.dur, c.thread_id from gpu_slice as g inner join cpu_slice as c on c.slice_id = g.launch_id",
    "host": "select thread_id, kind, ts, dur, depth from cpu_slice",
    "gap": "select device, step, ts, dur, cause from idle_gap",
    "family": "select family, count(*) from kernel_occupancy group by family",
    "collective": "select op, bytes, group_size, dtype from collective",
    "finding": "select rule, saving, confidence, step_share from finding",
    "trace": "select rank, world_size, producer, producer_version from trace",
    "synchronization": "select device, stream, kind, ts, dur from synchronization",
    "counter": "select device, ts, value from counter",
}


def differences(first, second):
    """By what is compared, how many rows only one of both has, and examples."""
    found = {}
    for name, query in SAME.items():
        rows = [Counter(map(str, each.execute(query).fetchall())) for each in (first, second)]
        if rows[0] != rows[1]:
            lost, more = rows[0] - rows[1], rows[1] - rows[0]
            found[name] = (lost.total(), more.total(), [*lost][:3], [*more][:3])
    return found
