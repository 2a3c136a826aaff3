"""Inputs of rules, and the words for a trace that lacks them. traceq.formats says how to record them."""

from __future__ import annotations

from typing import NamedTuple


class CannotTell(Exception):
    """Raised by a rule whose input the trace lacks; the text says which input, and how to get it."""


class NothingThere(Exception):
    """Raised by a rule that has its input, but what it is about did not happen in the trace; the text says so."""


class Need(NamedTuple):
    """An input of rules: the column of diagnosis/sql/present.sql that counts it, and words that say that a trace lacks it."""

    column: str
    lacking: str


NEEDS = {
    "gpu": Need("gpu_slices", "no GPU activity was traced"),
    "steps": Need("steps", "no step is left to count"),
    "several_steps": Need("several_steps", "fewer than three counted steps"),
    "launches": Need("launches", "no launching call is in the trace"),
    "calls": Need("calls", "no runtime call is in the trace"),
    "operators": Need("operators", "no PyTorch operator is in the trace"),
    "annotations": Need("annotations", "no range is in the trace"),
    "phases": Need("phases", "nothing names forward, backward and optimizer"),
    "os_calls": Need("os_calls", "no call of the operating system was traced"),
    "scheduling": Need("scheduling", "when threads were on a CPU was not recorded"),
    "python_frames": Need("python_frames", "no Python frame was traced"),
    "fetches": Need("fetches", "nothing names the fetching of input"),
    "synchronizations": Need("synchronizations", "no synchronization records: what streams waited for is not known"),
    "copy_memory": Need("copy_memory", "the kinds of memory of copies are not known"),
    "kernel_geometry": Need("kernel_geometry", "no kernel says its grid and block"),
    "occupancy": Need("occupancy", "occupancy is not known: the limits of the GPU or the launch geometry are missing"),
    "shapes": Need("shapes", "no shapes of operators were recorded"),
    "types": Need("types", "the types of operators' tensors were not recorded"),
    "flops": Need("flops", "floating-point operations are not known"),
    "peaks": Need("peaks", "the peak of the GPU, or the type of the arithmetic, is not known"),
    "message_sizes": Need("message_sizes", "message sizes of collectives are not known"),
    "host_alone": Need("host_alone", "a GPU works for this program, and its work was not captured"),
    "memory_samples": Need("memory_samples", "no samples of allocated memory"),
    "allocations": Need("allocations", "no memory snapshot says who allocated what"),
    "gpu_clocks": Need("gpu_clocks", "no monitor logged the clock of the GPU beside the trace"),
    "throttle_reasons": Need("throttle_reasons", "no monitor logged what holds the clock of the GPU down"),
    "disk_samples": Need("disk_samples", "no monitor logged the disks beside the trace"),
    "cpu_samples_logged": Need("cpu_samples_logged", "no monitor logged the run queue or the steal of the host"),
    "cpu_count": Need("cpu_count", "how many CPUs the host has is in no log"),
    "steal": Need("steal", "no monitor logged the steal of the host"),
    "swap_samples": Need("swap_samples", "no monitor logged the swapping of the host"),
}
