from __future__ import annotations


def loop(trace, operators=(), copied=4, lag=0, wait=None, call="cudaStreamSynchronize"):
    """Steps of 1 ms: launch, wait for the kernel at the end of the step, and take a while to launch again."""
    for number in range(4):
        start = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.op("aten::mm", start + 60_000, 40_000)
        trace.kernel("gemm", start + 100_000, 800_000 + lag, launched=(start + 80_000, 5_000))
        for depth, name in enumerate(operators):
            trace.op(name, start + 110_000 + depth, 830_000 - 2 * depth)
        if copied:
            trace.memcpy(
                "d2h",
                start + 900_000,
                1_500,
                launched=(start + 120_000, 6_000),
                bytes=copied,
                src_memory="device",
                dst_memory="pinned",
            )
        if call:
            trace.call(call, start + 130_000, wait or 790_000)


def found(trace):
    """loss.item() at the end of the step."""
    loop(trace, ("aten::item", "aten::_local_scalar_dense"))


def found_without_operators(trace):
    """A copy of four bytes, and waiting."""
    loop(trace)


def clean_launched_long_before(trace):
    """After .item() the host launches at once, but the GPU comes to it milliseconds later: another process has it."""
    for number in range(8):
        start = 10_000_000 * number
        if number % 2 == 0:
            trace.annotation(f"ProfilerStep#{number // 2}", start, 20_000_000)
        trace.op("aten::mm", start + 5_000, 20_000)
        trace.kernel("gemm", start + 2_300_000, 7_680_000, launched=(start + 10_000, 5_000))
        trace.op("aten::item", start + 30_000, 9_957_000)
        copy = (start + 40_000, 6_000)
        trace.memcpy("d2h", start + 9_980_500, 1_500, launched=copy, bytes=4, src_memory="device", dst_memory="pinned")
        trace.call("cudaStreamSynchronize", start + 50_000, 9_935_000)


def clean(trace):
    """Far more is copied: not a value that is read."""
    loop(trace, copied=1 << 20)


def clean_explicit(trace):
    """Nothing is copied."""
    loop(trace, copied=0)


def clean_harmless(trace):
    """The call returns at once, the GPU has work for long after."""
    loop(trace, ("aten::item",), copied=0, lag=150_000, wait=3_000)


def cannot_tell(trace):
    """No call is in the trace."""
    trace.kernel("gemm", 0, 100)
    trace.kernel("gemm", 200, 100)
