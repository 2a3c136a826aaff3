from __future__ import annotations

from labelled.gpu_work import GEMM


def _steps(trace, memset_at, memset_stream):
    for number in range(3):
        start = number * 500_000
        trace.annotation(f"ProfilerStep#{number}", start, 500_000)
        trace.kernel(GEMM, start + 10_000, 300_000, launched=(start + 1_000, 2_000))
        trace.gpu(
            "memset",
            "Memset (Device)",
            start + memset_at,
            100_000,
            launched=(start + 5_000, 2_000),
            stream=memset_stream,
            bytes=1 << 27,
        )
        trace.call("cudaDeviceSynchronize", start + 8_000, 410_000)


def found(trace):
    """It runs after the kernel."""
    _steps(trace, 310_000, 7)


def clean_hidden(trace):
    """It runs beside the kernel."""
    _steps(trace, 100_000, 8)


def clean_none(trace):
    trace.kernel(GEMM, 0, 1_000)


def cannot_tell(trace):
    trace.op("aten::zero_", 0, 1_000)
