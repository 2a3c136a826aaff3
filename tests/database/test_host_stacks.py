"""Stacks of the host: what was open on a thread at a moment, around a slice, and where GPU work was launched."""

from __future__ import annotations

from contextlib import closing

import pytest
from tables import empty_tables, insert, insert_row

MAIN = "train.py(3): main"

# slice_id, thread, kind, name, ts, dur, depth, parent, line
CALLS = (
    (0, 0, "python", MAIN, 0, 100, 0, None, None),
    (1, 0, "python", "torch/nn/modules/linear.py(114): forward", 10, 20, 1, 0, 0),
    # Starts together with the call around it.
    (2, 0, "op", "aten::linear", 10, 20, 2, 1, 0),
    (3, 0, "runtime", "cudaLaunchKernel", 12, 3, 3, 2, 0),
    (4, 0, "runtime", "cudaGraphLaunch", 60, 10, 1, 0, 0),
    (5, 1, "os", "poll", 0, 40, 0, None, None),
    # Need not nest, and is no part of a stack.
    (6, 0, "annotation", "range", 5, 90, None, None, None),
)
INSIDE = f"{MAIN} > torch/nn/modules/linear.py(114): forward > aten::linear"


@pytest.fixture
def connection():
    with closing(empty_tables()) as connection:
        insert(connection, "cpu_slice", "slice_id thread_id kind name ts dur depth parent_id line_id", CALLS)
        yield connection


def insert_work(connection, slice_id, launch_id=None, **columns):
    given = {"device": 0, "kind": "kernel", "name": "gemm", "ts": 20, "dur": 5, "is_communication": False} | columns
    insert_row(connection, "gpu_slice", slice_id=slice_id, launch_id=launch_id, **given)


def insert_node(connection, node, **columns):
    insert_row(connection, "graph_node", pid=7, graph_node_id=node, **columns)


def ask(connection, query):
    return connection.execute(query).fetchall()


@pytest.mark.parametrize(
    ("thread", "ts", "innermost", "stack", "line"),
    [
        (0, 9, 0, MAIN, MAIN),
        (0, 10, 2, INSIDE, MAIN),
        (0, 12, 3, f"{INSIDE} > cudaLaunchKernel", MAIN),
        (0, 15, 2, INSIDE, MAIN),
        (0, 30, 0, MAIN, MAIN),
        (0, 100, None, None, None),
        (1, 39, 5, "poll", None),
        (2, 10, None, None, None),
        ("null::integer", 10, None, None, None),
    ],
)
def test_a_moment_has_the_stack_of_what_is_open(connection, thread, ts, innermost, stack, line):
    moments = f"moments as (select 1 as trace_id, {thread} as thread_id, {ts} as ts, 'kept' as note)"
    found = ask(connection, f"with {moments} select note, innermost_id, stack, line from stack_at('moments')")
    assert found == [("kept", innermost, stack, line)]


def test_moments_of_other_traces_have_nothing_of_this_one(connection):
    assert ask(
        connection, "with m as (select 2 as trace_id, 0 as thread_id, 12 as ts) select stack from stack_at('m')"
    ) == [(None,)]


def stacks_of(connection, *slices):
    connection.execute("create or replace temp table wanted (trace_id integer, slice_id bigint)")
    for slice_id in slices:
        connection.execute("insert into wanted values (1, ?)", [slice_id])
    query = "select slice_id, innermost_id, stack, line, is_captured from stack_of('wanted') order by slice_id"
    return ask(connection, query)


def test_a_call_of_the_host_has_the_calls_around_it(connection):
    assert stacks_of(connection, 0, 3, 6, 999) == [
        (0, 0, MAIN, MAIN, False),
        (3, 3, f"{INSIDE} > cudaLaunchKernel", MAIN, False),
        (6, 6, "range", None, False),
        (999, None, None, None, False),
    ]


def test_gpu_work_has_the_stack_of_its_launch(connection):
    insert_work(connection, 10, 3)
    insert_work(connection, 11)
    assert stacks_of(connection, 10, 11) == [
        (10, 3, f"{INSIDE} > cudaLaunchKernel", MAIN, False),
        (11, None, None, None, False),
    ]


def test_a_kernel_of_a_graph_has_the_stack_of_its_capture(connection):
    insert_work(connection, 10, 4, pid=7, graph_node_id=31)
    insert_work(connection, 11, 4, pid=7, graph_node_id=32)
    insert_work(connection, 12, 4, pid=8, graph_node_id=31)
    # Made ready to run from a copy of the captured graph.
    insert_node(connection, 31, original_node_id=21, thread_id=0, ts=55)
    insert_node(connection, 21, original_node_id=11, thread_id=0, ts=50)
    insert_node(connection, 11, thread_id=0, ts=13)
    # Captured before nsys recorded.
    insert_node(connection, 32, original_node_id=12, thread_id=0, ts=55)
    replayed = f"{MAIN} > cudaGraphLaunch"
    assert stacks_of(connection, 10, 11, 12) == [
        (10, 3, f"{INSIDE} > cudaLaunchKernel", MAIN, True),
        (11, 4, replayed, MAIN, False),
        (12, 4, replayed, MAIN, False),
    ]


def test_a_kernel_of_a_graph_has_the_line_of_a_capture_that_is_known_without_nodes(connection):
    insert_work(connection, 10, 4)
    insert_row(connection, "graph_kernel", slice_id=10, launch_id=4, line="net.py(8): forward")
    assert stacks_of(connection, 10) == [(10, 4, f"{MAIN} > cudaGraphLaunch", "net.py(8): forward", False)]


def test_the_innermost_call_has_its_backtrace(connection):
    insert(
        connection, "backtrace", "slice_id stack", [(3, "main > launch > cudaLaunchKernel"), (5, "main > read > poll")]
    )
    insert_work(connection, 10, 3)
    insert_work(connection, 11, 4, pid=7, graph_node_id=31)
    insert_node(connection, 31, thread_id=0, ts=13)
    insert(connection, "idle_gap", "gap_id device step ts dur thread_id cause", [(0, 0, 0, 20, 5, 1, "idle_os")])
    assert ask(connection, "select backtrace from gap_stack") == [("main > read > poll",)]
    with_trace = "with w as (select trace_id, slice_id from gpu_slice) select backtrace from stack_of('w')"
    assert ask(connection, with_trace) == 2 * [("main > launch > cudaLaunchKernel",)]
    assert ask(connection, "with w as (select 1 as trace_id, 2 as slice_id) select backtrace from stack_of('w')") == [
        (None,)
    ]


def test_the_same_slice_twice_has_two_rows(connection):
    assert [row[0] for row in stacks_of(connection, 3, 3)] == [3, 3]


def test_slices_around_each_other_have_an_end(connection):
    connection.execute("update cpu_slice set parent_id = 3 where slice_id = 0")
    assert stacks_of(connection, 3) == [(3, 3, f"{INSIDE} > cudaLaunchKernel", MAIN, False)]


def test_the_line_that_launched_gpu_work_is_known(connection):
    insert_work(connection, 10, 3)
    insert_work(connection, 11, 4)
    insert_work(connection, 12, 4)
    insert_work(connection, 13)
    insert_row(connection, "graph_kernel", slice_id=12, launch_id=4, line="net.py(8): forward")
    assert ask(connection, "select slice_id, line from launch_line order by slice_id") == [
        (10, MAIN),
        (11, MAIN),
        (12, "net.py(8): forward"),
        (13, None),
    ]


def test_a_gap_has_the_stack_of_the_slice_that_explains_it_or_of_its_begin(connection):
    # gap_id, ts, thread, slice
    gaps = ((0, 14, 0, None), (1, 40, 0, None), (2, 14, None, None), (3, 14, 0, 4), (4, 40, 1, 5))
    rows = [(gap, 0, 0, ts, 5, thread, "idle_python", cause) for gap, ts, thread, cause in gaps]
    insert(connection, "idle_gap", "gap_id device step ts dur thread_id cause cpu_slice_id", rows)
    assert ask(
        connection, "select gap_id, ts, dur, cause, innermost_id, stack, line from gap_stack order by gap_id"
    ) == [
        (0, 14, 5, "idle_python", 3, f"{INSIDE} > cudaLaunchKernel", MAIN),
        (1, 40, 5, "idle_python", 0, MAIN, MAIN),
        (2, 14, 5, "idle_python", None, None, None),
        (3, 14, 5, "idle_python", 4, f"{MAIN} > cudaGraphLaunch", MAIN),
        (4, 40, 5, "idle_python", 5, "poll", None),
    ]
