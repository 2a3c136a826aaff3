from __future__ import annotations

from labelled.gpu_work import ADD, ELEMENTWISE, GELU, GEMM, MUL, NATIVE, kernel, run

POW = ELEMENTWISE.format(
    "pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}"
)
MEAN = NATIVE + "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int> >"
RSQRT = ELEMENTWISE.format("rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}")
TANH = ELEMENTWISE.format("tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}")
SIGMOID = ELEMENTWISE.format("sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}")
LAYER_NORM = NATIVE + "(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)"
LAYER = kernel(GEMM, 200_000)


def chain(*names):
    return [kernel(name, 20_000) for name in names]


def found_norm(trace):
    """An RMS norm as a formula."""
    run(trace, LAYER, *chain(POW, MEAN, ADD, RSQRT, MUL, MUL), LAYER)


def found_gelu(trace):
    run(trace, LAYER, *chain(POW, MUL, ADD, MUL, TANH, ADD, MUL), LAYER)


def found_silu(trace):
    run(trace, LAYER, *chain(SIGMOID, MUL), LAYER, *chain(SIGMOID, MUL), LAYER)


def clean_fused(trace):
    run(trace, LAYER, kernel(LAYER_NORM, 40_000), LAYER, kernel(GELU, 40_000), LAYER)


def clean_apart(trace):
    """The same kernels, but each on its own between layers."""
    run(trace, *(each for name in (POW, MEAN, RSQRT, SIGMOID) for each in (kernel(name, 40_000), LAYER)))


def cannot_tell(trace):
    trace.op("aten::rsqrt", 0, 1000)
