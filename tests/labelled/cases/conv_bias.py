from __future__ import annotations

from labelled.gpu_work import ADD, NATIVE, kernel, run

CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32"
NORM = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)"
SUM = NATIVE + "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::sum_functor<float>, unsigned int> >"
AROUND = ("aten::conv2d", "aten::convolution", "aten::_convolution")


def _run(trace, *, has_bias, following):
    for number in range(3):
        start = number * 500_000
        trace.annotation(f"ProfilerStep#{number}", start, 500_000)
        for depth, name in enumerate(AROUND):
            trace.op(name, start + 1_000 + depth, 20_000 - 2 * depth)
        trace.op("aten::cudnn_convolution", start + 2_000, 5_000)
        trace.kernel(CONVOLUTION, start + 30_000, 150_000, launched=(start + 3_000, 2_000))
        if has_bias:
            trace.op("aten::add_", start + 10_000, 5_000)
            trace.kernel(ADD, start + 180_000, 40_000, launched=(start + 11_000, 2_000))
        trace.op(following, start + 23_000, 5_000)
        trace.kernel(NORM, start + 220_000, 60_000, launched=(start + 24_000, 2_000))
        if has_bias:
            trace.op("aten::convolution_backward", start + 30_000, 10_000)
            trace.op("aten::sum", start + 31_000, 5_000)
            trace.kernel(SUM, start + 280_000, 30_000, launched=(start + 32_000, 2_000))
        trace.call("cudaDeviceSynchronize", start + 42_000, 300_000)


def found(trace):
    _run(trace, has_bias=True, following="aten::batch_norm")


def clean_without_bias(trace):
    _run(trace, has_bias=False, following="aten::batch_norm")


def clean_other_norm(trace):
    """A rectifier between makes the bias count."""
    _run(trace, has_bias=True, following="aten::relu")
    trace.op("aten::batch_norm", 1_500_000, 5_000)


def cannot_tell(trace):
    run(trace, kernel(CONVOLUTION, 100_000))
