"""Kernels: how they fill GPUs, their names, operators, modules and speed."""

from __future__ import annotations

import msgspec


class KernelFill(msgspec.Struct, frozen=True):
    """Shares (0..1) of a device that compute kernels fill: occupancy by launch geometry, tensor cores by kernel names."""

    device: int
    kernels: int
    dur_ns: int
    occupancy_share: float | None
    tensor_core_share: float | None
    tensor_core_known_share: float | None


class OccupancyClass(msgspec.Struct, frozen=True):
    """Time of compute kernels by estimated occupancy: `quarter` is 0 (below 25 %) to 3; None where unknown."""

    quarter: int | None
    kernels: int
    dur_ns: int


class KernelName(msgspec.Struct, frozen=True):
    """All compute kernels of one name; mean, median, extremes and standard deviation are of the durations of single kernels.

    `stddev_ns` is None for one kernel.
    """

    name: str
    kernels: int
    dur_ns: int
    kernel_share: float | None
    occupancy_share: float | None
    limiter: str
    tensor_core: bool | None
    mean_ns: float
    median_ns: float
    min_ns: int
    max_ns: int
    stddev_ns: float | None


class OperatorKind(msgspec.Struct, frozen=True):
    """Operators of a kind with known operations or bytes: the speed that their kernels reach, and the memory's peak."""

    kind: str
    operators: int
    gpu_ns: int
    tflop_per_s: float | None
    peak_share: float | None
    gb_per_s: float | None
    memory_bound_share: float | None
    memory_gb_per_s: float | None


class Mfu(msgspec.Struct, frozen=True):
    """The floating-point operations per step on a device, and the model FLOPs utilization: their share of its peak."""

    device: int
    flops_per_step: float
    gpu_ns: int | None
    unknown_ns: int
    tflop_per_s: float | None
    mfu_share: float | None
    kernel_efficiency_share: float | None


class ModuleKind(msgspec.Struct, frozen=True):
    """Modules of the model at one place but for numbers, as the layers of a list; times of their kernels on all devices.

    `depth` is 1 for the outermost. `own_ns` is the part of `dur_ns` that no module inside has; the shares are of the time of
    all compute kernels. `calls` is None if no thread that launches is known to call them, `mfu_share` unless known of all.
    """

    place: str
    depth: int
    modules: int
    calls: int | None
    dur_ns: int
    backward_ns: int
    own_ns: int
    kernel_share: float | None
    own_share: float | None
    mfu_share: float | None


class ModuleTime(msgspec.Struct, frozen=True):
    """A module of the model on a device, a row of the table module; `growth_bytes` is what stays allocated after a call."""

    device: int
    module: str
    calls: int | None
    dur_ns: int
    own_ns: int
    mfu_share: float | None
    growth_bytes: int | None


class LayerTimes(msgspec.Struct, frozen=True):
    """A list of layers of the model on a device, or with `layers` None what lies outside of them.

    `source` is as in the table layer. `least_ns` to `most_ns` are of the layers, forward and backward; `slowest` is the one
    with most.
    """

    device: int
    name: str
    source: str
    layers: int | None
    calls: int | None
    dur_ns: int
    backward_ns: int
    kernel_share: float | None
    least_ns: int | None
    median_ns: int | None
    most_ns: int | None
    slowest: str | None


class GraphRegion(msgspec.Struct, frozen=True):
    """Work of CUDA graphs that the program annotated with a name that is no module's; time of its slices on all devices.

    `gpu_share` is of the time of all slices in graphs that do not communicate. `region` is None for work without an annotation.
    """

    region: str | None
    phase: str | None
    slices: int
    dur_ns: int
    gpu_share: float | None


class GpuMetric(msgspec.Struct, frozen=True):
    """Samples of a hardware counter, as shares (0..1) of its maximum."""

    device: int
    metric: str
    mean_share: float
    highest_share: float
    samples: int


class KernelSpeed(msgspec.Struct, frozen=True):
    """Kernels of one name, under operators of one kind, with the speed that operations and bytes of these operators give.

    `name` and `kind` are None for all kernels together of which only the bytes are known, or (`has_bytes` false) neither.
    """

    name: str | None
    kind: str | None
    has_bytes: bool
    kernels: int
    dur_ns: int
    kernel_share: float | None
    tflop_per_s: float | None
    gb_per_s: float | None
    peak_tflop_per_s: float | None
    memory_gb_per_s: float | None


class ExpertWork(msgspec.Struct, frozen=True):
    """An expert of a mixture that runs as a module or range of its own: tokens, forward time (ns), and load of its layer's mean.

    `experts` and `layers` are how many there are in all.
    """

    place: str | None
    expert: int
    calls: int
    tokens: int | None
    dur_ns: int
    load: float | None
    experts: int
    layers: int


class GroupedProduct(msgspec.Struct, frozen=True):
    """Operators of one name that compute several experts together; `rows` are those of all experts, None if unknown."""

    name: str
    calls: int
    rows: int | None
    dur_ns: int | None


class FusionCandidate(msgspec.Struct, frozen=True):
    """Memory-bound kernels of a sequence of operators that one kernel could replace, in counted steps on all devices.

    `least_bytes` to `most_bytes` need not move then, which take `least_ns` to `most_ns`; None where the trace does not tell.
    """

    sequence: str
    operators: int
    times: int
    kernels: int
    dur_ns: int
    least_bytes: int | None
    most_bytes: int | None
    least_ns: int | None
    most_ns: int | None


class ReportedKernel(msgspec.Struct, frozen=True):
    """A kernel with one launch geometry, its time in the counted steps, and what reports of a kernel profiler say of it.

    Shares (0..1) are means over the reports' `launches`; None for what they do not tell. `matched_by` is launch, size or name.
    """

    name: str
    grid_x: int | None
    grid_y: int | None
    grid_z: int | None
    block_x: int | None
    block_y: int | None
    block_z: int | None
    tool: str
    file: str
    matched_by: str
    launches: int
    kernels: int
    dur_ns: int
    compute_share: float | None
    memory_share: float | None
    dram_share: float | None
    occupancy_share: float | None
    occupancy_limit_share: float | None
    limiter: str | None
    stall: str | None
    stall_share: float | None
    next_stall: str | None
    next_stall_share: float | None


class UnreportedKernel(msgspec.Struct, frozen=True):
    """A kernel name among those with most time that no report of a kernel profiler is about."""

    name: str
    dur_ns: int


class Kernels(msgspec.Struct, frozen=True):
    """Compute kernels, and the operators and modules that launched them; `top` are the --top names with most time.

    `modules` are the --top modules with most time of their own.
    """

    fill: tuple[KernelFill, ...]
    occupancy: tuple[OccupancyClass, ...]
    top: tuple[KernelName, ...]
    operators: tuple[OperatorKind, ...]
    mfu: tuple[Mfu, ...]
    measured: tuple[GpuMetric, ...]
    module_kinds: tuple[ModuleKind, ...] = ()
    modules: tuple[ModuleTime, ...] = ()
    roofline: tuple[KernelSpeed, ...] = ()
    experts: tuple[ExpertWork, ...] = ()
    grouped: tuple[GroupedProduct, ...] = ()
    regions: tuple[GraphRegion, ...] = ()
    layers: tuple[LayerTimes, ...] = ()
    fusion: tuple[FusionCandidate, ...] = ()
    reported: tuple[ReportedKernel, ...] = ()
    unreported: tuple[UnreportedKernel, ...] = ()
