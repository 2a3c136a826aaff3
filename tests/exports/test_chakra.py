"""Execution traces for simulators: read back by the wire format alone, and run as a graph."""

from __future__ import annotations

import io

from builder import TraceBuilder
from chakra_proto import read_chakra, run_graph
from click.testing import CliRunner

from traceq.cli import main
from traceq.exports.chakra import write_chakra


def steps():
    trace = TraceBuilder()
    trace.add("device", device=0, name="NVIDIA H100 80GB HBM3", source="trace")
    for step in (0, 1):
        at = 100_000 * step
        trace.annotation(f"ProfilerStep#{step}", at, 100_000)
        trace.kernel("gemm", at + 20_000, 30_000, launched=(at + 10_000, 4_000), stream=7)
        reduced = trace.kernel("ncclDevKernel_AllReduce", at + 55_000, 20_000, launched=(at + 15_000, 4_000), stream=7)
        trace.add("collective", slice_id=reduced, op="allreduce", bytes=4096, group_name="dp", group_size=8)
        trace.call("cudaDeviceSynchronize", at + 20_000, 58_000)
    return trace.fill_all()


def written(trace, trace_id=1):
    file = io.BytesIO()
    counts = write_chakra(trace._connection, trace_id, file)
    version, nodes = read_chakra(file.getvalue())
    assert counts.nodes == len(nodes)
    return version, nodes, counts


def test_each_step_is_a_chain_of_host_and_gpu():
    version, nodes, counts = written(steps())
    name = {node.id: node.name for node in nodes}
    assert (version, counts.unknown_communication) == ("0.0.4", 0)
    assert [
        f"{node.kind} {node.name}: {node.start} for {node.dur} after {', '.join(name[one] for one in node.sources) or '-'}"
        for node in nodes[: len(nodes) // 2]
    ] == [
        "COMP host before cudaLaunchKernel: 0 for 10 after -",
        "COMP cudaLaunchKernel: 10 for 4 after host before cudaLaunchKernel",
        "COMP host before cudaLaunchKernel: 14 for 1 after cudaLaunchKernel",
        "COMP cudaLaunchKernel: 15 for 4 after host before cudaLaunchKernel",
        "COMP host before cudaDeviceSynchronize: 19 for 1 after cudaLaunchKernel",
        "COMP gemm: 10 for 40 after host before cudaLaunchKernel",
        "COMM_COLL ncclDevKernel_AllReduce: 50 for 25 after gemm, host before cudaLaunchKernel",
        "COMP cudaDeviceSynchronize: 75 for 3 after ncclDevKernel_AllReduce, host before cudaDeviceSynchronize",
    ]
    reduced = next(node for node in nodes if node.kind == "COMM_COLL")
    assert reduced.attributes == {
        "is_cpu_op": False, "recorded_ns": 20_000, "device": 0, "stream": 7, "comm_type": 0, "comm_size": 4096,
        "pg_name": "dp",
    }  # fmt: skip
    assert run_graph(nodes) == 178


def test_communication_of_unknown_size_keeps_its_recorded_length():
    trace = TraceBuilder()
    trace.add("device", device=0, name="NVIDIA H100 80GB HBM3", source="trace")
    trace.annotation("ProfilerStep#0", 0, 100_000)
    trace.kernel("ncclDevKernel_AllReduce", 20_000, 30_000, launched=(10_000, 4_000), stream=7)
    _, nodes, counts = written(trace.fill_all())
    assert {node.kind for node in nodes} == {"COMP"}
    assert counts.unknown_communication == 1


def test_one_rank_a_file(tmp_path):
    both = TraceBuilder()
    both.other_rank()
    both.build(tmp_path)
    result = CliRunner().invoke(main, ["export", str(tmp_path / "trace.duckdb"), "-o", str(tmp_path / "job.0.et")])
    assert result.exit_code == 2
    assert "choose one with --rank" in result.output
