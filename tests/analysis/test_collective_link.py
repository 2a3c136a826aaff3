"""Which link joins the ranks of a process group."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder

ANALYSES = ("time_ledger", "collective_slice", "collective_link")
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
H100, RTX, MI300X = "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 3090", "AMD Instinct MI300X"


def find_link(size, *, gpus=8, name=H100, ranks=None, world=None, devices=(0,)):
    """Return evidence, link and bandwidth of a group of `size` that communicates on `devices` of a machine."""
    trace = TraceBuilder()
    trace.add("trace", producer="tests", world_size=world)
    trace.annotation("ProfilerStep#1", 0, 400)
    for number in range(gpus):
        trace.add("device", device=number, name=name, source="trace")
    for number in devices:
        reduce = trace.kernel(ALL_REDUCE, 50, 250, launched=(10, 5), stream=20, device=number)
        trace.add(
            "collective",
            slice_id=reduce,
            op="allreduce",
            bytes=1024,
            group_name="0",
            group_size=size,
            args=ranks and json.dumps({"Process Group Ranks": ranks}),
        )
    trace.fill(*ANALYSES)
    return trace.rows("select evidence, link, bandwidth from collective_link where device = 0")


@pytest.mark.parametrize(
    ("evidence", "known"),
    [
        ("job_fits", {"world": 8}),
        ("ranks_of_one", {"world": 32, "ranks": list(range(8, 16))}),
        ("all_ranks_here", {"devices": range(8)}),
        (None, {"world": 16}),
        (None, {"world": 64, "ranks": list(range(0, 64, 8))}),
        (None, {"world": 32, "ranks": [8, 9]}),
        (None, {"world": 8, "gpus": 1}),
        (None, {}),
    ],
)
def test_a_group_lies_within_a_machine_where_the_trace_says_so(evidence, known):
    assert find_link(8, **known) == ([(evidence, "NVLink 4", 450.0)] if evidence else [])


@pytest.mark.parametrize(
    ("name", "size", "link", "bandwidth"),
    [
        (MI300X, 8, "xGMI", 448.0),
        (MI300X, 2, "xGMI", 64.0),
        # its bridge need not be there
        (RTX, 2, "PCIe 4.0 x16", 31.5),
    ],
)
def test_a_group_has_what_joins_its_members(name, size, link, bandwidth):
    assert find_link(size, name=name, world=size) == [("job_fits", link, pytest.approx(bandwidth, rel=0.03))]


def test_a_gpu_that_is_not_known_has_no_link():
    assert find_link(2, name="GPU of tomorrow", world=2) == []
