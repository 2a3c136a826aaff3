"""What an execution trace says that kernels on several streams wait for, in the graph of a replay."""

from __future__ import annotations

from contextlib import closing

from builder import TraceBuilder

from traceq.analysis.replay.counterfactual import ReplayChange
from traceq.analysis.replay.whatif import what_if
from traceq.database.connect import connect

# How long the kernel takes whose result another stream uses, by step: no two halves of the steps agree.
LENGTHS = (20_000, 44_000, 26_000, 40_000, 20_000, 48_000)


def two_streams(*, known):
    """Steps in which an operator on stream 20 starts 2 us after the one on stream 7 whose result it uses has ended."""
    return add_steps(TraceBuilder(), known=known).fill_all()


def add_steps(trace, *, known):
    trace.add("device", device=0, name="NVIDIA H100 80GB HBM3", source="trace")
    at = 0
    for number, length in enumerate(LENGTHS):
        done = at + 52_000 + length
        trace.annotation(f"ProfilerStep#{number}", at, done + 8_000 - at)
        first = trace.op("aten::mm", at + 10_000, 6_000)
        trace.kernel("gemm", at + 20_000, length, launched=(at + 12_000, 3_000), stream=7)
        second = trace.op("aten::relu", at + 20_000, 6_000)
        trace.kernel("relu", at + 22_000 + length, 30_000, launched=(at + 22_000, 3_000), stream=20)
        trace.call("cudaDeviceSynchronize", at + 30_000, done + 3_000 - at - 30_000)
        if known:
            trace.add("operator_dependency", slice_id=second, source_id=first, kind="read", size=4)
        at = done + 8_000
    return trace


def test_a_kernel_waits_for_what_its_operator_uses():
    edges = "select kind, count(*) as edges, min(lag) as least, max(lag) as most from dependency"
    found = two_streams(known=True).text(f"{edges} where kind in ('event', 'tensor') group by kind order by kind")
    assert found == "tensor 6 2000 2000"
    assert two_streams(known=False).text(f"{edges} where kind in ('event', 'tensor') group by kind order by kind") == ""


def test_the_replay_knows_when_it_starts():
    assert float(two_streams(known=True).text("select max(error) from replay_step")) < 0.001
    # the recorded lag behind its launch is that of the other steps
    without = float(two_streams(known=False).text("select max(error) from replay_step"))
    assert without > 0.03


def test_a_question_reads_the_dependencies_of_its_own_trace(tmp_path):
    """Slices of several traces have the same ids."""
    several = add_steps(TraceBuilder(), known=False)
    add_steps(several.other_rank(), known=True)
    half = [ReplayChange("scale", "compute", 0.5)]
    several.build(tmp_path)
    together = []
    for trace_id in (1, 2):
        with closing(connect(tmp_path / "trace.duckdb")) as connection:
            together.append(what_if(connection, trace_id, half))
    alone = [what_if(two_streams(known=known)._connection, 1, half) for known in (False, True)]
    assert [one.after_ns for one in together] == [one.after_ns for one in alone]
    assert alone[0].after_ns != alone[1].after_ns
