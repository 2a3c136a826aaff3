from __future__ import annotations

FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def epochs(trace, reads, frames=True, calls=True, number=6):
    """Six steps of 1 ms an epoch, whose fetches read for `reads` ns each."""
    at = 0
    for read in reads:
        for step in range(number):
            trace.annotation(f"ProfilerStep#{at // 1_000_000}", at, 1_000_000)
            if step == 0 and frames:
                trace.cpu("python", "torch/utils/data/dataloader.py(386): _get_iterator", at + 1_000, 20_000)
            trace.annotation(FETCH, at + 30_000, read + 20_000)
            if frames:
                trace.cpu("python", "torch/utils/data/dataloader.py(700): __next__", at + 31_000, read + 18_000)
            if calls:
                trace.cpu("os", "openat", at + 32_000, 1_000)
                trace.cpu("os", "read", at + 34_000, read)
            trace.kernel("gemm", at + read + 60_000, 200_000, launched=(at + read + 55_000, 5_000))
            at += 1_000_000


def found(trace):
    """The second epoch reads ten times as fast."""
    epochs(trace, [500_000, 50_000])


def clean(trace):
    """All epochs are alike: the data do not fit into memory, or were there before."""
    epochs(trace, [500_000, 450_000, 500_000])


def clean_one_epoch(trace):
    """Nothing to compare with."""
    epochs(trace, [500_000])


def clean_little(trace):
    """Reading is next to nothing of a fetch in any epoch."""
    epochs(trace, [1_000, 100])


def clean_read_ahead(trace):
    """Workers read ten times as long in the first epoch, and are ahead of training all the same."""
    trace.add("thread", thread_id=0, pid=1, tid=1)
    trace.add("thread", thread_id=1, pid=2, tid=2, thread_name="pt_data_worker")
    for number in range(12):
        at = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", at, 1_000_000)
        if number % 6 == 0:
            trace.cpu("python", "torch/utils/data/dataloader.py(386): _get_iterator", at + 1_000, 20_000)
        trace.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 30_000, 100_000)
        trace.cpu("python", "torch/utils/data/dataloader.py(700): __next__", at + 31_000, 98_000)
        trace.cpu("os", "read", at + 200_000, 500_000 if number < 6 else 50_000, thread=1)
        trace.op("aten::mm", at + 300_000, 650_000)


def cannot_tell_without_frames(trace):
    epochs(trace, [500_000, 50_000], frames=False)


def cannot_tell_without_fetches(trace):
    trace.kernel("gemm", 100, 10, launched=(50, 5))
