"""Collectives, and the GPU time they leave exposed."""

from __future__ import annotations

import msgspec


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


class AxisTotal(msgspec.Struct, frozen=True):
    """Collectives along one axis of parallelism in counted steps, ns; `axis` is None for those whose axis nothing tells.

    `source` is what told it. Of `told` of them it is known how long they wait for other ranks: `transfer_ns` and `wait_ns`
    are of these, None without any.
    """

    axis: str | None
    source: str | None
    groups: int
    collectives: int
    bytes: int | None
    dur_ns: int
    exposed_ns: int
    told: int
    transfer_ns: int | None
    wait_ns: int | None


class CommunicationTopic(msgspec.Struct, frozen=True):
    """Communication on GPUs and on the host; `collectives` and `on_host` are the --top longest."""

    totals: tuple[CommunicationTotal, ...]
    blocking: tuple[Blocking, ...]
    collectives: tuple[Collective, ...]
    on_host: tuple[HostCollective, ...]
    axes: tuple[AxisTotal, ...] = ()
