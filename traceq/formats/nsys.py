"""Capabilities of NVIDIA Nsight Systems, and the options that record them."""

from __future__ import annotations

from traceq.formats.format import MONITOR_WAYS, Capture, Format, Options

_GRAPH_NODES = {"--cuda-graph-trace": ("node",)}
_SAMPLES = {"--sample": ("process-tree",), "--cpuctxsw": ("process-tree",)}
_FORKED = {"--trace-fork-before-exec": ("true",)}
_KERNELS = {"--trace": ("cuda",), **_GRAPH_NODES}
_NO_SHAPES = "no shapes of operators, so no FLOPs, unless emit_nvtx(record_shapes=True) is around the program"

# Options of `nsys export`; all others are those of `nsys profile`.
_OF_EXPORT = ("--include-blobs",)

_CAPTURES: dict[str, Capture | str] = {
    "steps": Capture({"--trace": ("nvtx",)}, "mark the steps: traceq.annotate.step(), or an NVTX range around each"),
    "idle": Capture(
        {"--trace": ("cuda", "nvtx", "osrt"), **_GRAPH_NODES, **_SAMPLES},
        "operators are seen only where NVTX ranges name them; code outside of calls is sampled where the kernel lets nsys"
        " (perf_event_paranoid at most 2)",
    ),
    "ledger": Capture(_KERNELS),
    "host": Capture(
        {"--trace": ("cuda", "nvtx", "osrt")},
        "operators and phases are seen only where NVTX ranges name them: traceq.annotate.phase()",
    ),
    "launch": Capture(_KERNELS),
    "sync": Capture({"--trace": ("cuda",)}),
    "copies": Capture(_KERNELS),
    "occupancy": Capture(_KERNELS),
    "hardware-counters": Capture(
        {"--trace": ("cuda",), "--gpu-metrics-devices": ("all",), "--gpu-metrics-frequency": ("10000",)},
        "the right to read performance counters is needed (root, or the driver's"
        " NVreg_RestrictProfilingToAdminUsers=0); older versions spell it --gpu-metrics-device",
    ),
    "communication": Capture(
        {"--trace": ("cuda", "nvtx"), **_GRAPH_NODES, "--include-blobs": ("true",)},
        "kernels and NCCL's NVTX ranges; message sizes are in the blobs of nsys from 2026.2 on"
        " (leave --include-blobs out where nsys does not know it)",
    ),
    "data": Capture(
        {"--trace": ("cuda", "nvtx", "osrt"), **_FORKED},
        "mark the loader: traceq.annotate.loader(dataloader); workers are forked processes, which nsys traces with"
        " --trace-fork-before-exec=true only (leave it out if the program hangs)",
    ),
    "memory": Capture(
        {"--trace": ("cuda",), "--cuda-memory-usage": ("true",)}, "what CUDA allocated: PyTorch's cache as a whole"
    ),
    "flops": _NO_SHAPES,
    "mfu": _NO_SHAPES,
    "python": "nsys samples Python for its own viewer only (--python-sampling=true); traceq reads its samples of native code",
    "graphs": Capture(_KERNELS),
    "os": Capture({"--trace": ("osrt",)}),
}

_CUDA = "nsys profile --trace=cuda"
_OSRT = "nsys profile --trace=osrt"
_WITH_SHAPES = "torch.autograd.profiler.emit_nvtx(record_shapes=True)"

# What brings an input whichever profiler wrote the trace: nsys can be run on the same program.
COMMON_WAYS = {
    **MONITOR_WAYS,
    "allocations": "a snapshot by torch.cuda.memory._record_memory_history() and _dump_snapshot()",
    "collections": "_ExperimentalConfig(record_python_gc_info=True) of PyTorch's profiler, or ranges made in gc.callbacks,",
    "allocator": "profile(profile_memory=True)",
    "allocator_totals": "a newer PyTorch with profile_memory=True",
    "described_collectives": "newer PyTorch profilers write them for NCCL",
    "fetch_work": f"profile(with_stack=True), or {_OSRT},",
    "reads": f"{_OSRT}, or profile(with_stack=True),",
    "cpu_samples": "nsys profile --sample=process-tree --cpuctxsw=process-tree",
    "graph_nodes": "nsys profile --cuda-graph-trace=node",
    "loader_mark": "traceq.annotate.loader(loader)",
    "locks": "`nsys profile --trace=cuda,nvtx,osrt --sample=process-tree` shows locks, and when threads lost their core.",
    "matched_collectives": "PyTorch 2.1 and later with record_shapes=True",
    "os_calls": _OSRT,
    "page_faults": "nsys profile --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true",
    "scheduling": "nsys profile --cpuctxsw=process-tree --sample=process-tree",
    "step_ranges": "calling `prof.step()` (PyTorch profiler) or by an NVTX range or record_function around each step",
    "process_groups": "PyTorch 2.2 and later, or NCCL 2.26 and later,",
    "worker_activity": "nsys profile --trace=osrt --trace-fork-before-exec=true",
}

_WAYS = {
    **COMMON_WAYS,
    "gpu": _CUDA,
    "steps": "traceq.annotate, or --step-range",
    "several_steps": "traceq.annotate around more steps",
    "launches": _CUDA,
    "calls": _CUDA,
    "operators": "PyTorch's profiler, or torch.autograd.profiler.emit_nvtx()",
    "annotations": "nsys profile --trace=nvtx with traceq.annotate",
    "phases": "traceq record, or traceq.annotate",
    "python_frames": "a PyTorch profile with_stack=True",
    "fetches": "traceq.annotate.fetch around the loader",
    "synchronizations": "a driver that records them (CUDA 11 and later)",
    "copy_memory": _CUDA,
    "kernel_geometry": _CUDA,
    "occupancy": _CUDA,
    "shapes": _WITH_SHAPES,
    "types": "a PyTorch profile with record_shapes=True",
    "flops": _WITH_SHAPES,
    "peaks": _WITH_SHAPES,
    "message_sizes": "nsys with NCCL's NVTX payloads (NCCL 2.18 and later)",
    "host_alone": _CUDA,
    "memory_samples": "nsys profile --cuda-memory-usage=true",
    # what single rules and sections name
    "early_work": "nsys profile --capture-range=cudaProfilerApi, with torch.cuda.profiler.start() in the program",
    "host_side": "nsys profile --trace=cuda,nvtx,osrt",
    "idle_causes": "nsys profile --trace=cuda,nvtx,osrt --sample=process-tree --cpuctxsw=process-tree",
    "later_start": (
        "Start later: nsys profile --delay=60, or traceq record --backend nsys --skip 50 --steps 10 -- PROGRAM."
    ),
    "message_bytes": "NCCL's NVTX payload can hold them: `nsys export --include-blobs=true`",
    "more_steps": "traceq record --backend nsys --steps 10 -- PROGRAM",
    "no_stacks": "nsys profile --cudabacktrace=none",
    "operator_names": (
        "nsys profile --trace=cuda,nvtx, with traceq.annotate or torch.autograd.profiler.emit_nvtx() in the program"
    ),
    "operator_ranges": "torch.autograd.profiler.emit_nvtx()",
    "python_lines": (
        "`nsys profile --python-sampling=true` says which lines, more ranges (traceq.annotate) which parts."
    ),
    "native_step_marks": (
        " (in C or C++: nvtxRangePushA(\"step\") and nvtxRangePop(), then traceq ingest --step-range '^step$')"
    ),
    "stream_events": "nsys profile --cuda-event-trace=true",
}


_RANGES = "NVTX ranges around the parts of the program"
_NOT_KNOWN = (
    *("allocations", "allocator", "allocator_totals", "matched_collectives", "described_collectives", "python_frames"),
    *("shapes", "types", "flops", "peaks"),
)
# Of programs that are not PyTorch's, where the words above speak of it.
ELSEWHERE: dict[str, str | None] = {
    **dict.fromkeys(_NOT_KNOWN),
    "collections": "NVTX ranges around collections of garbage",
    "fetch_work": f"{_OSRT},",
    "reads": f"{_OSRT},",
    "process_groups": "NCCL 2.26 and later,",
    "step_ranges": "an NVTX range around each step",
    "steps": "NVTX ranges, or --step-range",
    "several_steps": "NVTX ranges around more steps",
    "operators": _RANGES,
    "operator_ranges": _RANGES,
    "operator_names": "nsys profile --trace=cuda,nvtx, with NVTX ranges in the program",
    "annotations": "nsys profile --trace=nvtx, with NVTX ranges in the program",
    "phases": "NVTX ranges around its phases",
    "fetches": "an NVTX range around the fetching of input",
    "loader_mark": "an NVTX range around the fetching of input",
    "early_work": "nsys profile --capture-range=cudaProfilerApi, with cudaProfilerStart() in the program",
    "later_start": "Start later: nsys profile --delay=60.",
    "more_steps": "nsys profile --duration=60, or no --duration at all",
}


def _spell_options(options: Options) -> str:
    return " ".join(f"{name}={','.join(values)}" for name, values in options.items() if name not in _OF_EXPORT)


def _build_commands(options: Options) -> str:
    """Return shell commands: one that profiles a program with these options, and one that exports the report."""
    profile = {
        **options,
        "--trace": tuple(sorted(options["--trace"])),
        # Both are on unless told otherwise, and cost time.
        **{name: options.get(name, ("none",)) for name in _SAMPLES},
        "--output": ("trace",),
    }
    export = ["--type=sqlite", *(f"{name}={','.join(options[name])}" for name in _OF_EXPORT if name in options)]
    return (
        f"nsys profile {_spell_options(profile)} python train.py\n"
        f"nsys export {' '.join(export)} --output=trace.sqlite trace.nsys-rep"
    )


NSYS = Format(
    name="nsys",
    profiler="nsys",
    suffixes=(".sqlite", ".sqlite3", ".db", ".nsys-rep", ".qdrep", "_pqtdir", "_arwdir"),
    captures=_CAPTURES,
    ways=_WAYS,
    elsewhere=ELSEWHERE,
    call="nsys profile {}",
    spelled=_spell_options,
    commands=_build_commands,
    only_nvidia=True,
    beside=("chrome",),
)
