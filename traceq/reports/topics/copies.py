"""Copies and unified memory."""

from __future__ import annotations

import msgspec


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


class PeerCopy(msgspec.Struct, frozen=True):
    """Copies from one GPU to another of one size class, with their speed against the link's and that of other pairs (median).

    What is None is not known: the link of unknown GPUs, or other pairs with copies of this size. `is_slow` says that the pair has
    half of the others' speed, or less.
    """

    src_device: int
    dst_device: int
    size_class: str
    copies: int
    bytes: int
    dur_ns: int
    gb_per_s: float
    best_gb_per_s: float
    link: str | None
    link_gb_per_s: float | None
    other_gb_per_s: float | None
    is_slow: bool


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
    peers: tuple[PeerCopy, ...] = ()
