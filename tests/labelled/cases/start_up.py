from __future__ import annotations


def steps(trace, start):
    for step in range(3):
        ts = start + 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.kernel("gemm", ts + 10, 900, launched=(ts + 1, 5))


def found(trace):
    """Creating the context takes twice as long as the steps."""
    trace.call("cudaMalloc", 0, 5000)
    trace.cpu("os", "read", 5000, 900)
    steps(trace, 6000)


def found_in_compiling(trace):
    """What is compiled inside an operator counts as compiling, and calls of the driver as part of their call."""
    trace.op("compile_fx.<locals>.fw_compiler_base", 0, 4000)
    trace.op("aten::empty", 1000, 100)
    trace.call("cuModuleLoadData", 4000, 500)
    trace.cpu("os", "ioctl", 4100, 300)
    steps(trace, 4500)


def clean(trace):
    """As much of it, but the steps take longer."""
    trace.call("cudaMalloc", 0, 2000)
    steps(trace, 2500)


def clean_of_the_profiler(trace):
    """Without what the profiler needs to initialise itself, start-up is shorter than the steps."""
    trace.cpu("overhead", "CUDA profiling initialization", 0, 4000)
    trace.call("cudaMalloc", 4000, 2000)
    steps(trace, 6000)


def cannot_tell(trace):
    """Nothing says that the program was starting: the profiler may have been switched on early."""
    trace.op("aten::mm", 0, 3500)
    steps(trace, 4000)


def found_in_a_range_that_outlasts_a_frame(trace):
    """A range that begins in a short call and goes on: what is open in it is in no frame a second time."""
    trace.cpu("python", "train.py(1): main", 0, 5000)
    trace.cpu("python", "ranges.py(7): __enter__", 100, 50)
    trace.annotation("loading", 120, 4800)
    trace.call("cudaMalloc", 1000, 3500)
    steps(trace, 6000)
