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


def clean_by_the_snapshot(trace):
    """The workers persist: what is long is something else."""
    steps(trace)
    trace.add("made_with", topic="loader", instance=0, name="persistent_workers", value="true", is_knob=True)


def clean_several_fetches_at_once(trace):
    """Four batches are fetched, then computed one by one (gradient accumulation): each fetch brings a batch."""
    for step in range(6):
        start = 60_000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 60_000)
        for number, length in enumerate((4000, 1000, 2000, 1000)):
            trace.annotation(SEVERAL, start + 5000 * number, length)
            trace.op("aten::linear", start + 20_000 + 9500 * number, 3000)
            trace.op("autograd::engine::evaluate_function: MmBackward0", start + 23_000 + 9500 * number, 6000)


def clean_validation(trace):
    """Every second step validates on a loader with workers: forward passes are between the fetches."""
    at = 0
    for step in range(6):
        start = at
        trace.annotation(SEVERAL, at + 10, 300)
        trace.op("aten::conv2d", at + 400, 3000)
        trace.op("autograd::engine::evaluate_function: ConvolutionBackward0", at + 3500, 6000)
        at += 10_000
        for _ in range(5 * (step % 2)):
            trace.annotation(SEVERAL, at + 10, 300)
            trace.op("aten::conv2d", at + 400, 3000)
            at += 3500
        trace.annotation(f"ProfilerStep#{step}", start, at - start)


def cannot_tell(trace):
    """Nothing names the fetching of input."""
    steps(trace, "something else")
