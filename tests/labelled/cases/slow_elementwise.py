from __future__ import annotations

from labelled.gpu_work import ADD, COPY, GEMM, a100, kernel, run, shapes

LARGE = shapes([16384, 4096], [16384, 4096])
SMALL = shapes([128, 4096], [128, 4096])
STRIDED = COPY.replace("direct_copy_kernel_cuda(int)", "CUDAFunctor_add<float>")


def found(trace):
    """805 MB, which take half a millisecond at the bandwidth of the GPU, in two."""
    a100(trace)
    run(trace, kernel(STRIDED, 2_000_000, "aten::add", LARGE))


def clean_fast(trace):
    a100(trace)
    run(trace, kernel(ADD, 500_000, "aten::add", LARGE))


def clean_small(trace):
    """A small tensor takes as long as starting and ending a kernel."""
    a100(trace)
    run(trace, kernel(ADD, 15_000, "aten::add", SMALL))


def cannot_tell(trace):
    """No shapes."""
    a100(trace)
    run(trace, kernel(ADD, 2_000_000, "aten::add"))


def cannot_tell_types(trace):
    """Shapes without types, as ranges of emit_nvtx have them: bytes are not known."""
    a100(trace)
    run(trace, kernel(ADD, 2_000_000, "aten::add", shapes([16384, 4096], [16384, 4096], dtype=None)))


def cannot_tell_types_beside_products(trace):
    """Of products the kernels tell types, of elementwise ones not."""
    a100(trace)
    product = kernel(GEMM, 600_000, "aten::mm", shapes([4096, 4096], [4096, 4096], dtype=None))
    run(trace, product, kernel(ADD, 2_000_000, "aten::add", shapes([16384, 4096], [16384, 4096], dtype=None)))
