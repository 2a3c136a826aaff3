from __future__ import annotations


def steps(trace, *frames, length=400):
    for step in range(4):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts + 10, 500)
        for frame in frames:
            trace.cpu("python", frame, ts + 550, length)


def found(trace):
    """A collection that traceq noted while it recorded."""
    steps(trace, "Python GC")


def found_call(trace):
    """The program collects."""
    steps(trace, "<built-in function gc.collect>", "Python GC")


def found_in_a_fetch(trace):
    """Collections are no work of the loader."""
    steps(trace, "Python GC")
    for step in range(4):
        trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1000 * step + 545, 420)


def clean(trace):
    """Next to nothing of a step."""
    steps(trace, "Python GC", length=5)


def clean_another_name(trace):
    steps(trace, "torch/distributed/gc_checkpoint.py(12): run")
