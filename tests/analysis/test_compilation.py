"""Compilations in steps and in idle time, and what passes between the graphs around a graph break."""

from __future__ import annotations

from builder import TraceBuilder
from labelled.cases.host_graph_break import compiled, graph_break, steps
from labelled.cases.host_recompilation import compilation, log


def test_a_compilation_counts_in_each_step_that_it_lies_in():
    made = TraceBuilder()
    for number in range(3):
        made.annotation(f"ProfilerStep#{number}", 1000 * number, 1000)
        made.kernel("gemm", 1000 * number + 500, 100, launched=(1000 * number + 450, 5))
    log(made)
    compilation(made, 1, 900, dur=200)
    compilation(made, 2, 5000)
    compilation(made, 3, None)
    made.fill_all()
    assert made.text("select step, compile_id, dur, round(share, 3) from step_compilation order by step") == (
        "0 0/1 100 0.1\n1 0/1 100 0.1"
    )
    # the GPU idles from 600 to 1500
    assert made.text("select device, compile_id, dur, gaps from idle_compilation") == "0 0/1 200 2"


def test_functions_with_their_versions_and_caches():
    made = TraceBuilder()
    made.op("aten::mm", 0, 10)
    log(made)
    compilation(made, 0, 0, dur=1000)
    compilation(made, 1, 2000, dur=400)
    compilation(made, 2, None, dur=None, is_refused=True)
    for version, outcome in ((0, "miss"), (1, "hit")):
        made.add("compile_cache", log_id=0, compile_id=f"0/{version}", cache="fx_graph", outcome=outcome)
        made.add("compile_cache", log_id=0, compile_id=f"0/{version}", cache="aotautograd", outcome=outcome)
    graph_break(made)
    graph_break(made, break_id=1, compile_id="0/1")
    made.fill_all()
    columns = (
        "compilations, recompilations, dur, recompile_ns, longest, cache_hits, cache_misses, graph_breaks, is_refused"
    )
    assert (
        made.text(f"select function, line, {columns} from compiled_function")
        == "forward 12 2 1 1400 400 1000 1 1 2 True"
    )


def passings(**columns):
    made = TraceBuilder()
    steps(made, **columns)
    compiled(made)
    graph_break(made)
    made.fill_all()
    return made.text(
        "select step, line, ts, dur, eager_ns, entry_ns, graphs_ns from graph_break_passing order by step limit 2"
    )


def test_what_passes_between_the_graphs_around_a_break():
    # the graph before ends at 220; the rest is looked for at 640, entered at 660, and its graph begins at 670
    assert passings() == "0 14 220 450 420 30 380\n1 14 1220 450 420 30 380"


def test_a_version_of_the_rest_is_the_rest():
    assert passings(rest="1/3") == passings()


def test_without_graphs_nothing_is_told():
    assert passings(has_graphs=False) == ""


def test_the_rest_of_another_function_is_no_passing():
    assert passings(rest="2/0") == ""
