from __future__ import annotations


def steps(trace, *, thread):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("## backward ##", ts + 300, 690)
        trace.op("autograd::engine::evaluate_function: MmBackward0", ts + 310, 190)
        trace.annotation("gloo:all_reduce", ts + 500, 480, thread=thread)


def found(trace):
    """The backward pass is over, and a thread of gloo still reduces gradients."""
    steps(trace, thread=1)


def found_on_the_thread(trace):
    """The training thread itself is in the collective."""
    steps(trace, thread=0)


def clean(trace):
    """As long, with operators on the training thread meanwhile."""
    steps(trace, thread=1)
    for step in range(3):
        trace.op("aten::mm", 1000 * step + 500, 485)


def clean_in_another_process(trace):
    """The collective is one of another process."""
    trace.add("thread", thread_id=0, pid=1, tid=1)
    trace.add("thread", thread_id=1, pid=2, tid=2)
    steps(trace, thread=1)
