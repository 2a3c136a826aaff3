from __future__ import annotations

from labelled.cases.too_few_workers import sample_workers

SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
SEVERAL = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def steps(trace, loader, fetch):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation(loader, ts + 10, fetch)
        trace.op("aten::mm", ts + 20 + fetch, 900 - fetch)


def set_workers(trace, number):
    """A loader with as many workers as the machine has cores."""
    for topic, name in (("host", "cpus"), ("loader", "num_workers")):
        trace.add("made_with", topic=topic, instance=0, name=name, value=str(number), is_knob=True)


def found(trace):
    """Nine tenths of a step are in the loader."""
    steps(trace, SINGLE, 880)


def found_waiting(trace):
    """The loader has workers, and the step waits for them."""
    steps(trace, SEVERAL, 500)


def found_waiting_for_workers_in_the_trace(trace):
    """The name of the fetch does not say who makes batches; the workers are seen."""
    steps(trace, "next_batch", 500)
    trace.add("thread", thread_id=0, pid=1, tid=1)
    trace.add("thread", thread_id=1, pid=2, tid=2, thread_name="pt_data_worker")
    trace.cpu("os", "read", 100, 2500, thread=1)


def clean(trace):
    """Batches are there when they are asked for."""
    steps(trace, SEVERAL, 5)


def clean_with_a_gpu(trace):
    """A GPU works meanwhile: what input costs it is another rule's business."""
    steps(trace, SINGLE, 880)
    for step in range(3):
        trace.kernel("gemm", 1000 * step + 100, 850, launched=(1000 * step + 905, 5))


def clean_a_worker_for_each_core(trace):
    """More workers than cores make no more batches."""
    steps(trace, SEVERAL, 500)
    set_workers(trace, 2)


def found_a_function_of_the_workers(trace):
    """No core is free for more workers, but the ones that there are spend their time in one function."""
    steps(trace, SEVERAL, 500)
    set_workers(trace, 2)
    sample_workers(trace, 45, 5)


def clean_workers_that_wait(trace):
    """Workers have time to spare: neither more of them nor a cheaper sample wins anything."""
    steps(trace, SEVERAL, 500)
    set_workers(trace, 2)
    sample_workers(trace, 10, 40)
