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
