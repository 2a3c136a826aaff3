from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 3_000_000, 3_000_000)
        yield number * 3_000_000


def _updates(
    trace, start, *, count, operator="aten::addcdiv_", kernel="addcdiv", dur=2_000, mark="Optimizer.step#AdamW.step"
):
    trace.kernel("gemm", start + 10_000, 900_000, launched=(start + 2_000, 5_000))
    trace.annotation(mark, start + 920_000, 2_000_000)
    for number in range(count):
        at = start + 930_000 + number * 20_000
        trace.op(operator, at, 15_000)
        trace.kernel(kernel, at + 12_000, dur, launched=(at + 5_000, 5_000))


def found(trace):
    """A kernel for each of eighty parameters."""
    for start in _steps(trace):
        _updates(trace, start, count=80)


def found_range(trace):
    """A program that marks its phases itself."""
    for start in _steps(trace):
        _updates(trace, start, count=80, mark="optimizer")


def clean_foreach(trace):
    """Many launches, each of them for a list of parameters."""
    for start in _steps(trace):
        _updates(trace, start, count=80, operator="aten::_foreach_addcdiv_", kernel="multi_tensor_apply_kernel")


def clean_few(trace):
    """A small model."""
    for start in _steps(trace):
        _updates(trace, start, count=20)


def clean_long(trace):
    """Kernels that fill the GPU: the next is launched meanwhile."""
    for start in _steps(trace):
        _updates(trace, start, count=80, dur=18_000)


def clean_zero_grad(trace):
    """Clearing gradients is another matter."""
    for start in _steps(trace):
        _updates(trace, start, count=80, mark="Optimizer.zero_grad#AdamW.zero_grad")


def cannot_tell(trace):
    """Nothing names the optimizer."""
    for start in _steps(trace):
        _updates(trace, start, count=80, mark="something")
