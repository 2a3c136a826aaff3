"""Chrome traces of the ranks of a small job, some of which get late."""

from __future__ import annotations

import json

RANKS, STEPS = 4, 12
WORK, MOVES = 1000, 100


def rank_trace(rank, late, begins_ns=None, ranks=RANKS):
    """Steps of two collectives. A rank computes `WORK` us before each, `late` ranks longer; all end when the last has come.

    `begins_ns` is when it was recorded, ns since 1970; without it the traces have no common clock.
    """
    events = []
    now = 0
    for number in range(2 * STEPS):
        arrives = max(_works(each, number, late) for each in range(ranks))
        work = _works(rank, number, late)
        if number % 2 == 0:
            events.append(_slice("user_annotation", f"ProfilerStep#{number // 2}", now, 0))
        events += _kernel("gemm", 2 * number + 1, now, work, {})
        described = {
            "Collective name": "allreduce",
            "Process Group Name": "0",
            "Process Group Ranks": str(list(range(ranks))),
            "Group size": ranks,
            "In msg nelems": 1024,
            "dtype": "Float",
            "Seq": number,
        }
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        events += _kernel(name, 2 * number + 2, now + work, arrives - work + MOVES, described)
        now += arrives + MOVES
        if number % 2:
            step = next(each for each in reversed(events) if each["cat"] == "user_annotation")
            step["dur"] = now - step["ts"]
    return json.dumps(
        {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
            **({} if begins_ns is None else {"baseTimeNanoseconds": begins_ns}),
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
            "traceEvents": events,
        }
    )


def _works(rank, number, late):
    """A few us more or less from step to step, differently on each rank."""
    return WORK + (37 * number + 11 * rank) % 17 + late.get(rank, 0)


def _slice(category, name, ts, dur, **more):
    return {"ph": "X", "pid": 1, "tid": 1, "cat": category, "name": name, "ts": ts, "dur": dur, **more}


def _kernel(name, correlation, ts, dur, described):
    at = {"correlation": correlation}
    place = {"pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, **at, **described}}
    return [
        _slice("cuda_runtime", "cudaLaunchKernel", ts, 1, args=at),
        _slice("kernel", name, ts + 2, dur - 2, **place),
    ]
