"""Capabilities of ROCm's rocprofv3, and the options that record them; RPD's databases hold the same but for markers."""

from __future__ import annotations

from traceq.formats.format import Capture, Format, Options
from traceq.formats.nsys import COMMON_WAYS

_KERNELS = {"--kernel-trace": ()}
_WORK = {**_KERNELS, "--memory-copy-trace": ()}
_CALLS = {**_WORK, "--hip-trace": ()}
_MARKERS = {"--marker-trace": ()}
_NO_SHAPES = "no shapes of operators, so no FLOPs: PyTorch's profiler records them on ROCm, too"
_TORCH = "PyTorch's profiler"

_CAPTURES: dict[str, Capture | str] = {
    "steps": Capture(
        _MARKERS,
        'mark the steps: with torch.cuda.nvtx.range("step") is a range of roctx on ROCm; in C++ roctxRangePush and roctxRangePop',
    ),
    "idle": Capture({**_CALLS, **_MARKERS}, "operators are seen only where roctx ranges name them"),
    "ledger": Capture(_WORK),
    "host": Capture({**_CALLS, **_MARKERS}, "operators and phases are seen only where roctx ranges name them"),
    "launch": Capture(_CALLS),
    "sync": "it does not record which GPU work waits for which; --hip-trace records calls that wait",
    "copies": Capture({"--memory-copy-trace": (), "--hip-trace": ()}, "whether host memory is pinned is not recorded"),
    "occupancy": "traceq knows the limits of NVIDIA's multiprocessors only; rocprof-compute shows occupancy",
    "hardware-counters": "traceq reads no counters of rocprofv3 (--pmc); rocprof-compute shows them",
    "communication": Capture(
        {**_WORK, "--rccl-trace": ()}, "one trace per rank; sizes and groups of collectives are not recorded"
    ),
    "data": Capture(_MARKERS, 'mark the loader: with torch.cuda.nvtx.range("load batch")'),
    "memory": "traceq reads no allocations of rocprofv3; PyTorch's profiler records its allocator's",
    "flops": _NO_SHAPES,
    "mfu": _NO_SHAPES,
    "python": "it records no Python frames; PyTorch's profiler does, with_stack=True",
    "graphs": Capture(_KERNELS, "kernels of graphs are always traced one by one"),
    "os": "it does not record system calls",
}

_GPU = "rocprofv3 --kernel-trace --memory-copy-trace"
_HIP = "rocprofv3 --hip-trace"
_SYS = "rocprofv3 --sys-trace"
_MARKED = "rocprofv3 --marker-trace, with torch.cuda.nvtx.range() or roctx in the program"
# No way: its profiler does not record it.
_NOBODY = ""

_WAYS = {
    **COMMON_WAYS,
    # nsys is of no use on these GPUs, and ranges of traceq.annotate are no ranges of roctx
    "loader_mark": "a range of roctx called load batch",
    "described_collectives": "PyTorch's profiler of PyTorch 2.2 and later describes them",
    "matched_collectives": _TORCH,
    "process_groups": _TORCH,
    "collections": "_ExperimentalConfig(record_python_gc_info=True) of PyTorch's profiler",
    "fetch_work": "PyTorch's profile(with_stack=True)",
    "reads": "PyTorch's profile(with_stack=True)",
    "cpu_samples": "perf record, beside it,",
    "graph_nodes": _GPU,
    "locks": "`rocprof-sys-sample` shows when threads wait.",
    "os_calls": "rocprof-sys-sample",
    "page_faults": _NOBODY,
    "scheduling": "rocprof-sys-sample",
    "worker_activity": "rocprof-sys-sample",
    "step_ranges": "a range of roctx around each step, or by calling `prof.step()` under PyTorch's profiler",
    "gpu": _GPU,
    "steps": _MARKED,
    "several_steps": "ranges of roctx around more steps",
    "launches": _HIP,
    "calls": _HIP,
    "operators": _TORCH,
    "annotations": _MARKED,
    "phases": _MARKED,
    "python_frames": f"{_TORCH} (with_stack=True)",
    "fetches": "a range of roctx called load batch",
    "synchronizations": _NOBODY,
    "copy_memory": _TORCH,
    "kernel_geometry": _GPU,
    "occupancy": "rocprof-compute",
    "shapes": f"{_TORCH} with record_shapes=True",
    "types": f"{_TORCH} with record_shapes=True",
    "flops": f"{_TORCH} with record_shapes=True",
    "peaks": f"{_TORCH} with record_shapes=True",
    "message_sizes": _TORCH,
    "host_alone": _GPU,
    "memory_samples": "PyTorch's profile(profile_memory=True)",
    # what single rules and sections name
    "early_work": "rocprofv3 --selected-regions, with roctxProfilerResume() in the program",
    "host_side": _SYS,
    "idle_causes": f"{_SYS}, with ranges of roctx",
    "later_start": "Start later: rocprofv3 --selected-regions, with roctxProfilerResume() after some steps.",
    "message_bytes": "PyTorch's profiler records them",
    "more_steps": "let the program run longer under rocprofv3",
    "no_stacks": "nothing needs to be left out",
    "operator_names": _TORCH,
    "operator_ranges": "torch.autograd.profiler.emit_nvtx()",
    "python_lines": "PyTorch's profile(with_stack=True) says which lines.",
    "native_step_marks": (
        " (in C or C++: roctxRangePushA(\"step\") and roctxRangePop(), then traceq ingest --step-range '^step$')"
    ),
    "stream_events": _NOBODY,
}


_RANGES = "ranges of roctx around the parts of the program"
_NOT_KNOWN = (
    *("allocations", "allocator", "allocator_totals", "matched_collectives", "described_collectives", "python_frames"),
    *("process_groups", "message_sizes", "message_bytes", "copy_memory", "memory_samples", "shapes", "types", "flops"),
    *("peaks", "python_lines"),
)
_ELSEWHERE: dict[str, str | None] = {
    **dict.fromkeys(_NOT_KNOWN),
    "collections": "ranges of roctx around collections of garbage",
    "fetch_work": "rocprof-sys-sample",
    "reads": "rocprof-sys-sample",
    "step_ranges": "a range of roctx around each step",
    **dict.fromkeys(("fetches", "loader_mark"), "a range of roctx around the fetching of input"),
    "operators": _RANGES,
    "operator_ranges": _RANGES,
    "operator_names": _RANGES,
    **dict.fromkeys(
        ("steps", "annotations", "phases"), "rocprofv3 --marker-trace, with ranges of roctx in the program"
    ),
}


def _spell_options(options: Options) -> str:
    return " ".join(options)


def _build_commands(options: Options) -> str:
    """Return the shell command that profiles a program with these options; traceq reads its output directly."""
    return f"rocprofv3 {_spell_options(options)} --output-format json --output-file trace -- python train.py"


ROCM = Format(
    name="rocm",
    profiler="rocprofv3",
    suffixes=(".json", ".db", ".rpd"),
    captures=_CAPTURES,
    ways=_WAYS,
    elsewhere=_ELSEWHERE,
    call="rocprofv3 {}",
    spelled=_spell_options,
    commands=_build_commands,
    beside=("chrome",),
)
