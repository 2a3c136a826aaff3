"""The report on records of collectives as plain data. Times in ns, bandwidths in GB/s, sizes in bytes."""

from __future__ import annotations

import msgspec


class Summary(msgspec.Struct, frozen=True):
    """The numbers of files, processes and records, and of those that belong together.

    `first_utc_ns` and `last_utc_ns` are when the first and last were made (ns since 1970; None when no record says), `dropped`
    and `damaged` the number of records that are lacking, `sources` the clocks of their durations (kernel_gpu, ...).
    """

    files: int
    processes: int
    hosts: int | None
    communicators: int
    complete: int
    records: int
    repeated: int
    matched: int
    dur_ns: int
    transfer_ns: int
    wait_ns: int
    first_utc_ns: int | None
    last_utc_ns: int | None
    only_dump_times: bool
    dropped: int
    damaged: int
    sources: tuple[str, ...]


class CollectiveCost(msgspec.Struct, frozen=True):
    """Operations of one kind, size and group: a row of inspected_cost, with what inspected_drift says of it."""

    op: str
    message_bytes: int
    group_size: int | None
    nodes: int | None
    groups: int
    records: int
    dur_ns: int
    share: float
    wait_ns: int | None
    matched: int
    dur_low_ns: float
    dur_median_ns: float
    dur_high_ns: float
    is_with_waiting: bool
    bus_low: float | None
    bus_median: float | None
    bus_high: float | None
    change: float | None
    dip: float | None
    periods: tuple[float, ...]


class SlowLink(msgspec.Struct, frozen=True):
    """A place of the network that explains slow links: a row of slow_link, with names for people.

    `ranks` are the ranks of its communicator, `share_since` the share of the record after which it is slow; None where it was
    from the beginning.
    """

    kind: str
    name: str
    peer_name: str | None
    host: str | None
    communicator: str | None
    ranks: tuple[str, ...]
    level: str
    slow: int
    links: int
    ratio: float
    bandwidth: float
    usual_bandwidth: float
    since_utc_ns: int | None
    share_since: float | None
    chance: float


class LateRank(msgspec.Struct, frozen=True):
    """A process that clearly came last to operations that others waited in; `late_by_ns` is the median of its delays.

    `is_on_slow_link` is whether a slow link is its own, or that of its group: then it comes late because of the link.
    """

    name: str
    host: str | None
    last_count: int
    matched: int
    awaited_ns: int
    late_by_ns: int | None
    is_on_slow_link: bool


class LinkFamily(msgspec.Struct, frozen=True):
    """The number of links of a kind that were compared: pairs or groups, within a host or between hosts."""

    kind: str
    level: str
    links: int
    slow: int


class SampleCost(msgspec.Struct, frozen=True):
    """Means told to Prometheus, of one kind, class of sizes and group: a row of inspected_sample_cost."""

    op: str
    size_low: int
    size_high: int
    group_size: int | None
    nodes: int | None
    samples: int
    gpus: int
    dur_median_ns: float | None
    bus_low: float | None
    bus_median: float | None
    bus_high: float | None


class CollectivesReport(msgspec.Struct, frozen=True):
    """The report on records of collectives: by kind, size and group; slow links; and ranks that come late.

    `no_links` and `no_late` say why slow links or late ranks cannot be told; None where they can. `notes` are on the files.
    """

    summary: Summary
    costs: tuple[CollectiveCost, ...]
    families: tuple[LinkFamily, ...]
    slow_links: tuple[SlowLink, ...]
    late_ranks: tuple[LateRank, ...]
    samples: tuple[SampleCost, ...]
    no_links: str | None
    no_late: str | None
    notes: tuple[str, ...]
