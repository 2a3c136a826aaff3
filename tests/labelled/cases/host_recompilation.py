from __future__ import annotations


def log(trace, placed=True):
    trace.add(
        "compile_log",
        log_id=0,
        file="a.log",
        is_placed=placed,
        placement="its times are UTC",
        lines=9,
        records=9,
        lines_left_out=0,
    )


def compilation(trace, version, ts, dur=800, **columns):
    trace.add(
        "compilation",
        **{
            "log_id": 0, "compile_id": f"0/{version}", "frame_id": 0, "frame_compile_id": version, "function": "forward",
            "file": "/app/model.py", "line": 12, "begin_at": ts, "ts": ts, "dur": dur,
            "backend_ns": dur and dur * 9 // 10, "attempts": 1, "is_refused": False, **columns,
        },
    )  # fmt: skip


def guard(trace, version, kind="shape", source="batch"):
    trace.add(
        "recompilation",
        log_id=0, compile_id=f"0/{version}", failed_id=f"0/{version - 1}", is_latest=True,
        guard=f"tensor {source} size mismatch", kind=kind, source=source, expected="8", actual="9",
        file="/app/model.py", line=14, code="y = x + 1",
    )  # fmt: skip


def steps(trace, compiling=(0, 1, 2, 3)):
    for step in range(4):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts + 10, 50)
        if step in compiling:
            trace.op("_compile.compile_inner (dynamo_timed)", ts + 100, 800)


def found(trace):
    """Each step compiles another version: the log names the guard."""
    steps(trace)
    log(trace)
    for version in range(1, 5):
        compilation(trace, version, 1000 * (version - 1) + 100)
        guard(trace, version)


def found_without_a_log(trace):
    """The compiler's ranges lie in steps after the first."""
    steps(trace)


def found_without_a_guard(trace):
    """The log was cut before it."""
    steps(trace)
    log(trace)
    compilation(trace, 1, 2100)


def clean_first_version(trace):
    """It is compiled once."""
    steps(trace, compiling=(0,))
    log(trace)
    compilation(trace, 0, 100)


def clean_before_the_steps(trace):
    steps(trace, compiling=())
    log(trace)
    compilation(trace, 1, -900)


def clean_first_step_only(trace):
    """Without a log: the first step may compile."""
    steps(trace, compiling=(0,))


def cannot_tell(trace):
    """It launches work of a GPU that was not captured."""
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.call("cudaLaunchKernel", 1000 * step + 10, 20)
