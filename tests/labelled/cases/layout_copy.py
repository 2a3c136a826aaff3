from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)

COPY = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>"


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("cudnn_convolve", start + 401_000, 500_000, launched=(start + 50_000, 5_000))
    trace.call("cudaDeviceSynchronize", start + 60_000, 845_000)


def found(trace):
    """cuDNN converts the input of a convolution."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::cudnn_convolution", start + 5_000, 30_000)
        trace.kernel(
            "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
            start + 100_000,
            300_000,
            launched=(start + 10_000, 5_000),
        )


def found_contiguous(trace):
    """x.transpose(1, 2).contiguous()."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::contiguous", start + 5_000, 30_000)
        trace.op("aten::clone", start + 6_000, 28_000)
        trace.op("aten::copy_", start + 7_000, 25_000)
        trace.kernel(COPY, start + 100_000, 300_000, launched=(start + 10_000, 5_000))


def clean_cast(trace):
    """A conversion of types by the same kernel."""
    for start in STEPS:
        step(trace, start)
        trace.op("aten::to", start + 5_000, 30_000)
        trace.op("aten::_to_copy", start + 6_000, 28_000)
        trace.op("aten::copy_", start + 7_000, 25_000)
        trace.kernel(COPY, start + 100_000, 300_000, launched=(start + 10_000, 5_000))


def clean_kernel_of_a_layout(trace):
    """A convolution that takes NHWC as it is."""
    for start in STEPS:
        step(trace, start)
        trace.kernel("xmma_fprop_implicit_gemm_nhwc_tn", start + 100_000, 100_000, launched=(start + 10_000, 5_000))


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
