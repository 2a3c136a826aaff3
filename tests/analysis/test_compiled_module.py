"""compiled_module: kernels of compiled graphs by module, and with it the tables of modules and layers."""

from __future__ import annotations

import json

import duckdb
import pytest
from builder import TraceBuilder

from traceq.analysis.kernels.compiled import CompiledCall, CompiledGraph
from traceq.app.api import ingest

MODULES = "select module, forward_dur::integer, backward_dur::integer, own_dur::integer from module order by module"
LAYERS = "select name, source, kernels, forward_dur::integer, backward_dur::integer from layer order by place"
KERNELS = """
select g.name, m.module
from gpu_slice as g
left join compiled_module as m using (slice_id)
where g.kind = 'kernel'
order by g.ts
"""
SUMS = """
select
    (select sum(own_dur) from module)::integer,
    (select sum(forward_dur + backward_dur) from layer)::integer,
    (select sum(k.exclusive_dur) from kernel_occupancy as k join step as s using (trace_id, step)
     where s.excluded is null and k.family <> 'communication')::integer
"""
LAYER = (("aten::addmm", "up"), ("triton_poi_fused_gelu_1", ""), ("aten::addmm", "down"))
# Between layers one kernel adds what the layer before computed, and norms it for the one behind.
BETWEEN = CompiledCall("triton_per_fused_add_native_layer_norm_2", None)


def make_graph(key, calls=LAYER, layers=3):
    """Return a graph with the calls of each layer, and a kernel between two layers."""
    parts = []
    for layer in range(layers):
        parts += [BETWEEN] if layer else []
        parts += [CompiledCall(name, f"layers.{layer}/mlp" + (f"/{part}" if part else "")) for name, part in calls]
    return CompiledGraph(key, tuple(parts))


def run_graph(trace, graph, ts, *, name="", thread=0):
    """Add the operators of the graph in a range of that name, each with a kernel of 10 ns; return when it ends."""
    trace.annotation(f"## Call CompiledFxGraph {name or graph.key} ##", ts, 100 * len(graph.calls), thread)
    for number, call in enumerate(graph.calls):
        at = ts + 100 * number
        trace.op("aten::empty_strided", at, 5, thread)
        trace.op(call.operator, at + 10, 50, thread)
        trace.op("aten::view", at + 12, 5, thread)
        kernel = call.operator if call.operator.startswith("triton") else "ampere_gemm"
        trace.kernel(kernel, at + 40, 10, launched=(at + 20, 5), thread=thread)
    return ts + 100 * len(graph.calls)


def run_steps(*graphs, name=""):
    """Return a trace of two steps that run the graph, the second of `graphs` as its backward pass on another thread."""
    trace = TraceBuilder()
    for step in range(2):
        ts = 10_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 9_000)
        end = run_graph(trace, graphs[0], ts + 100, name=name)
        trace.kernel("loss", end + 50, 10, launched=(end + 20, 5))
        if len(graphs) > 1:
            trace.op("autograd::engine::evaluate_function: CompiledFunctionBackward", end + 100, 5_000, 1)
            run_graph(trace, graphs[1], end + 110, thread=1)
    return trace


def test_kernels_have_the_module_of_their_call():
    graph = make_graph("f1forward", layers=2)
    done = run_steps(graph).fill_all(graphs=[graph])
    assert done.text(KERNELS).splitlines()[:8] == [
        "ampere_gemm layers.0/mlp/up",
        "triton_poi_fused_gelu_1 layers.0/mlp",
        "ampere_gemm layers.0/mlp/down",
        "triton_per_fused_add_native_layer_norm_2 -",
        "ampere_gemm layers.1/mlp/up",
        "triton_poi_fused_gelu_1 layers.1/mlp",
        "ampere_gemm layers.1/mlp/down",
        "loss -",
    ]


def test_modules_and_layers_have_the_time_of_compiled_kernels_and_sums_are_those_of_kernels():
    """Count a kernel that computes for two layers at once in neither, and once in all."""
    forward, backward = make_graph("f1forward"), make_graph("f2backward")
    done = run_steps(forward, backward).fill_all(graphs=[forward, backward])
    assert (
        done.text(MODULES)
        == """\
CompiledFxGraph f1forwar 40 0 40
CompiledFxGraph f2backwa 0 40 40
layers.0 60 60 0
layers.0/mlp 60 60 40
layers.0/mlp/down 20 20 40
layers.0/mlp/up 20 20 40
layers.1 60 60 0
layers.1/mlp 60 60 40
layers.1/mlp/down 20 20 40
layers.1/mlp/up 20 20 40
layers.2 60 60 0
layers.2/mlp 60 60 40
layers.2/mlp/down 20 20 40
layers.2/mlp/up 20 20 40"""
    )
    assert (
        done.text(LAYERS)
        == """\
layers.0 annotation 12 60 60
between the layers annotation 10 60 40
layers.1 annotation 12 60 60
layers.2 annotation 12 60 60"""
    )
    # of the modules all but the loss
    assert done.rows(SUMS) == [(440, 460, 460)]


def test_modules_around_the_graph_are_around_those_within_it():
    """Take the block from Python frames, for a program that compiles each block by itself."""
    graph = make_graph("f1forward", layers=1)
    trace = run_steps(graph)
    trace.cpu("python", "nn.Module: Net_0", 50, 1000)
    trace.cpu("python", "nn.Module: Block_7", 60, 900)
    trace.fill_all(graphs=[graph])
    paths = [module for module, *_ in trace.rows(MODULES)]
    assert "Net_0/Block_7/layers.0/mlp/up" in paths


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ([make_graph("f3other")], "another graph has that name"),
        ([make_graph(None, LAYER[:2])], "it calls other operators"),
        ([make_graph(None), CompiledGraph(None, tuple(call._replace(module="x") for call in make_graph(None).calls))], "two fit"),
        ([], "there are no files"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_no_module_is_told_where(known, why):
    done = run_steps(make_graph("f1forward")).fill_all(graphs=known)
    assert done.text("from compiled_module") == "", why


def test_a_graph_without_a_name_is_known_by_its_calls():
    done = run_steps(make_graph(None), name="f1forward").fill_all(graphs=[make_graph(None)])
    assert done.text("select count(*), count(distinct module) from compiled_module") == "18 9"


def test_files_of_a_run_tell_the_modules_of_its_trace(tmp_path):
    """An ingest reads them, and the report's tables have them."""
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 900, "pid": 1, "tid": 1}]
    for number, (name, ts) in enumerate([("aten::addmm", 20), ("triton_poi_fused_gelu_0", 40)], 1):
        events += [
            {"ph": "X", "cat": "cpu_op", "name": name, "ts": ts, "dur": 15, "pid": 1, "tid": 1, "args": {}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": ts + 5, "dur": 5, "pid": 1, "tid": 1,
             "args": {"correlation": number}},
            {"ph": "X", "cat": "kernel", "name": name, "ts": 100 * number, "dur": 50, "pid": 0, "tid": 7,
             "args": {"correlation": number, "device": 0, "stream": 7}},
        ]  # fmt: skip
    call = {"ph": "X", "cat": "user_annotation", "name": "## Call CompiledFxGraph f1forward ##", "ts": 10, "dur": 80}
    events.append({**call, "pid": 1, "tid": 1})
    source = tmp_path / "trace.json"
    source.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    logs = tmp_path / "compiled"
    logs.mkdir()
    (logs / "dynamo_output_graph_1.txt").write_text(
        "        linear = torch._C._nn.linear(l_x_, l_self_modules_layers_modules_0_modules_up_parameters_weight_)\n"
        "        gelu = torch._C._nn.gelu(linear)\n"
        "        linear_1 = torch._C._nn.linear(gelu, l_self_modules_layers_modules_0_modules_down_parameters_weight_)\n"
    )
    (logs / "inductor_output_code_2.txt").write_text(
        "        # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]\n"
        "        extern_kernels.addmm(arg0_1, arg1_1, arg2_1)\n"
        "        # Topologically Sorted Source Nodes: [gelu], Original ATen: [aten.gelu]\n"
        "        triton_poi_fused_gelu_0.run(buf1, 16, stream=stream0)\n"
    )
    database = tmp_path / "trace.duckdb"
    ingest(source, database, inductor=logs)
    with duckdb.connect(str(database), read_only=True) as connection:
        rows = connection.execute("select module, own_dur::integer from module order by module").fetchall()
    assert rows == [("layers.0", 50_000), ("layers.0/up", 50_000)]
