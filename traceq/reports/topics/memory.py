"""Memory of GPUs: peaks, layers, and the allocator's history."""

from __future__ import annotations

import msgspec


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
