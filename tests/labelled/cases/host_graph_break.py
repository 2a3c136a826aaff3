from __future__ import annotations

from labelled.cases.host_recompilation import compilation, log


def graph_break(trace, kind="print", skips_function=False, **columns):
    trace.add(
        "graph_break",
        **{
            "log_id": 0, "break_id": 0, "compile_id": "0/0", "attempt": 0, "file": "/app/model.py", "line": 14, "frame_line": 14,
            "function": "forward", "code": 'print("seen", y)', "kind": kind, "reason": "Failed to trace builtin operator",
            "skips_function": skips_function, "is_logged": True, **columns,
        },
    )  # fmt: skip


def compiled(trace):
    """A function and the rest of it after line 14."""
    log(trace)
    compilation(trace, 0, -5000)
    compilation(trace, 0, -3000, compile_id="1/0", frame_id=1, function="torch_dynamo_resume_in_forward_at_14", line=14)


def steps(trace, between=400, has_graphs=True, rest="1/0"):
    for step in range(4):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("Torch-Compiled Region: 0/0", ts + 10, 980)
        if has_graphs:
            trace.op("## Call CompiledFxGraph fa ##", ts + 20, 200)
        trace.op("aten::item", ts + 230, between)
        trace.op("TorchDynamo Cache Lookup", ts + 240 + between, 10)
        trace.op(f"Torch-Compiled Region: {rest}", ts + 260 + between, 200)
        if has_graphs:
            trace.op("## Call CompiledFxGraph fb ##", ts + 270 + between, 180)


def found(trace):
    """A print between two graphs takes nearly half of the step."""
    steps(trace)
    compiled(trace)
    graph_break(trace)


def found_in_an_inlined_function(trace):
    """The line that breaks is in another function, which line 14 calls."""
    steps(trace)
    compiled(trace)
    graph_break(trace, file="/app/tools.py", line=3, kind="item")


def clean_without_a_log(trace):
    """Nothing names the line."""
    steps(trace)


def clean_no_graphs_in_the_trace(trace):
    """Leave out the ranges of compiled graphs, without which the time between two graphs is unknown."""
    steps(trace, has_graphs=False)
    compiled(trace)
    graph_break(trace)


def clean_another_function(trace):
    """The compiled code that follows is not the rest of the function."""
    steps(trace, rest="7/0")
    compiled(trace)
    graph_break(trace)


def clean_function_that_is_skipped(trace):
    """All of it runs eagerly: there are no graphs around the line."""
    steps(trace)
    compiled(trace)
    graph_break(trace, skips_function=True)


def cannot_tell(trace):
    """It launches work of a GPU that was not captured."""
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.call("cudaLaunchKernel", 1000 * step + 10, 20)
