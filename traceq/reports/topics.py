"""The topics of a report: critical path, copies, kernels, communication, input, memory, serving.

Filled by build.py.

Times are ns (`_ns`), sizes bytes, shares 0..1; None means that the trace does not say. All over the counted steps.
"""

from __future__ import annotations

import msgspec


class PathSummary(msgspec.Struct, frozen=True):
    """The critical path of the counted steps that were replayed: their number, its length, and its unexplained part, ns.

    The errors are the differences between replayed and recorded steps, as shares of the recorded ones.
    """

    steps: int
    dur_ns: int
    unexplained_ns: int | None
    median_error_share: float | None
    largest_error_share: float | None


class PathPart(msgspec.Struct, frozen=True):
    """The time of the critical path of one kind (host, gpu, transfer, wait) and cause (a category of the ledger)."""

    kind: str
    cause: str
    dur_ns: int
    unexplained_ns: int
    path_share: float


class PathName(msgspec.Struct, frozen=True):
    """The slices of one name and operator on the critical path, with their time and its share of the path.

    `modules` is the number of modules they are in, `module` the one with most time.
    """

    kind: str
    name: str
    operator: str | None
    module: str | None
    modules: int
    dur_ns: int
    path_share: float


class PathTopic(msgspec.Struct, frozen=True):
    """The critical path of the steps; `parts` add up to it, `names` are the --top longest."""

    summary: PathSummary
    parts: tuple[PathPart, ...]
    names: tuple[PathName, ...]


class CopyTotal(msgspec.Struct, frozen=True):
    """Copies of one category on one device, with bytes and times (ns) in the counted steps.

    `busy_ns` is the sum of `overlapped_ns` (compute runs too), `hidden_ns` (else communication or another copy) and
    `exposed_ns`.
    """

    device: int
    category: str
    copies: int
    bytes: int | None
    dur_ns: int
    busy_ns: int
    overlapped_ns: int
    hidden_ns: int
    exposed_ns: int
    could_overlap_ns: int


class CopyGroup(msgspec.Struct, frozen=True):
    """Copies of one category, position in the program and size class, with their speed and the best speed of such copies.

    `pageable` and `blocking` count copies from pageable memory and calls that block the host; None if unknown. For `returning`
    see copy_overlap.returns_slice_id.
    """

    category: str
    position: str | None
    size_class: str | None
    copies: int
    dur_ns: int
    exposed_ns: int
    pageable: int | None
    blocking: int | None
    returning: int
    gb_per_s: float | None
    best_gb_per_s: float | None


class UnifiedMemory(msgspec.Struct, frozen=True):
    """Migrations (h2d to the GPU, d2h back) and page faults of unified memory on a device; the CPU's row has no device."""

    device: int | None
    migrations_h2d: int
    bytes_h2d: int | None
    h2d_ns: int
    migrations_d2h: int
    bytes_d2h: int | None
    d2h_ns: int
    gpu_faults: int | None
    gpu_fault_ns: int | None
    cpu_faults: int | None


class Copies(msgspec.Struct, frozen=True):
    """The copies, without communication; `groups` are the --top groups with most exposed time."""

    totals: tuple[CopyTotal, ...]
    groups: tuple[CopyGroup, ...]
    unified_memory: tuple[UnifiedMemory, ...]


class CommunicationTotal(msgspec.Struct, frozen=True):
    """The communication on a device, busy time in ns: beside compute (overlapped) or not (exposed); the two add up to it.

    `opaque_ns` is the time of graphs traced as a whole, in which communication is not visible.
    """

    device: int
    communication_ns: int
    overlapped_ns: int
    exposed_ns: int
    opaque_ns: int


class Blocking(msgspec.Struct, frozen=True):
    """The time that launched compute waited for communication and nothing more; known for `known` of `slices` collectives.

    `blocking_ns` is None if it is known for none.
    """

    device: int
    slices: int
    known: int
    blocking_ns: int | None


class Collective(msgspec.Struct, frozen=True):
    """Collectives of one operation, group and size class; `bus_gb_per_s` is busbw of nccl-tests, waiting included."""

    op: str
    group_name: str | None
    group_size: int | None
    size_class_bytes: int | None
    slices: int
    bytes: int | None
    dur_ns: int
    exposed_ns: int
    blocking_ns: int | None
    bus_gb_per_s: float | None


class HostCollective(msgspec.Struct, frozen=True):
    """Calls of one communication operation on the host."""

    library: str
    op: str
    calls: int
    bytes: int | None
    dur_ns: int
    longest_ns: int


class CommunicationTopic(msgspec.Struct, frozen=True):
    """Communication on GPUs and on the host; `collectives` and `on_host` are the --top longest."""

    totals: tuple[CommunicationTotal, ...]
    blocking: tuple[Blocking, ...]
    collectives: tuple[Collective, ...]
    on_host: tuple[HostCollective, ...]


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


class DataStall(msgspec.Struct, frozen=True):
    """Fetching of input: how long the training thread waits, and how much of it leaves the GPU idle; ns."""

    steps: int
    data_wait_ns: int | None
    data_stall_ns: int | None
    idle_data_ns: int | None
    input_copy_ns: int | None
    hidden_ns: int | None
    fetches: int | None
    longest_fetch_ns: int | None
    first_fetch_ns: int | None
    waiting_ns: int | None
    reading_ns: int | None
    transform_ns: int | None
    python_ns: int | None
    calls_ns: int | None
    unexplained_ns: int | None
    workers: int | None
    worker_busy_share: float | None


class LoaderFetches(msgspec.Struct, frozen=True):
    """The fetches from one data loader."""

    loader: str
    loader_kind: str | None
    fetches: int
    dur_ns: int
    median_ns: float
    longest_ns: int
    stalled_ns: int | None


class Data(msgspec.Struct, frozen=True):
    """Fetching of input; `loaders` are the --top slowest."""

    stall: DataStall
    loaders: tuple[LoaderFetches, ...]


class MemoryPeak(msgspec.Struct, frozen=True):
    """The peak of one kind of memory on a device (None: the host).

    Where `is_total` is false, not all was recorded: the peak is at least this.
    """

    device: int | None
    memory: str
    is_total: bool
    peak_bytes: int
    peak_step: int
    reserved_bytes: int | None
    peak_unused_bytes: int | None
    capacity_bytes: int | None
    steps: int
    growth_per_step_bytes: float | None
    growing_steps: int


class MemoryPart(msgspec.Struct, frozen=True):
    """A device's memory in one of 60 equal parts of the counted steps or of a history: the highest and the last bytes in it.

    Part -1 is the time before.
    """

    device: int
    part: int
    highest_bytes: int
    last_bytes: int


class MemoryLayer(msgspec.Struct, frozen=True):
    """The bytes of one category on a device in 120 equal parts of the counted steps or of a history, from `first_part` on.

    Each part is told at the moment when most is allocated in it, so the layers of a part add up to its highest. In a
    snapshot categories are those of allocations, None if unknown; in a trace they are of the chart of memory.
    """

    device: int
    category: str | None
    first_part: int
    bytes: tuple[int, ...]


class StepStart(msgspec.Struct, frozen=True):
    """The start of a counted step since the start of the first one; all counted steps together last `span_ns`."""

    step: int
    after_ns: int
    span_ns: int


class EventHolder(msgspec.Struct, frozen=True):
    """Memory that is allocated when most is in the counted steps, by the operator, module and line that asked for it.

    `all_bytes` is what all such holders on the device have; what was allocated before the capture has no holder.
    """

    device: int
    operator: str | None
    module: str | None
    line: str | None
    allocations: int
    bytes: int
    largest_bytes: int
    all_bytes: int


class AllocatorCall(msgspec.Struct, frozen=True):
    """Calls of one name to the driver's allocator, such as cudaMalloc."""

    operation: str
    name: str
    calls: int
    dur_ns: int
    longest_ns: int


class SnapshotPeak(msgspec.Struct, frozen=True):
    """The peak of a device in a memory snapshot; a row of the table memory_peak.

    `after_ns` is the time since the start of the history, which lasts `history_ns`; None without times. `number` is the
    place of the peak's event among `events`. `owners` are the lines of the program that hold it; `ownerless_bytes` have
    no known stack. `failures` are failed allocations, the largest of `failed_bytes`.
    """

    device: int
    peak_bytes: int
    after_ns: int | None
    number: int | None
    events: int
    history_ns: int | None
    reserved_bytes: int | None
    most_reserved_bytes: int | None
    older: int
    older_bytes: int
    lost: int
    lost_bytes: int
    at_end: int
    bytes_at_end: int
    requested_at_end: int
    reserved_at_end: int | None
    owners: int
    ownerless_bytes: int
    failures: int
    failed_bytes: int | None


class MemoryCategory(msgspec.Struct, frozen=True):
    """The bytes of a category at the peak of a device; category None: unknown."""

    device: int
    category: str | None
    allocations: int
    bytes: int


class MemoryHolder(msgspec.Struct, frozen=True):
    """Memory that a line of the program holds at the peak of a device, or when memory runs out.

    `owner` is None without a stack, `category` and `phase` where the allocations differ.
    """

    device: int
    owner: str | None
    category: str | None
    phase: str | None
    allocations: int
    bytes: int
    largest_bytes: int


class MemoryFailure(msgspec.Struct, frozen=True):
    """The last time that a device ran out of memory in a snapshot; a row of the view memory_failure.

    `ts` is in ns since the epoch.
    """

    device: int
    ts: int | None
    after_ns: int | None
    failures: int
    asked_bytes: int
    owner: str | None
    free_bytes: int | None
    short_bytes: int | None
    reserved_bytes: int | None
    used_bytes: int
    idle_bytes: int | None
    largest_free_bytes: int | None
    is_exact: bool


class Fragmentation(msgspec.Struct, frozen=True):
    """The allocator's memory on a device at the time of the snapshot; a row of the view memory_fragmentation."""

    device: int
    pool: str | None
    kind: str | None
    segments: int
    reserved_bytes: int
    active_bytes: int
    rounding_bytes: int
    free_segments_bytes: int
    split_inactive_bytes: int
    largest_free_bytes: int


class Memory(msgspec.Struct, frozen=True):
    """Memory in use, and allocator calls; `calls` are the --top longest, `holders` the --top of each device.

    `snapshot` and the fields after it are filled from a memory snapshot; `marks` are at most 30 steps.
    """

    peaks: tuple[MemoryPeak, ...]
    timeline: tuple[MemoryPart, ...]
    calls: tuple[AllocatorCall, ...]
    layers: tuple[MemoryLayer, ...] = ()
    marks: tuple[StepStart, ...] = ()
    event_holders: tuple[EventHolder, ...] = ()
    snapshot: tuple[SnapshotPeak, ...] = ()
    course: tuple[MemoryPart, ...] = ()
    snapshot_layers: tuple[MemoryLayer, ...] = ()
    categories: tuple[MemoryCategory, ...] = ()
    holders: tuple[MemoryHolder, ...] = ()
    fragmentation: tuple[Fragmentation, ...] = ()
    failures: tuple[MemoryFailure, ...] = ()
    failure_holders: tuple[MemoryHolder, ...] = ()


class ServingSummary(msgspec.Struct, frozen=True):
    """All steps of a server; `dialects` names the servers that write such annotations, None without steps.

    Rates are per second of `dur_ns`. `earlier_work_ns` is how long the GPU first works on launches from before the
    capture, None if nothing shows such work.
    """

    dialects: str | None = None
    steps: int = 0
    dur_ns: int = 0
    prefill_steps: int = 0
    decode_steps: int = 0
    mixed_steps: int = 0
    token_p50_ns: float | None = None
    token_p95_ns: float | None = None
    token_p99_ns: float | None = None
    new_tokens_per_second: float | None = None
    output_tokens_per_second: float | None = None
    host_gap_ns: int | None = None
    gpu_gap_ns: int | None = None
    earlier_work_ns: int | None = None


class ServingBatch(msgspec.Struct, frozen=True):
    """Steps of a server of one kind, with least_requests to most_requests requests; percentiles of durations, ns."""

    dialect: str
    kind: str | None
    least_requests: int | None
    most_requests: int | None
    steps: int
    dur_ns: int
    p50_ns: float
    p95_ns: float
    p99_ns: float
    token_p50_ns: float | None
    token_p95_ns: float | None
    token_p99_ns: float | None
    new_tokens_per_second: float | None
    output_tokens_per_second: float | None
    gpu_busy_share: float | None
    host_gap_p50_ns: float | None
    gpu_gap_p50_ns: float | None


class ServingStall(msgspec.Struct, frozen=True):
    """Waits of decoding requests for prompts of others: in steps of prompts only (cause prefill) or in mixed steps (mixed)."""

    cause: str
    stalls: int
    dur_ns: int
    longest_ns: int
    longest_step: int
    most_waiting_requests: int


class ServingRoofline(msgspec.Struct, frozen=True):
    """The least time of decode steps, in which weights and KV cache are read; medians.

    `reason` says why it is unknown.
    """

    reason: str | None
    steps: int
    p50_ns: float
    least_p50_ns: float | None
    roofline_share: float | None
    weight_bytes: int | None
    steps_with_kv: int


class Serving(msgspec.Struct, frozen=True):
    """The steps of a model server: summary, batches, stalls and roofline."""

    summary: ServingSummary
    batches: tuple[ServingBatch, ...]
    stalls: tuple[ServingStall, ...]
    roofline: tuple[ServingRoofline, ...]


class Topics(msgspec.Struct, frozen=True):
    """The data of a report on each topic."""

    critical_path: PathTopic
    copies: Copies
    communication: CommunicationTopic
    kernels: Kernels
    data: Data
    memory: Memory
    serving: Serving
