"""Along which axis of parallelism a process group runs: as given, by its name, by its ranks, and by what goes through it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.analysis.communication.mesh import (
    MeshAxis,
    ProcessGroup,
    Traffic,
    axis_of_members,
    axis_of_size,
    axis_of_traffic,
    axis_of_words,
    check_mesh,
    find_axes,
    read_mesh,
    stride_of,
    strides_of,
)
from traceq.errors import WrongUse

MESH = read_mesh("tp=2,cp=2,dp=3,pp=2")


def test_a_mesh_is_read_fastest_varying_first():
    assert read_mesh(" tp=8, dp=4") == (MeshAxis("tp", 8), MeshAxis("dp", 4))
    assert strides_of(read_mesh("tp=8,dp=4,pp=2")) == {"tp": 1, "dp": 8, "pp": 32}


@pytest.mark.parametrize("text", ["", "tp", "tp=0", "tp=8;dp=4", "tp=8,", "8=tp", "TP=8", "tp=-1", "tp=8,tp=2"])
def test_what_is_no_mesh_is_refused(text):
    with pytest.raises(WrongUse, match="--axes"):
        read_mesh(text)


def test_a_mesh_has_as_many_ranks_as_the_job():
    check_mesh(read_mesh("tp=8,dp=4"), 32)
    check_mesh(read_mesh("tp=8"), None)
    check_mesh((), 8)
    with pytest.raises(WrongUse, match=r"tp=8,dp=4: that is 32 ranks, and the trace says 64"):
        check_mesh(read_mesh("tp=8,dp=4"), 64)


@pytest.mark.parametrize(
    ("ranks", "axis"),
    [
        ((0, 1), "tp"),
        ((0, 2), "cp"),
        ((1, 5, 9), "dp"),
        ((0, 12), "pp"),
        ((0, 1, 2, 3), "tp+cp"),
        (range(24), "world"),
        # half of an axis, a stranger, one rank: along nothing as a whole
        ((0, 4), None),
        ((0, 3), None),
        ((0,), None),
    ],
)
def test_members_tell_the_axis_of_a_given_mesh(ranks, axis):
    assert axis_of_members(MESH, ranks) == axis


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_every_line_of_a_mesh_is_its_axis(sizes, data):
    mesh = tuple(MeshAxis(f"a{place}", size) for place, size in enumerate(sizes))
    strides = strides_of(mesh)
    places = {
        sum(place * strides[axis.name] for place, axis in zip(where, mesh, strict=True)): where
        for where in product(*(range(axis.size) for axis in mesh))
    }
    number = data.draw(st.integers(0, len(mesh) - 1))
    origin = places[data.draw(st.sampled_from(sorted(places)))]
    line = [
        rank for rank, where in places.items() if all(where[n] == origin[n] for n in range(len(mesh)) if n != number)
    ]
    several = [axis.name for axis in mesh if axis.size > 1]
    # a line of a single rank is no group; one axis is called by its name, also where it is the whole job
    assert axis_of_members(mesh, line) == (mesh[number].name if mesh[number].name in several else None)


def test_a_size_tells_the_axis_only_where_one_has_it():
    assert axis_of_size(MESH, 3) == "dp"
    assert axis_of_size(MESH, 2) is None
    assert axis_of_size(MESH, 24) == "world"
    assert axis_of_size(read_mesh("tp=8,dp=1"), 8) == "tp"


@pytest.mark.parametrize(
    ("words", "axis"),
    [
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
        ("DATA_PARALLEL_GROUP", "dp"),
        ("DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("CONTEXT_PARALLEL_GROUP", "cp"),
        ("MODEL_PARALLEL_GROUP", "tp+pp"),
        ("TENSOR_AND_CONTEXT_PARALLEL_GROUP", "tp+cp"),
        ("TENSOR_AND_DATA_PARALLEL_GROUP", "tp+dp"),
        ("EMBEDDING_GROUP", "pp"),
        ("EXPERT_MODEL_PARALLEL_GROUP", "ep"),
        ("EXPERT_TENSOR_PARALLEL_GROUP", "tp"),
        ("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", "tp+ep"),
        ("EXPERT_DATA_PARALLEL_GROUP", "dp"),
        ("mesh_tp", "tp"),
        ("mesh_dp_shard", "dp"),
        ("mesh_dp_replicate", "dp"),
        ("mesh_dp_shard_cp", "dp"),
        ("mesh_pp", "pp"),
        ("mesh_ep", "ep"),
        ("mesh_cp", "cp"),
        ("fsdp", "dp"),
        ("default_pg", None),
        ("mesh_dim_0", None),
        ("undefined", None),
        ("93825114103440", None),
        ("0x7f2a", None),
        ("dp3", "dp"),
        ("copies of stage 2", "dp"),
        ("forward from stage 0 of copy 1", None),
        (None, None),
    ],
)
def test_words_tell_the_axis(words, axis):
    assert axis_of_words(words) == axis


def reduces(count=16, steps=1, **more):
    return Traffic("all_reduce", count, steps, **more)


@pytest.mark.parametrize(
    ("traffic", "axis"),
    [
        # Megatron: one after each layer of the forward pass; gradients: of the backward pass
        ([reduces(phased=16, forward=8)], "tp"),
        ([reduces(phased=16)], "dp"),
        # phases unknown: many from the first layers on and none hidden
        ([reduces(early=5)], "tp"),
        ([reduces(early=5, hidden=0.8)], None),
        ([reduces(count=4, early=2)], None),
        ([reduces()], None),
        # words around the launch
        ([reduces(count=1, tensor=1)], "tp"),
        ([reduces(data=16, phased=16, forward=8)], "dp"),
        # FSDP reduces in the backward pass only, sequence parallelism in both
        ([Traffic("all_gather", 8, 1, 8, 4), Traffic("reduce_scatter", 4, 1, 4)], "dp"),
        ([Traffic("all_gather", 8, 1, 8, 4), Traffic("reduce_scatter", 8, 1, 8, 4)], "tp"),
        ([Traffic("all_gather", 8, 1)], None),
        ([Traffic("send", 4, 1), Traffic("recv", 4, 1)], "pp"),
        ([Traffic("send_recv", 4, 1, context=3)], "cp"),
        ([Traffic("all_to_all", 4, 1, experts=4)], "ep"),
        ([Traffic("all_to_all", 4, 1, context=4)], "cp"),
        # embeddings of a recommender exchange as well
        ([Traffic("all_to_all", 4, 1)], None),
        ([Traffic("broadcast", 4, 1)], None),
        ([], None),
    ],
)
def test_traffic_tells_the_axis(traffic, axis):
    assert axis_of_traffic(traffic) == axis


def group(name, ranks=None, *traffic, described=None, size=None):
    return ProcessGroup(name, described, size or (len(ranks) if ranks else None), ranks, traffic)


def found(groups, world, mesh=()):
    return [tuple(each) for each in find_axes(groups, world, mesh)]


def test_what_is_given_comes_before_descriptions_and_these_before_traffic():
    groups = [group("7", (0, 1), reduces(phased=16, forward=8), described="DATA_PARALLEL_GROUP")]
    assert found(groups, 4, read_mesh("cp=2,dp=2")) == [("cp", "given", 1)]
    assert found(groups, 4) == [("dp", "description", 1)]
    assert found([group("7", (0, 1), reduces(phased=16, forward=8))], 4) == [("tp", "mesh", 1)]
    assert found([group("7", (0, 1), reduces(phased=16, forward=8))], 2) == [("tp", "inferred", 1)]
    assert found([group("7", None, reduces(phased=16, forward=8), size=2)], 4) == [("tp", "inferred", None)]


def test_a_group_of_all_ranks_beside_smaller_ones_is_the_world():
    groups = [group("1", (0, 1), reduces(phased=16, forward=8)), group("0", (0, 1, 2, 3), Traffic("barrier", 1, 1))]
    assert found(groups, 4) == [("tp", "mesh", 1), ("world", "mesh", 1)]
    assert found(groups[1:], 4) == [(None, None, 1)]


def test_ranks_further_apart_than_tensor_parallel_ones_are_data_parallel():
    near, far = group("1", (0, 1), reduces(phased=16, forward=8)), group("2", (0, 2), reduces())
    assert found([near, far], 4) == [("tp", "mesh", 1), ("dp", "mesh", 2)]
    assert found([far], 4) == [(None, None, 2)]
    # unless an exchange of tokens goes through them
    assert found([near, group("2", (0, 2), reduces(), Traffic("all_to_all", 2, 1))], 4)[1] == (None, None, 2)


def test_neighbours_within_data_parallel_ranks_are_tensor_parallel():
    groups = [group("1", (0, 1), reduces()), group("2", (0, 2), reduces(), described="mesh_dp")]
    assert found(groups, 4) == [("tp", "mesh", 1), ("dp", "description", 2)]


@pytest.mark.parametrize(
    ("ranks", "stride"), [((0, 1, 2), 1), ((3, 11, 19), 8), ((0, 1, 3), None), ((4,), None), ((), None), ((1, 0), None)]
)
def test_strides(ranks, stride):
    assert stride_of(ranks) == stride
