from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _operators(trace, dur):
    for start in _steps(trace):
        for ts in range(start, start + 1_000_000, 100_000):
            trace.op("aten::linear", ts + 1_000, 98_000)
            trace.kernel("gemm", ts + 12_000, dur, launched=(ts + 5_000, 5_000))


def found(trace):
    """Each operator takes longer than its kernel."""
    _operators(trace, 30_000)


def found_between_calls(trace):
    """Between two launches the host does something that was not recorded, for longer than a kernel takes."""
    for start in _steps(trace):
        for ts in range(start, start + 1_000_000, 100_000):
            trace.kernel("gemm", ts + 12_000, 30_000, launched=(ts + 5_000, 5_000))


def found_in_the_wrapper_of_inductor(trace):
    """A compiled graph, which a function in Python launches kernel by kernel."""
    for start in _steps(trace):
        trace.cpu("python", "torchinductor_root/ab/cabc.py(12): call", start + 1_000, 998_000)
        for ts in range(start + 2_000, start + 900_000, 100_000):
            trace.kernel("triton_poi_fused_0", ts + 12_000, 30_000, launched=(ts + 5_000, 5_000))


def clean(trace):
    """Kernels last as long as the operators."""
    _operators(trace, 100_000)


def cannot_tell_in_the_driver(trace):
    """Most of each operator is a call of the operating system that the driver makes."""
    for start in _steps(trace):
        for ts in range(start, start + 1_000_000, 100_000):
            trace.call("cudaMemPrefetchAsync", ts + 12_000, 85_000)
            trace.cpu("os", "ioctl", ts + 14_000, 80_000)
            trace.kernel("gemm", ts + 8_000, 6_000, launched=(ts + 2_000, 5_000))


def cannot_tell(trace):
    """No calls."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000)


def found_jax_one_by_one(trace):
    """JAX hands over operators one by one: from one to the next its Python takes ten times as long as the launch."""
    for step in range(4):
        start = 1_000_000 * step
        trace.annotation(f"traceq.step#{step}", start, 1_000_000)
        for number in range(8):
            at = start + 10_000 + 120_000 * number
            trace.cpu("python", "array_methods.py(599): deferring_binary_op", at, 110_000)
            trace.annotation("PjitFunction(multiply)", at + 90_000, 18_000)
            trace.kernel("loop_multiply_fusion", at + 105_000, 6_000, launched=(at + 98_000, 5_000))
