"""What a trace tells of its process groups, and the time by axis."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder

from traceq.errors import WrongUse

ANALYSES = ("time_ledger", "launch_state", "collective_slice", "process_group")
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
QUERY = "select group_name, description, group_size, ranks, stride, axis, axis_source, is_only from process_group order by all"


def config(*groups):
    """trace.args of a trace whose process groups are (name, description, ranks)."""
    listed = [
        {"pg_name": name, "pg_desc": words, "backend_config": "cuda:nccl", "pg_size": len(ranks), "ranks": ranks}
        for name, words, ranks in groups
    ]
    return json.dumps({"pg_config": listed})


def trace(*groups, world=None, args=None, times=2):
    """A step with `times` all-reduces of 10 us in each of the groups named, 5 us of it beside compute in the first one."""
    made = TraceBuilder()
    made.add("trace", producer="tests", world_size=world, args=args)
    made.annotation("ProfilerStep#1", 0, 200_000)
    made.kernel("gemm", 5_000, 10_000, launched=(10, 5))
    ts = 10_000
    for name in groups:
        for _ in range(times):
            reduce = made.kernel(REDUCE, ts, 10_000, launched=(100 + ts, 5), stream=20)
            if name is not None:
                made.add("collective", slice_id=reduce, op="allreduce", bytes=1024, group_name=name, group_size=2)
            ts += 20_000
    return made


def test_listed_groups_and_their_descriptions():
    args = config(
        ("0", "default_pg", [0, 1, 2, 3]), ("1", "TENSOR_MODEL_PARALLEL_GROUP", [0, 1]), ("2", "mesh_dp", [0, 2])
    )
    made = trace("1", "2", world=4, args=args).fill(*ANALYSES)
    assert made.text(QUERY) == (
        "0 - 4 [0, 1, 2, 3] 1 world mesh False\n"
        "1 TENSOR_MODEL_PARALLEL_GROUP 2 [0, 1] 1 tp description False\n"
        "2 mesh_dp 2 [0, 2] 2 dp description False"
    )


def test_collectives_without_a_group_are_in_the_only_one():
    args = config(("0", "default_pg", [0]), ("1", "mesh_dp", [0, 1]))
    made = trace(None, world=2, args=args).fill(*ANALYSES)
    assert made.text("select group_name, axis, is_only from process_group order by all") == "0 - False\n1 dp True"
    assert made.text("select distinct group_name, axis from collective_axis") == "1 dp"


def test_of_several_groups_none_is_taken():
    args = config(("1", "mesh_tp", [0, 1]), ("2", "mesh_dp", [0, 2]))
    made = trace(None, world=4, args=args).fill(*ANALYSES)
    assert made.text("select distinct group_name, axis, axis_source from collective_axis") == "- - -"
    assert made.text("select axis, collectives, dur, groups from axis_time") == "- 2 20000 0"


def test_without_a_list_groups_are_those_of_the_collectives():
    made = trace("7", world=2).fill(*ANALYSES)
    assert made.text(QUERY) == "7 - 2 - - - - True"


def test_time_by_axis():
    made = trace("1", "2", world=4, args=config(("1", "mesh_tp", [0, 1]), ("2", "mesh_dp", [0, 2]))).fill(*ANALYSES)
    assert made.text(
        "select axis, groups, collectives, bytes, dur, exposed, told, wait from axis_time order by axis"
    ) == ("dp 1 2 2048 20000 20000 0 -\ntp 1 2 2048 20000 15000 0 -")


@pytest.mark.parametrize(
    "args",
    ["[]", '{"pg_config": 3}', '{"pg_config": [3, {}, {"pg_name": "7", "ranks": [[1]]}]}', '{"pg_config": null}'],
)
def test_lists_of_groups_that_cannot_be_read_are_as_none(args):
    assert trace("7", world=2, args=args).fill(*ANALYSES).text("select group_name, ranks from process_group") == "7 -"


def test_groups_on_the_host_carry_nothing():
    entry = {
        "pg_name": "5",
        "pg_desc": "mesh_tp",
        "backend_config": "cpu:gloo,cuda:gloo",
        "pg_size": 2,
        "ranks": [0, 1],
    }
    made = trace(None, world=2, args=json.dumps({"pg_config": [entry]})).fill(*ANALYSES)
    assert made.rows(QUERY) == []


def test_given_axes():
    made = trace("7", world=4, args=config(("7", "undefined", [0, 2]))).fill(*ANALYSES, axes="tp=2,dp=2")
    assert made.text(QUERY) == "7 - 2 [0, 2] 2 dp given True"
    assert made.text("select place, axis, size, stride from mesh_axis order by all") == "0 tp 2 1\n1 dp 2 2"
    with pytest.raises(WrongUse, match="--axes tp=8: that is 8 ranks, and the trace says 4"):
        trace("7", world=4).fill(*ANALYSES, axes="tp=8")
