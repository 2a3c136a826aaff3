from __future__ import annotations

from labelled.cases.item_read import loop


def found(trace):
    """torch.cuda.synchronize() in each step."""
    loop(trace, copied=0, call="cudaDeviceSynchronize")


def found_event(trace):
    """Each step is timed."""
    loop(trace, copied=0, call="cudaEventSynchronize")


def clean(trace):
    """What it waits for is long done."""
    loop(trace, copied=0, lag=150_000, wait=3_000, call="cudaDeviceSynchronize")


def clean_item(trace):
    """It is how .item() works."""
    loop(trace, ("aten::item",))


def clean_launched_long_before(trace):
    """Right after the wait the next kernel is launched, and begins milliseconds later: it waits for something else."""
    for number in range(4):
        start = 10_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 10_000_000)
        trace.kernel("gemm", start + 5_000_000, 4_950_000, launched=(start + 10_000, 5_000))
        trace.call("cudaDeviceSynchronize", start + 20_000, 9_935_000)


def clean_slow_host(trace):
    """Tiny kernels: without the call the host would be hardly faster."""
    for number in range(400):
        start = 100_000 * number
        trace.annotation("loop", start, 99_000)
        trace.kernel("tiny", start + 90_000, 500, launched=(start + 85_000, 4_800))
        trace.call("cudaDeviceSynchronize", start + 90_000, 600)


def cannot_tell(trace):
    """No call is in the trace."""
    trace.kernel("gemm", 0, 100)
