"""What a capture must hold for each metric: which options of which profiler bring it, and what they cost."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from traceq.errors import UnknownMetric


@dataclass(frozen=True)
class Nsys:
    """What `nsys profile` is told: values of --trace, other options; `blobs` is for nsys export, `note` for people."""

    trace: tuple[str, ...]
    options: tuple[str, ...] = ()
    blobs: bool = False
    note: str = ""


@dataclass(frozen=True)
class Torch:
    """What torch.profiler.profile is told: flags to set, those of its _ExperimentalConfig, and whether CUDA matters."""

    flags: tuple[str, ...] = ()
    experimental: tuple[str, ...] = ()
    cuda: bool = True
    note: str = ""


@dataclass(frozen=True)
class Metric:
    """A metric and how to get it; in place of a tool's options stands the reason why the tool cannot give it.

    `record` names the backends of `traceq record` that bring it without being told anything.
    """

    name: str
    answers: str
    cost: str
    nsys: Nsys | str
    torch: Torch | str
    record: tuple[str, ...]


_BOTH = ("torch", "nsys")
_GRAPH_NODES = "--cuda-graph-trace=node"
_PER_CALL = "an event per CUDA call and per kernel"

_NO_SHAPES = "no shapes of operators, so no FLOPs"
_FLOPS = Torch(
    ("record_shapes",),
    note="FLOPs follow from the shapes; with_flops=True writes none into the trace, only into tables",
)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "steps",
            "how long steps take, how much they vary, samples or tokens per second",
            "next to nothing: a few marks per step",
            Nsys(("nvtx",), note="mark the steps: traceq.annotate.step(), or an NVTX range around each"),
            Torch(cuda=False, note="call prof.step() after each step, or mark them: traceq.annotate.step()"),
            _BOTH,
        ),
        Metric(
            "idle",
            "when a GPU does nothing, and what the host did meanwhile",
            f"{_PER_CALL}, per operator or range, and per blocking call",
            Nsys(
                ("cuda", "nvtx", "osrt"),
                (_GRAPH_NODES,),
                note="operators are seen only as far as NVTX ranges name them",
            ),
            Torch(),
            _BOTH,
        ),
        Metric(
            "ledger",
            "which part of each step a GPU computes, communicates, copies or is idle",
            "an event per kernel and copy",
            Nsys(("cuda",), (_GRAPH_NODES,)),
            Torch(),
            _BOTH,
        ),
        Metric(
            "host",
            "what the training thread does in each step, by kind and by phase",
            "an event per CUDA call, and per operator or range",
            Nsys(
                ("cuda", "nvtx", "osrt"),
                note="operators and phases are seen only as far as NVTX ranges name them: traceq.annotate.phase()",
            ),
            Torch(cuda=False, note="backward and optimizer are marked by PyTorch; forward: traceq.annotate.phase()"),
            _BOTH,
        ),
        Metric(
            "launch",
            "what launching costs the host, and whether the GPU waits for launches",
            _PER_CALL,
            Nsys(("cuda",), (_GRAPH_NODES,)),
            Torch(),
            _BOTH,
        ),
        Metric(
            "sync",
            "which calls wait for the GPU, and which work of the GPU waits for which",
            "an event more per synchronization",
            Nsys(("cuda",)),
            Torch(experimental=("enable_cuda_sync_events",)),
            _BOTH,
        ),
        Metric(
            "copies",
            "bytes, bandwidth, direction, pinned or pageable, hidden behind kernels or not",
            "an event per copy",
            Nsys(("cuda",), (_GRAPH_NODES,)),
            Torch(),
            _BOTH,
        ),
        Metric(
            "occupancy",
            "waves, occupancy and what limits it, by how kernels were launched, not as they ran",
            "an event per kernel",
            Nsys(("cuda",), (_GRAPH_NODES,)),
            Torch(),
            _BOTH,
        ),
        Metric(
            "hardware-counters",
            "how busy multiprocessors, tensor cores, memory, PCIe and NVLink really were",
            "a row per counter and sample: some 200,000 a second and GPU at 10 kHz",
            Nsys(
                ("cuda",),
                ("--gpu-metrics-devices=all", "--gpu-metrics-frequency=10000"),
                note="the right to read performance counters is needed (root, or the driver's"
                " NVreg_RestrictProfilingToAdminUsers=0); older versions spell it --gpu-metrics-device",
            ),
            "what Kineto had for it (profiler_metrics) was removed",
            (),
        ),
        Metric(
            "communication",
            "collectives: time, what hides behind compute, and per message size and group",
            "an event per collective",
            Nsys(
                ("cuda", "nvtx"),
                (_GRAPH_NODES,),
                blobs=True,
                note="kernels and NCCL's NVTX ranges; message sizes are in the blobs of nsys from 2026.2 on"
                " (leave --include-blobs out where nsys does not know it)",
            ),
            Torch(note="one trace per rank; sizes and groups need torch.distributed with NCCL"),
            _BOTH,
        ),
        Metric(
            "data",
            "how long steps wait for input, and what that costs the GPU",
            "a mark per fetch",
            Nsys(("cuda", "nvtx"), note="mark the loader: traceq.annotate.loader(dataloader)"),
            Torch(note="DataLoader is marked by PyTorch; other iterables: traceq.annotate.loader(iterable)"),
            _BOTH,
        ),
        Metric(
            "memory",
            "how much memory is allocated over time, and when it peaks",
            "an event per allocation",
            Nsys(("cuda",), ("--cuda-memory-usage=true",), note="what CUDA handed out: PyTorch's cache as a whole"),
            Torch(("profile_memory",), note="what PyTorch's allocator handed out, and what it holds"),
            (),
        ),
        Metric(
            "flops",
            "FLOPs and bytes of matrix products, convolutions and attention, and the rates reached",
            "the shapes of each operator's arguments",
            _NO_SHAPES,
            _FLOPS,
            ("torch",),
        ),
        Metric(
            "mfu",
            "which share of the GPU's peak a step's FLOPs reach",
            "the shapes of each operator's arguments",
            _NO_SHAPES,
            _FLOPS,
            ("torch",),
        ),
        Metric(
            "python",
            "which Python functions and modules the time went through",
            "an event per Python call: steps get far longer, so take times from a capture without it",
            "traceq reads no samples, which is how nsys sees Python (--python-sampling=true, for its own viewer)",
            Torch(("with_stack", "with_modules")),
            (),
        ),
        Metric(
            "graphs",
            "what runs inside CUDA graphs",
            "an event per node of a graph instead of one per launch",
            Nsys(("cuda",), (_GRAPH_NODES,)),
            Torch(note="kernels of graphs are always traced one by one"),
            _BOTH,
        ),
        Metric(
            "os",
            "which system calls the host's threads block in",
            "an event per blocking call",
            Nsys(("osrt",)),
            "it sees no calls of the operating system",
            ("nsys",),
        ),
    )
}


def named(names: Sequence[str]) -> list[Metric]:
    """The metrics of these names, each once, in the order given. Raises UnknownMetric, with what comes closest."""
    return [_named(name) for name in dict.fromkeys(name.lower() for name in names)]


def _named(name: str) -> Metric:
    try:
        return METRICS[name]
    except KeyError:
        close = difflib.get_close_matches(name, METRICS, n=3, cutoff=0.5) or list(METRICS)
        raise UnknownMetric(f"no metric is called {name!r}; did you mean: {', '.join(close)}?") from None
