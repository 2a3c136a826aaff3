from __future__ import annotations

FETCH = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def loop(trace, fetch=FETCH, steps=4, inside=None, kernel=500_000):
    """Steps of 1 ms that fetch first, then launch a kernel."""
    if kernel > 900_000:
        trace.kernel("gemm", 1_000, 1_400_000, launched=(0, 500))
    for number in range(steps):
        start = 1_000_000 * (number + 1)
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.annotation(fetch, start, 400_000)
        if inside:
            trace.op(inside, start + 10_000, 380_000)
        trace.kernel("gemm", start + 420_000, kernel, launched=(start + 405_000, 5_000))


def worker(trace, thread, busy):
    """A worker of a loader that waits the rest of each step, as its OS calls show."""
    trace.add("thread", thread_id=thread, pid=thread, tid=100 + thread, thread_name="pt_data_worker")
    for number in range(4):
        start = 1_000_000 * (number + 1)
        trace.cpu("os", "read", start, 1_000, thread)
        trace.cpu("os", "poll", start + busy, 1_000_000 - busy, thread)


def sample_workers(trace, fetching, waiting):
    """Two workers that were sampled so often in a fetch, and waiting for the next batch to make."""
    for pid in (11, 12):
        for state, samples in (("fetch", fetching), ("wait", waiting)):
            function = "data.py(8): decode" if state == "fetch" else None
            trace.add(
                "worker_sample",
                pid=pid,
                worker=pid - 11,
                state=state,
                function=function,
                frames="fetch.py(49): fetch",
                samples=samples,
                worker_share=samples / (fetching + waiting),
            )


def found(trace):
    """Nothing but waiting is seen in the fetches."""
    loop(trace)


def found_workers_busy(trace):
    """And the workers have no time left."""
    loop(trace)
    worker(trace, 1, 990_000)
    worker(trace, 2, 980_000)


def found_workers_sampled_busy(trace):
    """Their stacks say what they do."""
    loop(trace)
    sample_workers(trace, 45, 5)


def clean_workers_sampled_waiting(trace):
    """Their stacks say that they wait."""
    loop(trace)
    sample_workers(trace, 10, 40)


def found_workers_sampled_too_rarely(trace):
    """A few samples tell no share."""
    loop(trace)
    sample_workers(trace, 1, 4)


def clean(trace):
    """The training thread works itself: more workers would not help."""
    loop(trace, inside="aten::stack")


def clean_workers_idle(trace):
    """Workers have time left."""
    loop(trace)
    worker(trace, 1, 300_000)
    worker(trace, 2, 300_000)


def clean_hidden(trace):
    """The GPU has work meanwhile."""
    loop(trace, kernel=999_000)


def cannot_tell(trace):
    """One late batch is no rule."""
    loop(trace, steps=1)


def cannot_tell_nothing_fetches(trace):
    """Nothing names fetching."""
    loop(trace, fetch="something")
