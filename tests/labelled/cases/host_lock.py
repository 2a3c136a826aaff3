from __future__ import annotations

WAIT = "<built-in method acquire of _thread.lock object at 0x7f0000000000>"


def steps(trace, wait, frames=("train.py(30): add_loss", WAIT), holder=None):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts + 10, 300)
        for frame in frames:
            trace.cpu("python", frame, ts + 400, wait)
        if holder:
            trace.cpu("python", holder, ts + 390, wait, thread=2)


def found(trace):
    """Half of a step passes in waiting for a lock."""
    steps(trace, 500)


def found_with_the_holder(trace):
    """A thread of the program sends meanwhile."""
    steps(trace, 500, holder="metrics.py(12): send")


def found_in_a_with_statement(trace):
    """Sampled stacks have this name for it."""
    steps(trace, 500, frames=("train.py(30): add_loss", "<built-in method self.lock.__enter__>"))


def clean(trace):
    steps(trace, 5)


def clean_under_a_fetch(trace):
    """The loader waits there: time of input."""
    steps(trace, 500)
    for step in range(3):
        trace.annotation("load_batch", 1000 * step + 390, 520)


def clean_in_a_queue(trace):
    """The thread waits for the work of another one."""
    steps(trace, 500, frames=("train.py(30): next_batch", "queue.py(154): get", WAIT))


def clean_event(trace):
    steps(trace, 500, frames=("train.py(30): throttle", "threading.py(604): wait", WAIT))


def clean_another_name(trace):
    steps(trace, 500, frames=("train.py(30): acquire_data",))


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.op("aten::mm", 1000 * step, 900)
