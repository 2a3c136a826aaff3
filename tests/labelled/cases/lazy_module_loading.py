from __future__ import annotations


def _steps(trace):
    for number in range(4):
        trace.annotation(f"outer {number}", number * 1_000_000, 1_000_000)
        yield number, number * 1_000_000


def found_call(trace):
    """A step loads a library of kernels."""
    for number, start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
        if number == 2:
            trace.call("cuLibraryLoadData", start + 330_000, 500_000)
        trace.kernel("gemm", start + 900_000, 90_000, launched=(start + 880_000, 5_000))


def found_overhead(trace):
    """nsys sees it inside of a launch."""
    for number, start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
        if number == 2:
            trace.cpu("overhead", "Lazy Function Loading", start + 340_000, 500_000)
        trace.kernel("gemm", start + 900_000, 90_000, launched=(start + 880_000, 5_000))


def found_first_launch(trace):
    """The first launch of a kernel takes long."""
    for number, start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
        if number >= 2:
            launched = (start + 330_000, 550_000) if number == 2 else (start + 330_000, 5_000)
            trace.kernel("rare", start + 900_000 if number == 2 else start + 340_000, 90_000, launched=launched)


def found_held(trace):
    """A copy that had been launched starts only when the kernel behind it has been loaded."""
    for number, start in _steps(trace):
        loads = 500_000 if number == 2 else 5_000
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
        copied = start + 330_000 + loads
        trace.memcpy("h2d", copied, 50_000, (start + 310_000, 5_000), src_memory="pinned", dst_memory="device")
        name = "rare" if number == 2 else "gemm"
        trace.kernel(name, start + 385_000 + loads, 10_000, launched=(start + 320_000, loads))


def clean_first_of_the_capture(trace):
    """The first launch of all takes half a millisecond, in which the profiler starts."""
    for number, start in _steps(trace):
        launch = 450_000 if number == 0 else 5_000
        trace.kernel("gemm", start + launch + 20_000, 400_000, launched=(start + 5_000, launch))


def clean_later_launch(trace):
    """A slow launch of a kernel that ran before is something else."""
    for number, start in _steps(trace):
        launched = (start + 5_000, 5_000) if number < 2 else (start + 5_000, 400_000)
        trace.kernel("gemm", launched[0] + launched[1] + 3_000, 300_000, launched=launched)


def clean_hidden(trace):
    """The GPU has enough to do meanwhile."""
    for _, start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 900_000, launched=(start + 5_000, 5_000))
        trace.call("cuLibraryLoadData", start + 330_000, 500_000)
        trace.kernel("gemm", start + 925_000, 70_000, launched=(start + 880_000, 5_000))


def cannot_tell(trace):
    """No calls."""
    for _, start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000)
