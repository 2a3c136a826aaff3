from __future__ import annotations

from labelled.monitors import host

TIMES = range(-100_000, 6_300_000, 100_000)


def _loop(trace, steps=3):
    """Operators that take longer on the host than their kernels on the GPU."""
    for number in range(steps):
        start = 2_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 2_000_000)
        for layer in range(20):
            at = start + 100_000 * layer
            trace.op("aten::linear", at, 95_000)
            trace.kernel("gemm", at + 92_000, 10_000, launched=(at + 85_000, 5_000))


def _count(trace, cpus):
    host(trace, [0], cpu_count=cpus)


def found(trace):
    """32 threads on 8 CPUs; what the threads of this process do in the trace looks as ever."""
    _loop(trace)
    host(trace, TIMES, run_queue=32, cpu_idle=0)
    _count(trace, 8)


def found_steal(trace):
    """The hypervisor takes a third of the time."""
    _loop(trace)
    host(trace, TIMES, cpu_steal=34, run_queue=3)


def clean(trace):
    """As many threads as CPUs."""
    _loop(trace)
    host(trace, TIMES, run_queue=8, cpu_steal=0)
    _count(trace, 8)


def clean_while_the_gpu_works(trace):
    """Threads wait for CPUs while the GPU has work: it does not wait for them."""
    for number in range(3):
        start = 2_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 2_000_000)
        trace.kernel("gemm", start + 20_000, 1_975_000, launched=(start + 5_000, 5_000))
    host(trace, TIMES, run_queue=32)
    _count(trace, 8)


def cannot_tell_without_cpus(trace):
    """The run queue is known, how many CPUs serve it is not."""
    _loop(trace)
    host(trace, TIMES, run_queue=32)


def cannot_tell(trace):
    """No log."""
    _loop(trace)
