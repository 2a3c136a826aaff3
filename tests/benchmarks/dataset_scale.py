"""What a dataset of very many ranks costs: ingest of each rank, the cross-rank stage, reports, and one rank looked at closely.

    python tests/benchmarks/dataset_scale.py [--ranks 8 64 256 1024] [--steps 8] [--jobs 2]

Ranks are made up: tensor-parallel groups of four and data-parallel groups across them; one computes 10 % longer. With --only
the parts that it names are run, on what an earlier run has left in --work.
"""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_files import options
from job_scale import filled
from measure import cost, describe, megabytes, tell, traceq

OF_A_GROUP = 4
LAYERS, EVERY = 48, 12  # collectives of a step; each EVERYth is data-parallel
OWN, TRANSFER, JITTER = 400.0, 80.0, 4.0  # us
LATE, LATE_BY = 5, 0.1
BEGINS = 10**18
OF_A_CATALOGUE = 10_240
PARTS = ("traces", "ingest", "report", "page", "rank", "sql", "manifest", "catalogue", "collectives")

_COMMANDS: dict[str, tuple[str, ...]] = {
    "report": ("report", "DATASET"),
    "page": ("report", "DATASET", "--format", "json"),
    "rank": ("report", "DATASET", "--rank", "3"),
    "sql": ("sql", "DATASET", "select kind, count(*) from gpu_slice group by all"),
}


def write_traces(folder: Path, ranks: int, steps: int) -> None:
    """Write rank0.json.gz and so on: a call, its kernel, and the collective that follows, LAYERS times a step."""
    begins, starts, ends = times(ranks, steps * LAYERS)
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        content = json.dumps(_trace(rank, ranks, steps, begins[rank], starts[rank], ends[rank])).encode()
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(content, 1, mtime=0))


def times(ranks: int, count: int) -> tuple[Any, Any, Any]:
    """When each rank begins to work for each collective, arrives there, and is done: us, ranks x collectives."""
    chance = np.random.default_rng(ranks)
    own = OWN * np.maximum(1 + 0.02 * chance.standard_normal((ranks, count)), 0.5)
    own[LATE % ranks] *= 1 + LATE_BY
    begins, starts, ends = (np.empty((ranks, count)) for _ in range(3))
    now = np.zeros(ranks)
    for number in range(count):
        begins[:, number], starts[:, number] = now, now + own[:, number]
        groups = starts[:, number].reshape(-1, OF_A_GROUP)
        last = groups.max(axis=0 if _is_across(number) else 1, keepdims=True)
        now = np.broadcast_to(last, groups.shape).reshape(-1) + TRANSFER + chance.uniform(-JITTER, JITTER, ranks)
        ends[:, number] = now
    return begins.round(3), starts.round(3), ends.round(3)


def _is_across(number: int) -> bool:
    return number % EVERY == EVERY - 1


def _trace(rank: int, ranks: int, steps: int, begins: Any, starts: Any, ends: Any) -> dict[str, Any]:
    events = []
    for step in range(steps):
        first, last = step * LAYERS, (step + 1) * LAYERS - 1
        began, ended = float(begins[first]), float(ends[last])
        events.append(_slice("user_annotation", f"ProfilerStep#{step}", began, ended - began))
    of_group = [
        [rank // OF_A_GROUP * OF_A_GROUP + each for each in range(OF_A_GROUP)],
        list(range(rank % OF_A_GROUP, ranks, OF_A_GROUP)),
    ]
    sequence = [0, 0]
    for number in range(len(begins)):
        across = _is_across(number)
        began, came, ended = float(begins[number]), float(starts[number]), float(ends[number])
        members = of_group[across]
        described = {
            "Collective name": "_allgather_base" if across else "allreduce",
            "Process Group Name": f"dp{rank % OF_A_GROUP}" if across else f"tp{rank // OF_A_GROUP}",
            "Process Group Ranks": str(members),
            "Group size": len(members),
            "In msg nelems": 1 << 24 if across else 1 << 20,
            "dtype": "Float",
            "Seq": sequence[across],
        }
        sequence[across] += 1
        name = "ncclDevKernel_AllGather_RING_LL" if across else "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        events.append(_slice("cpu_op", "aten::mm", began, 20))
        events += _kernel("gemm", 2 * number + 1, began + 2, came - began - 2, 7, {})
        events += _kernel(name, 2 * number + 2, came, ended - came, 13, described)
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0}],
        "baseTimeNanoseconds": BEGINS,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
        "traceEvents": events,
    }


def _slice(category: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "cat": category,
        "name": name,
        "ts": round(ts, 3),
        "dur": round(dur, 3),
        **more,
    }


def _kernel(name: str, correlation: int, ts: float, dur: float, stream: int, described: dict[str, Any]) -> list[Any]:
    at = {"correlation": correlation}
    place = {"pid": 0, "tid": stream, "args": {"device": 0, "stream": stream, **at, **described}}
    call = _slice("cuda_runtime", "cudaLaunchKernel", ts - 1 if described else ts + 1, 1, args=at)
    if not described:
        place["args"] |= {"grid": [128, 1, 1], "block": [256, 1, 1]}
    return [call, _slice("kernel", name, ts + 2, dur - 2, **place)]


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 256, 1024])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--coordinate", nargs=2, type=Path, help="ingest these traces into this dataset; what is measured"
    )
    asked = parser.parse_args()
    if asked.coordinate:
        _coordinate(*asked.coordinate, asked.jobs)
        return
    for ranks in asked.ranks:
        traces, dataset = asked.work / f"ranks-{ranks}", asked.work / f"dataset-{ranks}"
        if "traces" in asked.only:
            write_traces(traces, ranks, asked.steps)
        if "ingest" in asked.only:
            shutil.rmtree(dataset, ignore_errors=True)
            command = [sys.executable, __file__, "--jobs", str(asked.jobs), "--coordinate", traces, dataset]
            tell(f"{ranks} ranks: {cost(command).output.rstrip()}")
        for name, words in _COMMANDS.items():
            if name in asked.only:
                tell(describe(name, [traceq(*(str(dataset) if each == "DATASET" else each for each in words))]))
    if "manifest" in asked.only:
        _manifest(asked.work / "manifest")
    if "catalogue" in asked.only:
        _catalogue(asked.work / f"dataset-{asked.ranks[0]}", asked.work / "catalogue.duckdb")
    if "collectives" in asked.only:
        _collectives(asked.work, asked.ranks[-1])


def _coordinate(traces: Path, dataset: Path, jobs: int) -> None:
    """Ingest, and tell what that cost this process, its workers, and the one of the cross-rank stage."""
    import traceq as package
    from traceq.dataset import ingest
    from traceq.dataset.manifest import read_manifest
    from traceq.dataset.piece import read_piece
    from traceq.dataset.place import Place

    took: list[float] = []
    filled = ingest.fill_window

    def timed(*arguments: Any) -> Any:
        begin = _cpu(resource.RUSAGE_SELF) + _cpu(resource.RUSAGE_CHILDREN)
        made = filled(*arguments)
        took.append(_cpu(resource.RUSAGE_SELF) + _cpu(resource.RUSAGE_CHILDREN) - begin)
        return made

    ingest.fill_window = timed
    package.ingest(traces, f"{dataset}/", jobs=jobs)
    place = Place(str(dataset))
    made = [read_piece(place, each.folder) for each in read_manifest(place).pieces]
    costs = [each.cost for each in made if each is not None]
    per_piece = sum(each["cpu_s"] for each in costs) / len(costs)
    here = _cpu(resource.RUSAGE_SELF)
    whole = here + _cpu(resource.RUSAGE_CHILDREN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    other = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    tell(
        f"CPU a rank {per_piece:.3f} s in its worker, {whole / len(costs):.3f} s in all processes; the stage {sum(took):.1f} s,"
        f" the coordinator {here:.1f} s; peak of the coordinator {megabytes(peak)}, of the largest child {megabytes(other)};"
        f" {megabytes(sum(each.size for each in made if each is not None))} of pieces"
    )


def _cpu(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def _manifest(folder: Path) -> None:
    """What it costs to write and to read dataset.json of ten windows of 10,000 ranks."""
    from traceq.dataset.manifest import DatasetWindow, Manifest, Piece, commit, read_manifest
    from traceq.dataset.place import Place

    shutil.rmtree(folder, ignore_errors=True)
    place = Place(str(folder))
    pieces = [
        Piece(
            at + 1,
            "baseline",
            at // 10_000,
            at % 10_000,
            f"{at:064x}",
            f"{-at:064x}",
            0,
            200_000,
            BEGINS,
            BEGINS + 10**9,
        )
        for at in range(100_000)
    ]
    windows = [
        DatasetWindow("baseline", each, 0, f"run=baseline/window={each}/job/1", ("job",), "0" * 64)
        for each in range(10)
    ]
    begin = time.process_time()
    commit(place, Manifest(), pieces, windows, [("trace",)])
    written = time.process_time()
    read_manifest(place)
    size = (folder / "dataset.json").stat().st_size
    tell(
        f"dataset.json of {len(pieces):,} pieces: {megabytes(size)}, written in {written - begin:.2f} s of CPU, read in"
    )
    tell(f"{time.process_time() - written:.2f} s")


def _catalogue(dataset: Path, catalogue: Path) -> None:
    """What it costs to make the views of 10,240 pieces: those of a dataset, named again and again."""
    from traceq.dataset.catalogue import create_catalogue
    from traceq.dataset.manifest import read_manifest
    from traceq.dataset.place import Place

    place = Place(str(dataset))
    known = read_manifest(place)
    pieces = (list(known.pieces) * (OF_A_CATALOGUE // len(known.pieces) + 1))[:OF_A_CATALOGUE]
    catalogue.unlink(missing_ok=True)
    begin = time.process_time()
    create_catalogue(catalogue, place, known, pieces)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    tell(f"views of {len(pieces):,} pieces: CPU {time.process_time() - begin:.1f} s, peak {megabytes(peak)}")


def _collectives(work: Path, ranks: int) -> None:
    """What the cross-rank stage and reports cost where each rank has 4,764 collectives."""
    dataset = work / f"collectives-{ranks}"
    shutil.rmtree(dataset, ignore_errors=True)
    tell(describe("convert", [traceq("convert", filled(work, ranks, 12), "-o", f"{dataset}/")]))
    for job in dataset.glob("*/*/job"):
        shutil.rmtree(job)
    tell(describe("stage", [traceq("dataset", "compact", str(dataset), "--memory-limit", "1GiB")]))
    for name in ("report", "rank"):
        words = (str(dataset) if each == "DATASET" else each for each in _COMMANDS[name])
        tell(describe(name, [traceq(*words)]))


if __name__ == "__main__":
    main()
