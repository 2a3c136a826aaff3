from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, stream=7, phase="backward"):
    for number, start in enumerate((0, 830, 1660)):
        trace.annotation(f"ProfilerStep#{number}", start, 830)
        trace.call("cudaDeviceSynchronize", start + 100, 725)
        trace.kernel("gemm", start + 20, 200, launched=(start + 5, 5))
        if phase:
            trace.annotation("forward", start + 1, 20)
            trace.annotation(phase, start + 30, 60)
        for place in range(3):
            at = start + 220 + 200 * place
            trace.kernel("gemm_backward", at, 100, launched=(start + 35 + 10 * place, 2))
            trace.kernel(NAME, at + 100, 100, launched=(start + 40 + 10 * place, 2), stream=stream)


def found(trace):
    """Gradients of a layer are reduced before the next layer may compute."""
    steps(trace)


def clean(trace):
    """The same on a stream of its own."""
    steps(trace, stream=20)


def clean_forward(trace):
    """All-reduces inside layers, of which the next layer needs the result."""
    steps(trace, phase="forward")


def cannot_tell(trace):
    """No marks of phases."""
    steps(trace, phase=None)
