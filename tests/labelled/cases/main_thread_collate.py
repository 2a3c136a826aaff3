from __future__ import annotations

from labelled.cases.too_few_workers import FETCH, loop


def found(trace):
    """Workers prepare samples, the training thread stacks them."""
    loop(trace, inside="aten::stack")


def found_python(trace):
    """It unpacks what they send."""
    loop(trace)
    for number in range(4):
        start = 1_000_000 * (number + 1)
        trace.cpu("python", "multiprocessing/reductions.py(100): rebuild", start + 5_000, 380_000)


def clean(trace):
    """It waits for them."""
    loop(trace)
    for number in range(4):
        trace.cpu("python", "<built-in method poll of select.poll object>", 1_000_000 * (number + 1) + 5_000, 390_000)


def clean_in_process(trace):
    """There are no workers."""
    loop(trace, fetch=FETCH.replace("_MultiProcessing", "_SingleProcess"), inside="aten::stack")


def cannot_tell(trace):
    """Nothing is seen inside the fetches."""
    loop(trace)
