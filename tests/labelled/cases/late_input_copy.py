from __future__ import annotations


def loop(trace, memory, returned, during=None, call="cudaMemcpyAsync"):
    """Steps of 1 ms that copy their batch first; the call returns at `returned`."""
    for number in range(4):
        start = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.op("aten::copy_", start + 5_000, returned + 10_000)
        if during:
            trace.kernel("gemm", start + 9_000, 250_000, launched=(start + 6_000, 1_000), stream=9)
        trace.call(call, start + 10_000, returned - 10_000, 1000 + number)
        trace.memcpy(
            "h2d",
            start + 20_000,
            200_000,
            correlation_id=1000 + number,
            bytes=2_000_000,
            src_memory=memory,
            dst_memory="device",
        )
        trace.op("aten::mm", start + 260_000, 50_000)
        trace.kernel("gemm", start + 290_000, 600_000, launched=(start + 270_000, 5_000))


def found(trace):
    """From pageable memory."""
    loop(trace, "pageable", 230_000)


def found_blocking(trace):
    """The call returns only after the copy."""
    loop(trace, "pinned", 230_000, call="cudaMemcpy")


def clean(trace):
    """From pinned memory, and the call returns at once."""
    loop(trace, "pinned", 16_000)


def clean_hidden(trace):
    """Something else runs meanwhile: it costs nothing on the GPU, and no step begins with it."""
    loop(trace, "pinned", 16_000, during=True)


def cannot_tell(trace):
    """No call is in the trace."""
    for number in range(4):
        trace.memcpy("h2d", 1_000_000 * number, 200_000, bytes=2_000_000, src_memory="pageable", dst_memory="device")
        trace.kernel("gemm", 1_000_000 * number + 200_000, 700_000)
