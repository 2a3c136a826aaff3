"""What rules stand on: what to say where a trace lacks it, and how to capture it."""

from __future__ import annotations

from typing import NamedTuple


class CannotTell(Exception):
    """Raised by a rule that lacks its input; the text says which, and what brings it."""


class NothingThere(Exception):
    """Raised by a rule that has its input and finds that what it is about did not happen; the text says so."""


class Need(NamedTuple):
    """An input: the column of judge/present.sql that counts it, what lacks without it, how nsys and PyTorch record it."""

    column: str
    lacking: str
    nsys: str
    chrome: str


_WITH_STACK = "profile(with_stack=True)"
_WITH_SHAPES = "profile(record_shapes=True)"

NEEDS = {
    "gpu": Need("gpu_slices", "no GPU activity was traced", "nsys profile --trace=cuda", "ProfilerActivity.CUDA"),
    "steps": Need(
        "steps", "no step is left to count", "traceq.annotate, or --step-range", "traceq.annotate, or profiler.step()"
    ),
    "several_steps": Need(
        "several_steps",
        "fewer than three counted steps",
        "mark steps, and capture more of them (traceq.annotate)",
        "schedule(active=...) with more steps",
    ),
    "launches": Need(
        "launches", "no launching call is in the trace", "nsys profile --trace=cuda", "ProfilerActivity.CPU and CUDA"
    ),
    "calls": Need(
        "calls", "no CUDA call is in the trace", "nsys profile --trace=cuda", "ProfilerActivity.CPU and CUDA"
    ),
    "operators": Need(
        "operators",
        "no PyTorch operator is in the trace",
        "a capture by PyTorch's profiler, or torch.autograd.profiler.emit_nvtx()",
        "ProfilerActivity.CPU",
    ),
    "annotations": Need(
        "annotations", "no range is in the trace", "nsys profile --trace=nvtx with traceq.annotate", "traceq.annotate"
    ),
    "phases": Need(
        "phases",
        "nothing names forward, backward and optimizer",
        "traceq record, or traceq.annotate",
        "traceq record, or traceq.annotate",
    ),
    "os_calls": Need(
        "os_calls",
        "no call of the operating system was traced",
        "nsys profile --trace=osrt",
        "nsys profile --trace=osrt",
    ),
    "python_frames": Need(
        "python_frames", "no Python frame was traced", "a PyTorch profile with_stack=True", _WITH_STACK
    ),
    "fetches": Need(
        "fetches",
        "nothing names the fetching of input",
        "traceq.annotate.fetch around the loader",
        "a torch DataLoader, or traceq.annotate.fetch",
    ),
    "synchronizations": Need(
        "synchronizations",
        "no synchronization records: what streams waited for is not known",
        "a driver that records them (CUDA 11 and later)",
        "_ExperimentalConfig(enable_cuda_sync_events=True)",
    ),
    "copy_memory": Need(
        "copy_memory",
        "the kinds of memory of copies are not known",
        "nsys profile --trace=cuda",
        "ProfilerActivity.CUDA",
    ),
    "kernel_geometry": Need(
        "kernel_geometry", "no kernel says its grid and block", "nsys profile --trace=cuda", "ProfilerActivity.CUDA"
    ),
    "occupancy": Need(
        "occupancy",
        "occupancy is not known: the limits of the GPU or the launch geometry are missing",
        "nsys profile --trace=cuda",
        "a newer PyTorch, which writes deviceProperties",
    ),
    "shapes": Need(
        "shapes", "no shapes of operators were recorded", "a PyTorch profile with record_shapes=True", _WITH_SHAPES
    ),
    "flops": Need(
        "flops", "floating-point operations are not known", "a PyTorch profile with record_shapes=True", _WITH_SHAPES
    ),
    "peaks": Need(
        "peaks",
        "the peak of the GPU, or the type of the arithmetic, is not known",
        "a PyTorch profile with record_shapes=True",
        _WITH_SHAPES,
    ),
    "message_sizes": Need(
        "message_sizes",
        "message sizes of collectives are not known",
        "nsys with NCCL's NVTX payloads (NCCL 2.18 and later)",
        "PyTorch 2.2 and later",
    ),
    "memory_samples": Need(
        "memory_samples",
        "no samples of allocated memory",
        "nsys profile --cuda-memory-usage=true",
        "profile(profile_memory=True)",
    ),
}
