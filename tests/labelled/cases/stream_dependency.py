from __future__ import annotations


def steps(trace, late):
    """Work on stream 7 waits for an event behind work of stream 20 that ends `late` after the step's first kernel."""
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 30, 960)
        trace.kernel("gemm", start + 100, 200, launched=(start + 1, 4))
        trace.kernel("other", start + 100 + late, 200, launched=(start + 6, 4), stream=20, device=1)
        record, wait = 9000 + 2 * number, 9001 + 2 * number
        trace.call("cudaEventRecord", start + 11, 2, record)
        trace.add("cuda_event", slice_id=600 + number, correlation_id=record, event_id=1, device=1, stream=20)
        trace.call("cudaStreamWaitEvent", start + 14, 2, wait)
        trace.add(
            "synchronization",
            slice_id=500 + number,
            kind="stream_wait_event",
            device=0,
            stream=7,
            ts=start + 14,
            dur=2,
            correlation_id=wait,
            wait_on_stream=20,
            wait_on_correlation_id=record,
        )
        trace.kernel("add", start + 302 + late, 200, launched=(start + 20, 4))


def found(trace):
    """The other device begins late."""
    steps(trace, 300)


def clean(trace):
    """The other device is done in time."""
    steps(trace, 0)


def cannot_tell(trace):
    """No synchronization is recorded."""
    for start in (0, 1000, 2000):
        trace.annotation("outer", start, 1000)
        trace.kernel("gemm", start + 100, 200, launched=(start + 1, 4))
        trace.kernel("add", start + 302, 200, launched=(start + 20, 4))
