from __future__ import annotations

SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def steps(trace, part="collate", length=600, loader=SINGLE):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation(loader, ts + 10, 700)
        trace.annotation(part, ts + 20, length)
        trace.op("aten::mm", ts + 720, 250)


def found(trace):
    """Most of a fetch is in a range of the program."""
    steps(trace)


def found_in_a_function(trace):
    """Frames say which function of the program it is."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation(SINGLE, ts + 10, 700)
        trace.cpu("python", "data.py(12): decode", ts + 20, 600)
        trace.op("aten::mm", ts + 720, 250)


def found_beneath_the_loaders_range(trace):
    """With stacks the loader's own range is inside its own frames: it is no part of making a batch, the function is."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.cpu("python", "torch/utils/data/dataloader.py(701): __next__", ts + 5, 710)
        trace.annotation(SINGLE, ts + 10, 700)
        trace.cpu("python", "data.py(12): decode", ts + 20, 600)
        trace.op("aten::mm", ts + 720, 250)


def clean(trace):
    """The range takes little of it."""
    steps(trace, length=20)


def clean_beside(trace):
    """The range is not in a fetch."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation(SINGLE, ts + 10, 100)
        trace.annotation("collate", ts + 120, 600)
        trace.op("aten::mm", ts + 720, 250)


def nested(trace, loader):
    """A range of the program around the loader's."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("data", ts + 5, 710)
        trace.annotation(loader, ts + 10, 700)
        trace.op("aten::mm", ts + 720, 250)


def clean_the_loaders_range(trace):
    """The loader's range in the program's says nothing more."""
    nested(trace, SINGLE)


def clean_waiting_for_workers(trace):
    """The main thread waits: nothing in it makes the batch."""
    nested(trace, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")


def cannot_tell(trace):
    """Nothing names the fetching of input."""
    steps(trace, loader="something else")
