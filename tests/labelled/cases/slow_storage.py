from __future__ import annotations

from labelled.cases.too_few_workers import FETCH


def loop(trace, calls, fetch="traceq.fetch#train"):
    """Steps of 1 ms whose fetch makes calls of the operating system."""
    for number in range(4):
        start = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.annotation(fetch, start, 400_000)
        for name, ts, dur in calls:
            trace.cpu("os", name, start + ts, dur)
        trace.kernel("gemm", start + 420_000, 500_000, launched=(start + 405_000, 5_000))


def found(trace):
    """The training thread reads."""
    loop(trace, [("openat", 1_000, 50_000), ("read", 60_000, 300_000)])


def found_in_workers(trace):
    """The training thread waits for a worker that reads."""
    loop(trace, [("poll", 1_000, 390_000)], FETCH)
    trace.add("thread", thread_id=1, pid=1, tid=101, thread_name="pt_data_worker")
    for number in range(4):
        trace.cpu("os", "read", 1_000_000 * number, 700_000, 1)
        trace.cpu("os", "poll", 1_000_000 * number + 950_000, 50_000, 1)


def found_small_files(trace):
    """Which files, and that they are small, is known as well."""
    loop(trace, [("openat", 1_000 + 40_000 * file, 30_000) for file in range(8)])
    for number in range(4):
        for file in range(8):
            at = 1_000_000 * number + 1_000 + 40_000 * file
            told = {"thread_id": 0, "path": f"/mnt/images/{number}-{file}.jpg"}
            trace.add("file_access", ts=at, dur=30_000, operation="open", function="openat", **told)
            trace.add(
                "file_access", ts=at + 31_000, dur=5_000, operation="read", function="read", bytes=100_000, **told
            )


def clean(trace):
    """It reads a little and then waits for the queue."""
    loop(trace, [("read", 1_000, 40_000), ("poll", 50_000, 340_000)])


def cannot_tell(trace):
    """No calls were traced."""
    loop(trace, [])
