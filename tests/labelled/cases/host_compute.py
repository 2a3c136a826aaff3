from __future__ import annotations

_STEP = 1_000_000


def _steps(trace, computing, scheduled=True):
    """Three steps of a C++ program: a kernel that the host waits for, and code on the CPU before the next is launched."""
    trace.add("thread", thread_id=0, pid=1, tid=100, process_name="a.out")
    for number in range(3):
        start = number * _STEP
        trace.annotation(f"step {number}", start, _STEP)
        end = start + _STEP - computing
        trace.kernel("gemm", start + 15_000, end - start - 20_000, launched=(start + 5_000, 5_000))
        trace.call("cudaStreamSynchronize", start + 12_000, end - start - 12_000)
    if scheduled:
        trace.add("thread_switch", thread_id=0, ts=-1_000, on_cpu=True, cpu=2)
        trace.add("thread_switch", thread_id=0, ts=3 * _STEP + 1_000, on_cpu=False, cpu=2)


def found_with_samples(trace):
    """The program checks its results on one core after each step: samples say where."""
    _steps(trace, 400_000)
    for number in range(3):
        for sample in range(20):
            trace.add(
                "cpu_sample",
                thread_id=0,
                ts=number * _STEP + 605_000 + 20_000 * sample,
                symbol="std::abs(double)" if sample < 5 else "check(double const*)",
                module="a.out",
                caller="check(double const*)",
            )


def found_by_the_scheduler(trace):
    """Nobody sampled it, and the thread was on a CPU all the time."""
    _steps(trace, 400_000)


def clean(trace):
    """The host has hardly anything to do between the steps."""
    _steps(trace, 5_000)


def cannot_tell(trace):
    """Neither the scheduler nor samples were recorded, and the program has no ranges there."""
    trace.kernel("first", 15_000, 580_000, launched=(5_000, 5_000))
    trace.kernel("second", 1_015_000, 580_000, launched=(1_005_000, 5_000))
