"""Collectives of a trace, run again without the program. Written by `traceq replay-op`; needs PyTorch only.

    python THIS_FILE              as many processes as there were ranks, with nccl if there are as many GPUs, else gloo
    python THIS_FILE --ranks 2    fewer processes
    python THIS_FILE --help       everything else

What was recorded stands in COLLECTIVES. All processes run on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist


class CollectiveCall(NamedTuple):
    """A collective as recorded: elements of input and output on one rank, and times in ns, with the wait for others."""

    name: str
    kind: str
    dtype: str
    in_elements: int
    out_elements: int
    ranks: int
    reduction: str = "SUM"
    trace: str = ""
    step: int | None = None
    calls: int = 0
    median_ns: int = 0
    least_ns: int = 0
    on_gpu: bool = False
    device: str | None = None


# <operators>
COLLECTIVES: list[CollectiveCall] = [
    CollectiveCall(
        "nccl:all_reduce", "all_reduce", "float32", 65_536, 65_536, 2, calls=1, median_ns=100_000, least_ns=90_000
    ),
]
# </operators>

# On one machine without GPUs more processes than this measure the scheduler.
MOST_ON_CPU = 4
# What a ring sends per byte of the message, of n ranks (nccl-tests).
BUS_FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "broadcast": lambda _: 1.0,
}
SHORT_TYPES = {"float64": "float32", "float32": "bfloat16"}


def make_call(collective: CollectiveCall, dtype: torch.dtype, ranks: int, device: torch.device) -> Callable[[], Any]:
    """Return the call of the collective with tensors on the device, as one of `ranks`."""
    kind = collective.kind
    if kind in ("all_reduce", "broadcast"):
        tensor = torch.ones(collective.in_elements, dtype=dtype, device=device)
        if kind == "broadcast":
            return lambda: dist.broadcast(tensor, 0)
        return lambda: dist.all_reduce(tensor, getattr(dist.ReduceOp, collective.reduction))
    if kind == "all_gather":
        part = torch.ones(collective.in_elements, dtype=dtype, device=device)
        whole = torch.empty(collective.in_elements * ranks, dtype=dtype, device=device)
        return lambda: dist.all_gather_into_tensor(whole, part)
    elements = collective.in_elements // ranks
    whole = torch.ones(elements * ranks, dtype=dtype, device=device)
    if kind == "reduce_scatter":
        part = torch.empty(elements, dtype=dtype, device=device)
        return lambda: dist.reduce_scatter_tensor(part, whole, getattr(dist.ReduceOp, collective.reduction))
    received = torch.empty_like(whole)
    return lambda: dist.all_to_all_single(received, whole)


def count_bytes(collective: CollectiveCall, dtype: torch.dtype, ranks: int) -> int:
    """Return the size of the message in bytes, as nccl-tests count it: the larger of input and output."""
    elements = collective.in_elements * (ranks if collective.kind == "all_gather" else 1)
    return elements * dtype.itemsize


def run_rank(rank: int, ranks: int, backend: str, meeting: str, runs: int, warmup: int) -> None:
    """Run all collectives as one rank, and print the durations of each variant as JSON, ns."""
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    if backend == "nccl":
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    dist.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    found = []
    for collective in COLLECTIVES:
        rows = {}
        for name, type_ in list_variants(collective):
            call = make_call(collective, getattr(torch, type_), ranks, device)
            durations = []
            for run in range(warmup + runs):
                dist.barrier()
                begin = time.perf_counter_ns()
                call()
                if backend == "nccl":
                    torch.cuda.synchronize(device)
                if run >= warmup:
                    durations.append(time.perf_counter_ns() - begin)
            rows[name] = durations
        found.append(rows)
    print(json.dumps(found))
    dist.destroy_process_group()


def list_variants(collective: CollectiveCall) -> list[tuple[str, str]]:
    """Return the variants of a collective: name and type of its elements."""
    shorter = SHORT_TYPES.get(collective.dtype)
    return [("recorded", collective.dtype), *([(shorter, shorter)] if shorter else [])]


def start_ranks(ranks: int, backend: str, runs: int, warmup: int) -> list[list[dict[str, list[int]]]]:
    """Run this file once a rank, and return what each printed. Raises RuntimeError with the output of one that failed."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--backend", backend, "--runs", str(runs), "--warmup", str(warmup), "--ranks", str(ranks)]
        place = ["--meeting", str(Path(folder, "meeting"))]
        processes = [
            subprocess.Popen(
                [sys.executable, __file__, *options, *place, "--rank", str(rank)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        outputs = [process.communicate() for process in processes]
    for process, (_, errors) in zip(processes, outputs, strict=True):
        if process.returncode:
            raise RuntimeError(
                errors.strip().splitlines()[-1] if errors.strip() else f"exit status {process.returncode}"
            )
    return [json.loads(output.strip().splitlines()[-1]) for output, _ in outputs]


def print_collective(collective: CollectiveCall, durations: dict[str, list[int]], ranks: int, *, is_same: bool) -> None:
    """Print what was recorded and what was measured; `is_same`: on as many ranks of the same device."""
    print(f"{collective.name}, {collective.in_elements:,} {collective.dtype} in, {collective.out_elements:,} out")
    place = (collective.device or "a GPU") if collective.on_gpu else "the CPU"
    print(
        f"  recorded  median {show_time(collective.median_ns)}, least {show_time(collective.least_ns)} of {collective.calls}"
        f" calls in a group of {collective.ranks} on {place}, with the wait for other ranks"
    )
    if not is_same:
        print(
            f"  note      not compared with the recorded times: here {ranks} processes on one machine, another device or group"
        )
    print()
    print(f"  {'variant':10}  {'median':>10}  {'least':>10}  {'of recorded':>11}  {'GB/s (bus)':>10}")
    for name, type_ in list_variants(collective):
        median = statistics.median(durations[name])
        message = count_bytes(collective, getattr(torch, type_), ranks)
        bus = message * BUS_FACTORS[collective.kind](ranks) / median
        ratio = f"{median / collective.least_ns:.2f}x" if is_same and collective.least_ns else "-"
        print(f"  {name:10}  {show_time(median):>10}  {show_time(min(durations[name])):>10}  {ratio:>11}  {bus:>10.3g}")
    print()


def show_time(ns: float) -> str:
    """Return a duration with four digits: 12.34 us."""
    for unit, one in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= one:
            return f"{ns / one:.4g} {unit}"
    return f"{ns:.0f} ns"


def run_script(arguments: Sequence[str] | None = None) -> int:
    """Run the collectives on several processes and print what was measured: of each run the slowest rank."""
    parser = argparse.ArgumentParser(description="Run collectives of a trace again, on processes of this machine.")
    parser.add_argument(
        "--ranks", type=int, help=f"processes [default: as recorded, without GPUs at most {MOST_ON_CPU}]"
    )
    parser.add_argument(
        "--backend", choices=("nccl", "gloo"), help="[default: nccl if there is a GPU for each process]"
    )
    parser.add_argument("--runs", type=int, default=20, help="timed runs [default: %(default)s]")
    parser.add_argument("--warmup", type=int, default=3, help="runs before them [default: %(default)s]")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meeting", help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.rank is not None:
        run_rank(parsed.rank, parsed.ranks, parsed.backend, parsed.meeting, parsed.runs, parsed.warmup)
        return 0
    recorded = max(collective.ranks for collective in COLLECTIVES)
    gpus = torch.cuda.device_count()
    ranks = parsed.ranks or (recorded if gpus >= recorded else min(recorded, max(gpus, MOST_ON_CPU)))
    backend = parsed.backend or ("nccl" if gpus >= ranks else "gloo")
    if ranks < 2 or parsed.runs < 1:  # noqa: PLR2004
        parser.error("--ranks: at least 2; --runs: at least 1")
    if backend == "nccl" and gpus < ranks:
        parser.error(f"--backend nccl: {ranks} processes need as many GPUs, and here are {gpus}; --backend gloo")
    elements = max(collective.in_elements + collective.out_elements for collective in COLLECTIVES)
    need = elements * 8 * ranks
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if backend == "gloo" and need > memory:
        parser.error(f"{ranks} processes need about {need >> 30} GiB, and {memory >> 30} GiB may be used: --ranks")
    try:
        outputs = start_ranks(ranks, backend, parsed.runs, parsed.warmup)
    except RuntimeError as error:
        print(f"cannot run with {backend} on {ranks} processes: {error}", file=sys.stderr)
        return 1
    every = []
    for place, collective in enumerate(COLLECTIVES):
        durations = {
            name: [max(run) for run in zip(*(output[place][name] for output in outputs), strict=True)]
            for name, _ in list_variants(collective)
        }
        on_device = backend == "nccl" and torch.cuda.get_device_name(0) == collective.device
        is_same = ranks == collective.ranks and (on_device if collective.on_gpu else backend == "gloo")
        every.append(
            {
                "name": collective.name,
                "ranks": ranks,
                "backend": backend,
                "comparable": is_same,
                "durations_ns": durations,
            }
        )
        if not parsed.json:
            print_collective(collective, durations, ranks, is_same=is_same)
    if parsed.json:
        print(json.dumps(every, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(run_script())
