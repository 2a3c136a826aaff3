"""A stream that waits for an event behind a CUDA graph waits for the graph's last node, whatever their order in the file."""

from __future__ import annotations

import pytest
from builder import TraceBuilder


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_an_event_behind_a_graph_fires_with_its_last_node(order):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.call("cudaGraphLaunch", 5, 10, correlation=906)
    nodes = [(20, 80), (110, 90), (400, 100)]
    for node in order:
        trace.kernel(f"node {node}", *nodes[node], correlation_id=906)
    trace.call("cudaEventRecord", 20, 5, correlation=902)
    trace.call("cudaStreamWaitEvent", 30, 5, correlation=903)
    trace.add("cuda_event", slice_id=907, correlation_id=902, device=0, stream=7)
    trace.add(
        "synchronization",
        slice_id=908,
        kind="stream_wait_event",
        device=1,
        stream=7,
        ts=30,
        dur=5,
        wait_on_correlation_id=902,
    )
    trace.kernel("before", 50, 100, launched=(16, 2), device=1)
    trace.kernel("after", 520, 400, launched=(40, 10), device=1)
    trace.fill("time_ledger")
    assert trace.rows(
        "select w.finished, b.name, n.name from stream_wait as w"
        " join gpu_slice as b on b.slice_id = w.waited_for_id join gpu_slice as n on n.slice_id = w.next_slice_id"
    ) == [(500, "node 2", "after")]
    assert trace.rows("select cause from idle_gap where device = 1 and ts = 150") == [("idle_dependency",)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_waits_is_the_first_node_of_a_graph(order):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("awaited", 20, 480, launched=(5, 5), device=1)
    trace.call("cudaEventRecord", 20, 5, correlation=902)
    trace.call("cudaStreamWaitEvent", 30, 5, correlation=903)
    trace.add("cuda_event", slice_id=904, correlation_id=902, device=1, stream=7)
    trace.add(
        "synchronization",
        slice_id=905,
        kind="stream_wait_event",
        device=0,
        stream=7,
        ts=30,
        dur=5,
        wait_on_correlation_id=902,
    )
    trace.kernel("before", 20, 100, launched=(12, 2))
    trace.call("cudaGraphLaunch", 40, 10, correlation=906)
    for node in order:
        trace.kernel(f"node {node}", 510 + 200 * node, 100, correlation_id=906)
    assert trace.fill("time_ledger").rows("select ts, cause from idle_gap where device = 0 and ts > 0 order by ts") == [
        (120, "idle_dependency"),
        (610, "idle_launch_latency"),
        (810, "idle_python"),
    ]
