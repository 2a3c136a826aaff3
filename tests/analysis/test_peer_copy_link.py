"""Copies between GPUs by ordered pair and size: against their link, and against other pairs."""

from __future__ import annotations

import pytest
from tables import empty_tables, insert

COPY = "trace_id slice_id device ts dur kind name copy_kind bytes src_device dst_device is_communication"
H100, RTX, MI300X = "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 3090", "AMD Instinct MI300X"
MIB = 1 << 20


def pairs(copies, name=H100, columns="src_device, dst_device, copies, bytes, dur, link, is_slow"):
    """Rows of the view, of copies (source, destination, bytes, ns) between four GPUs of this name."""
    connection = empty_tables()
    insert(connection, "device", "trace_id device name source", [(1, number, name, "trace") for number in range(4)])
    rows = [
        (1, number, source, 0, dur, "memcpy", "copy", "p2p", size, source, destination, False)
        for number, (source, destination, size, dur) in enumerate(copies)
    ]
    insert(connection, "gpu_slice", COPY, rows)
    return connection.execute(f"select {columns} from peer_copy_link order by all").fetchall()


def test_a_pair_with_half_the_speed_of_the_others_is_slow():
    fast = [(0, 1, 4 * MIB, 40_000), (1, 0, 4 * MIB, 44_000), (2, 3, 4 * MIB, 42_000)] * 3
    found = pairs([*fast, *[(3, 2, 4 * MIB, 90_000)] * 3])
    assert found == [
        (0, 1, 3, 12 * MIB, 120_000, "NVLink 4", False),
        (1, 0, 3, 12 * MIB, 132_000, "NVLink 4", False),
        (2, 3, 3, 12 * MIB, 126_000, "NVLink 4", False),
        (3, 2, 3, 12 * MIB, 270_000, "NVLink 4", True),
    ]


@pytest.mark.parametrize(
    "slow",
    [
        # too few of it
        [(3, 2, 4 * MIB, 90_000)] * 2,
        # latency, not the link
        [(3, 2, 4096, 90_000)] * 3,
        # no others of this size
        [(3, 2, 64 * MIB, 90_000_000)] * 3,
        [(3, 2, 4 * MIB, 79_000)] * 3,
    ],
)
def test_what_does_not_tell_is_not_called_slow(slow):
    found = pairs([(0, 1, 4 * MIB, 40_000)] * 3 + [(0, 1, 4096, 9_000)] * 3 + slow, columns="is_slow")
    assert not any(is_slow for (is_slow,) in found)


@pytest.mark.parametrize(
    ("name", "dur", "link", "bandwidth"),
    [
        (H100, 100_000, "NVLink 4", 450.0),
        (MI300X, 100_000, "xGMI", 64.0),
        # 42 GB/s are more than PCIe carries: there is a bridge
        (RTX, 100_000, "NVLink 3 bridge", 56.25),
        # 4.2 GB/s: over PCIe, or over a bridge
        (RTX, 1_000_000, None, None),
        ("NVIDIA L40", 1_000_000, "PCIe 4.0 x16", 31.5),
        ("GPU of tomorrow", 100_000, None, None),
    ],
)
def test_links(name, dur, link, bandwidth):
    ((found, rate),) = pairs([(0, 1, 4 * MIB, dur)], name, "link, link_bandwidth")
    assert (found, rate) == (link, None if bandwidth is None else pytest.approx(bandwidth, rel=0.03))


def test_copies_within_a_gpu_and_of_unknown_size_are_left_out():
    assert pairs([(0, 0, MIB, 10_000), (0, 1, None, 10_000), (0, 1, MIB, 0)]) == []
