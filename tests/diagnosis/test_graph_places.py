"""Where a finding is that stands on kernels of a graph: the operator and the line of its capture."""

from __future__ import annotations

from builder import TraceBuilder
from labelled.gpu_work import GEMM, a100, kernel, run_graph, shapes
from labelled.packs import as_if_confirmed

from traceq.diagnosis.judge import judge


def test_a_finding_on_kernels_of_a_graph_names_operator_and_line_of_the_capture(tmp_path):
    trace = TraceBuilder()
    a100(trace)
    skinny = shapes([8, 8192], [8192, 8192], dtype="c10::BFloat16")
    run_graph(trace, kernel(GEMM, 250_000, ("mine::layer", "aten::mm"), skinny))
    trace.cpu("python", "/home/me/model.py(12): forward", 1_400, 1_200)
    (judged,) = judge(trace.build(tmp_path)._connection, rules=as_if_confirmed())
    found = {each.rule: each for each in judged.findings}["memory-bound-matmul"]
    assert found.where.operator == "aten::mm"
    assert found.where.source_line == "/home/me/model.py(12): forward"
    assert dict(zip(found.instances.columns, found.instances.rows[0], strict=True))["operator"] == "aten::mm"
