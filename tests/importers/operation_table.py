"""Made-up tables of operations: a pipeline of stages and copies that computes both ways and then reduces gradients."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

# Seconds.
SEND = 0.001
REDUCE = 0.010


def make_pipeline(stages=3, copies=4, steps=6, micro_batches=4, forward=lambda *_place: 0.1, norm=True):
    """Rows of all micro-batches forward, then all backward; `forward(step, copy, stage, micro_batch)` is how long one computes.

    Times begin anew in every step. `norm` is an operation that no rank leaves before the last one has come to it.
    """
    rows = []
    for step in range(steps):
        now = {}
        for copy in range(copies):
            ranks = [stage * copies + copy for stage in range(stages)]
            now |= dict.fromkeys(ranks, 0.0)
            for way in ("forward", "backward"):
                _one_way(rows, now, (step, copy, way), ranks, micro_batches, forward)
        for stage in range(stages):
            ranks = range(stage * copies, (stage + 1) * copies)
            end = max(now[rank] for rank in ranks) + REDUCE
            for rank in ranks:
                rows.append((rank, stage, rank % copies, step, "grads-reduce-scatter", now[rank], end, -1, 0))
                now[rank] = end
        if norm:
            end = max(now.values()) + 0.002
            rows += [(rank, rank // copies, rank % copies, step, "norm", now[rank], end, -1, 0) for rank in now]
    return rows


def _one_way(rows, now, place, ranks, micro_batches, forward):
    """All micro-batches of a copy through its stages, `ranks`; `now` is when each is free."""
    step, copy, way = place
    order = list(enumerate(ranks)) if way == "forward" else list(enumerate(ranks))[::-1]
    before = sent = None
    for stage, rank in order:
        ready = []
        for number in range(micro_batches):
            if before is not None:
                arrives = max(now[rank], sent[number]) + SEND
                rows.append((rank, stage, copy, step, f"{way}-recv", now[rank], arrives, -1, number))
                rows.append((before[1], before[0], copy, step, f"{way}-send", sent[number], arrives, -1, number))
                now[rank] = arrives
            took = forward(step, copy, stage, number) * (1 if way == "forward" else 2)
            rows.append((rank, stage, copy, step, f"{way}-compute", now[rank], now[rank] + took, number, number))
            now[rank] += took
            ready.append(now[rank])
        before, sent = (stage, rank), ready


NAMES = ("rank", "stage", "dp_rank", "step", "optype", "start_ts", "end_ts", "mb_id", "seq_id")


def write_file(path, rows, names=NAMES):
    """The rows as a Parquet file, with columns called `names`."""
    pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), path)
    return path
