from __future__ import annotations

from labelled.cases.prefetch_depth import loop
from labelled.cases.too_few_workers import FETCH

TWO_EPOCHS = [20_000] * 6 + [600_000] + [20_000] * 5


def found(trace):
    """One fetch of twelve is far longer."""
    loop(trace, TWO_EPOCHS)


def found_by_frames(trace):
    """The making of an iterator is seen before it."""
    for number in range(6):
        start = 2_000_000 * number
        is_first = number == 3
        trace.annotation(f"ProfilerStep#{number}", start, 2_000_000)
        if is_first:
            trace.cpu("python", "torch/utils/data/dataloader.py(386): _get_iterator", start + 1_000, 400_000)
        fetch = start + (410_000 if is_first else 1_000)
        dur = 200_000 if is_first else 20_000
        trace.annotation(FETCH, fetch, dur)
        trace.cpu("python", "torch/utils/data/dataloader.py(700): __next__", fetch + 1_000, dur - 2_000)
        trace.kernel("gemm", fetch + dur + 20_000, 900_000, launched=(fetch + dur + 5_000, 5_000))


def clean(trace):
    """Several are long: that is how this loader is."""
    loop(trace, [20_000, 600_000, 20_000, 20_000, 600_000, 20_000, 20_000, 600_000])


def clean_few_times(trace):
    """One is a few times as long."""
    loop(trace, [100_000] * 4 + [500_000] + [100_000] * 4)


def cannot_tell(trace):
    """Nothing names fetching."""
    trace.kernel("gemm", 100, 10, launched=(50, 5))
