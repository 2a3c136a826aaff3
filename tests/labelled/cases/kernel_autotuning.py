from __future__ import annotations


def _steps(trace, count=5):
    for number in range(count):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _convolves(trace, searching, trials=12):
    for start in _steps(trace):
        for layer in range(4):
            ts = start + layer * 240_000
            is_search = start in searching and layer == 1
            trace.op("aten::cudnn_convolution", ts + 1_000, 230_000 if is_search else 20_000)
            for trial in range(trials if is_search else 1):
                at = ts + 2_000 + trial * 15_000
                trace.kernel(
                    f"implicit_gemm_{trial}", at + 8_000, 6_000 if is_search else 200_000, launched=(at, 4_000)
                )
            if is_search:
                trace.call("cudaEventSynchronize", ts + 200_000, 10_000)


def found_search(trace):
    """New shapes in two steps: cuDNN tries a dozen algorithms."""
    _convolves(trace, (2_000_000, 3_000_000))


def found_triton(trace):
    """Triton's autotuner, by its frames."""
    for start in _steps(trace):
        trace.cpu("python", "triton/runtime/autotuner.py(199): run", start + 1_000, 900_000)
        trace.cpu("python", "triton/testing.py(96): do_bench", start + 10_000, 800_000)
        for at in range(start + 20_000, start + 700_000, 20_000):
            trace.kernel("add_kernel", at + 8_000, 6_000, launched=(at, 4_000))


def clean_many_layers(trace):
    """Each convolution launches as much as ever."""
    _convolves(trace, ())


def clean_cached(trace):
    """The autotuner's frame surrounds every call; it tries nothing."""
    for start in _steps(trace):
        trace.cpu("python", "triton/runtime/autotuner.py(199): run", start + 1_000, 900_000)
        for at in range(start + 20_000, start + 900_000, 20_000):
            trace.kernel("add_kernel", at + 8_000, 6_000, launched=(at, 4_000))


def cannot_tell(trace):
    """Neither operators nor frames."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 600_000, launched=(start + 5_000, 5_000))
