from __future__ import annotations


def steps(trace, threads, length=900_000):
    for topic, name, value in (("host", "affinity", 2), ("host", "cpus", 8), ("threads", "intra_op_threads", threads)):
        if threads:
            trace.add("made_with", topic=topic, instance=0, name=name, value=str(value), unit=None, is_knob=True)
    for step in range(3):
        ts = 1_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        trace.op("aten::mm", ts + 10, length)


def found(trace):
    """Sixteen threads on the two of eight cores that the process may use."""
    steps(trace, 16)


def clean(trace):
    """As many threads as cores."""
    steps(trace, 2)


def clean_short(trace):
    """Operators that are too short to be shared out."""
    steps(trace, 16, length=9_000)


def cannot_tell(trace):
    """Nobody wrote down the settings."""
    steps(trace, 0)
