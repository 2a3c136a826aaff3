from __future__ import annotations

from labelled.cases.slow_storage import loop
from labelled.monitors import host

TIMES = range(-100_000, 4_300_000, 100_000)


def found(trace):
    """A disk that has requests all of the time while input is fetched; what the fetch does is not in the trace."""
    loop(trace, [])
    host(trace, TIMES, "nvme0n1", disk_utilization=100, disk_queue=32, disk_read=450e6)


def found_in_reads(trace):
    """The same where calls that read are in the trace."""
    loop(trace, [("openat", 1_000, 50_000), ("read", 60_000, 300_000)])
    host(trace, TIMES, "sda", disk_utilization=99.6)


def clean_otherwise(trace):
    """The disk is saturated while the GPU computes: a checkpoint is written beside training."""
    loop(trace, [])
    host(trace, TIMES, "sda", disk_utilization=lambda ts: 100 if 0.5e6 < ts % 1_000_000 <= 0.9e6 else 3, disk_queue=8)


def clean_busy(trace):
    """An SSD that always has a request, and seldom two: that is far from its limit."""
    loop(trace, [])
    host(trace, TIMES, "nvme0n1", disk_utilization=98, disk_queue=0.4, disk_read=100e6)


def clean(trace):
    loop(trace, [])
    host(trace, TIMES, "nvme0n1", disk_utilization=40, disk_queue=2)


def cannot_tell(trace):
    """No log."""
    loop(trace, [])
