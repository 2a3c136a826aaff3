"""graph_launch, graph_kernel and graph_operator: which captured graph a launch replays, and what its kernels are of."""

from __future__ import annotations

import pytest
from handmade_graphs import World, build_layer

KERNELS = "select place, matched_by, operator, shapes from graph_kernel order by slice_id"
LAUNCHES = (
    "select kernels, matched_kernels, share, matched_by, captured_graph, candidates, reason from graph_launch"
    " order by launch_id"
)
LAYER = ("gemm", "add", "add")


def test_kernels_of_a_replayed_graph_have_the_operators_that_launched_them_when_it_was_captured():
    trace = World().replay(*LAYER).beside(World().capture(build_layer(8), "capture_8_FULL"))
    assert (
        trace.text(KERNELS)
        == """\
0 order aten::mm [[8,64],[64,32]]
1 order aten::add [[8,32],[8,32]]
2 order aten::add [[8,32],[8,32]]"""
    )
    assert trace.text("select kernels, dur, matched_kernels, matched_dur, share, capture from graph_launch") == (
        "3 15 3 15 1.0 capture_8_FULL"
    )
    # both additions are of one operator
    assert trace.text(
        "select o.name, count(*) from graph_operator as o join graph_kernel as k on o.slice_id = k.operator_id"
        " group by all order by 1"
    ) == ("aten::add 2\naten::mm 1")


def test_ids_of_operators_are_those_of_no_other_slice():
    trace = World().replay(*LAYER).replay(*LAYER).beside(World().capture(build_layer(8)))
    ids = trace.rows("select slice_id from cpu_slice union all from (select slice_id from gpu_slice)")
    mine = trace.rows("select slice_id from graph_operator")
    assert len(mine) == len(set(mine)) == 4
    assert not set(mine) & set(ids)


def test_operators_around_the_operator_come_along():
    capture = World().capture(build_layer(8))
    capture.trace.op("aten::linear", 10, 8)
    capture.trace.op("mine::layer", 10, 100)
    trace = World().replay(*LAYER).beside(capture)
    assert (
        trace.text(
            "select o.name, p.name from graph_operator as o left join graph_operator as p on p.slice_id = o.operator_id"
            " order by o.slice_id"
        )
        == "aten::mm aten::linear\naten::add mine::layer\naten::linear mine::layer\nmine::layer -"
    )


def test_of_captured_graphs_of_several_batch_sizes_the_one_with_the_same_kernels_is_taken():
    sizes = (
        World()
        .capture(build_layer(8, "gemm_8"))
        .capture(build_layer(16, "gemm_16"))
        .capture(build_layer(32, "gemm_32"))
    )
    trace = World().replay("gemm_16", "add", "add").replay("gemm_8", "add", "add").beside(sizes)
    assert trace.text(LAUNCHES) == "3 3 1.0 order 1 1 -\n3 3 1.0 order 0 1 -"
    assert trace.text("select shapes from graph_kernel where place = 0 order by slice_id") == (
        "[[16,64],[64,32]]\n[[8,64],[64,32]]"
    )


def test_what_graphs_of_several_sizes_with_the_same_kernels_differ_in_is_left_open():
    trace = World().replay(*LAYER).beside(World().capture(build_layer(8)).capture(build_layer(16)))
    assert trace.text(LAUNCHES) == "3 3 1.0 order 0 2 -"
    assert trace.text(KERNELS) == "0 order - -\n1 order - -\n2 order - -"


def test_the_annotations_of_a_server_tell_the_size():
    """12 tokens are padded to 16."""
    sizes = World().capture(build_layer(32), "capture_32_FULL").capture(build_layer(16), "capture_16_FULL")
    sizes.capture(build_layer(8), "capture_8_FULL")
    replayed = World().replay(*LAYER)
    replayed.trace.annotation("step[DECODE bs=12]", 0, 1000)
    trace = replayed.beside(sizes)
    assert trace.text(LAUNCHES) == "3 3 1.0 order 1 1 -"
    assert trace.text("select distinct shapes from graph_kernel where place = 0") == "[[16,64],[64,32]]"


def test_the_layer_of_pieces_with_the_same_kernels_follows_from_their_order():
    """A model of four pieces, of which three have the same kernels: their launches follow one another as their captures do."""
    capture = World().capture([("aten::embedding", [[8]], ["embed"])])
    for _ in range(3):
        capture.capture(build_layer(8))
    for number in range(3):
        capture.trace.cpu("python", f"nn.Module: Layer_{number}", 32 + 42 * number, 40)
    step = ["embed"], LAYER, LAYER, LAYER
    replayed = World()
    for kernels in step + step:
        replayed.replay(*kernels)
    trace = replayed.beside(capture)
    assert trace.text("select captured_graph, candidates from graph_launch order by launch_id") == "\n".join(
        ["0 1", "1 3", "2 3", "3 3"] * 2
    )
    assert trace.text(
        "select k.module from graph_kernel as k where place = 0 and operator = 'aten::mm' order by slice_id"
    ) == "\n".join(["Layer_0", "Layer_1", "Layer_2"] * 2)


def test_kernels_that_run_in_another_order_are_known_by_their_names():
    """Two branches of a graph: what was captured first may run last."""
    calls = [("aten::mm", [[8, 64], [64, 32]], [f"gemm_{number}" for number in range(10)]), *build_layer(8, "late")]
    order = [*(f"gemm_{number}" for number in range(10)), "add", "add", "late"]
    trace = World().replay(*order).beside(World().capture(calls))
    assert trace.text("select matched_by, count(*) from graph_kernel group by all order by 1") == "name 1\norder 12"
    assert trace.text("select place, matched_by, operator from graph_kernel order by slice_id desc limit 1") == (
        "10 name aten::mm"
    )


def test_where_one_kernel_of_many_differs_the_others_are_known():
    calls = [("aten::mm", [[8, 64], [64, 32]], [f"gemm_{number}" for number in range(11)])]
    replayed = [f"gemm_{number}" for number in range(11)]
    replayed[5] = "tuned"
    trace = World().replay(*replayed).beside(World().capture(calls))
    assert trace.text("select kernels, matched_kernels, round(share, 3) from graph_launch") == "11 10 0.909"
    assert trace.text("select place, operator from graph_kernel order by slice_id limit 2 offset 4") == (
        "4 aten::mm\n- -"
    )


def test_a_graph_of_other_kernels_is_refused():
    """A product of another batch size is another kernel: one of three."""
    trace = World().replay(*LAYER).beside(World().capture(build_layer(16, "gemm_16")))
    assert trace.text("select matched_kernels, matched_by, round(share, 2), reason from graph_launch") == (
        "0 - 0.67 no captured graph has enough of their kernels in the same order"
    )
    assert trace.text("select distinct place, operator from graph_kernel") == "- -"


def test_a_capture_of_another_program_tells_nothing():
    trace = World().replay(*LAYER).beside(World().capture([("aten::mm", [[1, 1]], ["a", "b", "c", "d"])]))
    assert trace.text("select share, candidates, reason from graph_launch") == (
        "0.0 0 the capture has no matching sequence of kernels"
    )


def test_a_trace_that_captures_its_graphs_itself_needs_no_other():
    trace = World().capture(build_layer(8)).replay(*LAYER).beside()
    assert (
        trace.text("select operator, count(*) from graph_kernel group by all order by 1") == "aten::add 2\naten::mm 1"
    )


def test_without_any_capture_there_are_no_rows():
    trace = World().replay(*LAYER).beside()
    assert trace.rows("from graph_launch") == trace.rows("from graph_kernel") == []


def test_a_run_without_graphs_tells_the_operators_too():
    """The kernels of a step stand in a longer sequence; here twice, with the same shapes."""
    eager = World().run([("aten::zeros", [[4]], ["fill"])])
    for _ in range(2):
        eager.run(build_layer(8)).run(build_layer(8, "other")).run([("aten::sum", [[8]], ["sum"])])
    trace = World().replay(*LAYER, "other", "add", "add").beside(eager)
    assert trace.text(
        "select kernels, matched_kernels, share, matched_by, captured_graph, candidates from graph_launch"
    ) == ("6 6 1.0 order - 2")
    assert trace.text("select operator, shapes from graph_kernel order by slice_id limit 1") == (
        "aten::mm [[8,64],[64,32]]"
    )


@pytest.mark.parametrize(("grid", "told"), [(8, "aten::mm [[8,64],[64,32]]"), (32, "- -")])
def test_grids_tell_the_size_of_what_ran_without_graphs(grid, told):
    eager = World().run(build_layer(8), grid_x=8).run(build_layer(16), grid_x=16)
    trace = World().replay(*((name, {"grid_x": grid}) for name in LAYER)).beside(eager)
    assert trace.text("select operator, shapes from graph_kernel order by slice_id limit 1") == told
    if told == "- -":
        assert trace.text("select reason from graph_launch") == (
            "their kernels have different grids from those captured, so they are of another size"
        )


def test_nodes_tell_what_order_does_not():
    """The capture replays its graph once, by which the nodes are known; later two equal kernels run in another order."""
    calls = [("aten::mul", [[8]], ["first"]), *build_layer(8), ("aten::neg", [[8]], ["add"])]
    nodes = [{"graph_node_id": 70 + number} for number in range(5)]
    names = ("first", *LAYER, "add")
    capture = World().capture(calls).replay(*zip(names, nodes, strict=True))
    swapped = [nodes[0], nodes[1], nodes[4], nodes[3], nodes[2]]
    trace = World().replay(*zip(names, swapped, strict=True)).beside(capture)
    assert (
        trace.text("select place, matched_by, operator from graph_kernel order by slice_id")
        == """\
0 node id aten::mul
1 node id aten::mm
4 node id aten::neg
3 node id aten::add
2 node id aten::add"""
    )


def test_nodes_of_another_program_are_not_believed():
    nodes = [{"graph_node_id": 70 + number} for number in range(3)]
    capture = World().capture(build_layer(8)).replay(*zip(LAYER, nodes, strict=True))
    trace = World().replay(*zip(("x", "y", "z"), nodes, strict=True)).beside(capture)
    assert trace.text("select matched_by, share from graph_launch") == "- 0.0"


def test_nodes_that_nsys_saw_made_tell_their_calls():
    """A graph is instantiated as a copy: its nodes are copies of those that were captured."""
    capture = World().capture(build_layer(8), named=False)
    for number, ts in enumerate((11, 20, 24)):
        capture.trace.add("graph_node", pid=1, graph_node_id=1 + number, original_node_id=None, thread_id=0, ts=ts)
        capture.trace.add(
            "graph_node", pid=1, graph_node_id=11 + number, original_node_id=1 + number, thread_id=0, ts=90
        )
    kernels = [(name, {"graph_node_id": node}) for name, node in zip(LAYER, (11, 13, 12), strict=True)]
    trace = World().replay(*kernels).beside(capture)
    assert trace.text("select place, matched_by, operator from graph_kernel order by slice_id") == (
        "0 node id aten::mm\n2 node id aten::add\n1 node id aten::add"
    )


def test_a_capture_without_names_of_kernels_is_matched_by_their_number():
    trace = World().replay(*LAYER).beside(World().capture(build_layer(8), named=False))
    assert trace.text(KERNELS).splitlines()[0] == "0 count aten::mm [[8,64],[64,32]]"


def test_by_number_alone_nothing_is_told_of_kernels_on_several_streams():
    kernels = [(name, {"stream": number}) for number, name in enumerate(LAYER)]
    trace = World().replay(*kernels).beside(World().capture(build_layer(8), named=False))
    assert trace.text("select matched_by, share from graph_launch") == "- 0.0"


def test_several_captures_are_taken_together():
    trace = (
        World()
        .replay(*LAYER)
        .replay("gemm_16", "add", "add")
        .beside(World().capture(build_layer(16, "gemm_16")), World().capture(build_layer(8)))
    )
    assert trace.text("select captured_graph from graph_launch order by launch_id") == "1\n0"


def test_kernels_that_run_during_a_capture_are_not_captured():
    """Another thread of the process launches meanwhile."""
    capture = World().capture(build_layer(8))
    capture.trace.kernel("other", 200, 5, launched=(21, 1), thread=1)
    assert World().replay(*LAYER).beside(capture).text(LAUNCHES) == "3 3 1.0 order 0 1 -"


def test_costs_and_modules_of_a_graph_are_those_of_its_capture():
    """Three steps launch it; the module was called once, when it was captured."""
    world = World().capture(build_layer(8))
    world.trace.cpu("python", "nn.Module: Layer_0", 8, 25)
    for number in range(3):
        first = world._at
        world.replay(*LAYER)
        world.trace.annotation(f"ProfilerStep#{number}", first, world._at - first)
    trace = world.trace.fill_all()
    assert trace.text(
        "select step, kind, flops, kernels, gpu_dur from operator_cost where kernels > 0 order by all"
    ) == ("\n".join(f"{number} {rest}" for number in range(3) for rest in ("elementwise - 2 10", "matmul 32768 1 5")))
    assert trace.text("select module, forward_dur, flops from module") == f"Layer_0 45.0 {3 * 32768.0}"
