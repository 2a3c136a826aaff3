from __future__ import annotations

from labelled.cases.too_few_workers import FETCH, sample_workers, worker


def loop(trace, fetches):
    """Steps of 1 ms with fetches of these lengths."""
    for number, dur in enumerate(fetches):
        start = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.annotation(FETCH, start, dur)
        trace.kernel("gemm", start + dur + 20_000, 400_000, launched=(start + dur + 5_000, 5_000))


def found(trace):
    """Now and then a batch is late, and the workers have time."""
    loop(trace, [10_000, 500_000, 10_000, 12_000, 500_000, 9_000, 11_000])
    worker(trace, 1, 300_000)
    worker(trace, 2, 300_000)


def found_by_samples_of_the_workers(trace):
    """Their stacks show that they have time."""
    loop(trace, [10_000, 500_000, 10_000, 12_000, 500_000, 9_000, 11_000])
    sample_workers(trace, 10, 40)


def clean(trace):
    """The workers have none."""
    loop(trace, [10_000, 500_000, 10_000, 12_000, 500_000, 9_000, 11_000])
    worker(trace, 1, 950_000)
    worker(trace, 2, 980_000)


def clean_even(trace):
    """All batches are late."""
    loop(trace, [500_000] * 7)
    worker(trace, 1, 300_000)


def cannot_tell(trace):
    """Workers are not in the trace."""
    loop(trace, [10_000, 500_000, 10_000, 12_000, 500_000, 9_000, 11_000])
