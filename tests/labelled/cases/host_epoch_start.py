from __future__ import annotations

SEVERAL = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def steps(trace, loader=SEVERAL, *, ends_epoch=True, starting=500):
    """Six steps; in every third one an epoch ends, and the next one starts."""
    for step in range(6):
        ts = 2000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 2000)
        trace.annotation(loader, ts + 10, 40)
        if step % 3 == 1 and ends_epoch:
            trace.annotation(loader, ts + 60 + starting, 300)
        trace.op("aten::mm", ts + 1000, 400)
        trace.op("autograd::engine::evaluate_function: MmBackward0", ts + 1400, 400)


def found(trace):
    """One fetch ends the epoch; workers start, and the first batch of the next one is late."""
    steps(trace)


def clean(trace):
    """One fetch a step."""
    steps(trace, ends_epoch=False)


def clean_in_process(trace):
    """Without workers there is none to start."""
    steps(trace, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")


def cannot_tell(trace):
    """Nothing names the fetching of input."""
    steps(trace, "something else")
