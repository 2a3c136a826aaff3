"""What a job of hundreds of ranks costs from its traces to one page: ingest, report as text, page, and the page's size.

    python tests/benchmarks/job_page.py [--ranks 256] [--steps 6]

Short PyTorch traces are made: tensor-parallel groups of eight ranks, each on a host of its own, and data-parallel groups across
them; one rank computes 20 % longer, and one host 10 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_files import options
from measure import cost, megabytes, tell

OF_A_GROUP = 8
LAYERS = 6
OWN, TRANSFER, JITTER = 800.0, 120.0, 8.0  # us
LATE, LATE_BY = 77, 0.2
LATE_HOST, HOST_LATE_BY = 3, 0.1

Event = dict[str, Any]


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--ranks", type=int, default=256, help="a multiple of 8")
    parser.add_argument("--steps", type=int, default=6)
    asked = parser.parse_args()
    folder = asked.work / f"job-page-{asked.ranks}-{asked.steps}"
    if not folder.exists():
        write_job(folder, asked.ranks, asked.steps)
    database, page = folder.with_suffix(".duckdb"), folder.with_suffix(".html")
    database.unlink(missing_ok=True)
    program = [sys.executable, "-m", "traceq"]
    ingest = cost([*program, "ingest", folder, "-o", database])
    tell(
        f"ingest: CPU {ingest.cpu:.1f} s, {ingest.cpu / asked.ranks:.2f} a rank, wall {ingest.wall:.1f} s,"
        f" peak {megabytes(ingest.peak)}"
    )
    text = cost([*program, "report", database])
    tell(f"text: CPU {text.cpu:.1f} s, wall {text.wall:.1f} s, peak {megabytes(text.peak)}")
    tell(f"  {len(text.output.splitlines())} lines, {max(map(len, text.output.splitlines()))} columns at most")
    made = cost([*program, "report", database, "-o", page])
    tell(f"page: CPU {made.cpu:.1f} s, wall {made.wall:.1f} s, peak {megabytes(made.peak)}")
    tell(f"  {page}: {page.stat().st_size / 1e6:.2f} MB")


def write_job(folder: Path, ranks: int, steps: int) -> None:
    """Write the trace of each rank into the folder."""
    folder.mkdir(parents=True)
    arrivals, ends = _times(ranks, steps * (LAYERS + 1))
    for rank in range(ranks):
        trace = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
            "baseTimeNanoseconds": 1_700_000_000_000_000_000,
            "host_name": f"node{rank // OF_A_GROUP}",
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
            "traceEvents": list(_events(rank, ranks, arrivals[rank].tolist(), ends[rank].tolist())),
        }
        (folder / f"rank{rank}.json").write_text(json.dumps(trace, separators=(",", ":")))


def _times(ranks: int, count: int) -> tuple[Any, Any]:
    """When each rank arrives at each collective, and is done: us, ranks x collectives."""
    chance = np.random.default_rng(ranks)
    own = OWN * np.maximum(1 + 0.01 * chance.standard_normal((ranks, count)), 0.5)
    own[LATE % ranks] *= 1 + LATE_BY
    own[LATE_HOST * OF_A_GROUP : (LATE_HOST + 1) * OF_A_GROUP] *= 1 + HOST_LATE_BY
    arrivals, ends = np.empty((ranks, count)), np.empty((ranks, count))
    now = np.zeros(ranks)
    for number in range(count):
        arrivals[:, number] = now + own[:, number]
        groups = arrivals[:, number].reshape(-1, OF_A_GROUP)
        across = number % (LAYERS + 1) == LAYERS
        last = np.broadcast_to(groups.max(axis=0 if across else 1, keepdims=True), groups.shape).reshape(-1)
        now = last + TRANSFER + chance.uniform(0, JITTER, ranks)
        ends[:, number] = now
    return arrivals.round(3), ends.round(3)


def _events(rank: int, ranks: int, arrivals: list[float], ends: list[float]) -> Iterator[Event]:
    """Yield the events of a rank: steps, and a kernel before each collective, both launched by the host."""
    begin = 0.0
    for number, (arrival, end) in enumerate(zip(arrivals, ends, strict=True)):
        place = number % (LAYERS + 1)
        if not place:
            last = ends[number + LAYERS]
            yield _slice("user_annotation", f"ProfilerStep#{number // (LAYERS + 1)}", begin, last - begin)
        yield from _kernel("aten::linear", "ampere_bf16_gemm_128x128", 2 * number, begin, arrival - begin - 4, {})
        across = place == LAYERS
        first = rank % OF_A_GROUP if across else rank - rank % OF_A_GROUP
        members = range(first, ranks, OF_A_GROUP) if across else range(first, first + OF_A_GROUP)
        described = {
            "Collective name": "_allgather_base" if across else "allreduce",
            "Process Group Name": f"{2_000 + first if across else 1_000 + first}",
            "Process Group Description": "DATA_PARALLEL_GROUP" if across else "TENSOR_MODEL_PARALLEL_GROUP",
            "Process Group Ranks": str(list(members)),
            "Group size": len(members),
            "In msg nelems": 1 << 20,
            "Out msg nelems": 1 << 20,
            "dtype": "BFloat16",
            "Seq": number,
        }
        name = f"ncclDevKernel_{'AllGather' if across else 'AllReduce_Sum_bf16'}_RING_LL"
        yield from _kernel("c10d::collective_", name, 2 * number + 1, arrival, end - arrival, described)
        begin = end


def _kernel(operator: str, name: str, number: int, ts: float, dur: float, described: Event) -> list[Event]:
    """Return an operator, its launch, and the kernel that it launches; us."""
    before = max(ts - 30, 0.0)
    at = {"correlation": number + 1}
    return [
        _slice("cpu_op", operator, before, 12),
        _slice("cuda_runtime", "cudaLaunchKernel", before + 2, 6, args=at),
        _slice(
            "kernel",
            name,
            ts,
            dur,
            pid=0,
            tid=7,
            args={"device": 0, "stream": 7, "grid": [256, 1, 1], **at, **described},
        ),
    ]


def _slice(category: str, name: str, ts: float, dur: float, **more: Any) -> Event:
    """Return a complete event; us."""
    return {
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "cat": category,
        "name": name,
        "ts": round(ts, 3),
        "dur": round(dur, 3),
    } | more


if __name__ == "__main__":
    main()
