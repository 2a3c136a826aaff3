"""Memory over time and per step, from totals and from changes, and the calls that ask the driver for it."""

from __future__ import annotations

from builder import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st
from tables import a_hundred, worlds

ANALYSES = ("memory_step", "allocator_call")

TIMELINE = "select device, memory, ts, step, allocated, reserved, is_total from memory_timeline"
STEPS = (
    "select step, samples, allocated_start, allocated_end, growth, peak, peak_reserved, peak_unused, reserved, capacity"
    " from memory_step where memory = 'device' order by step"
)


def two_steps(trace_format="chrome"):
    """Steps [0, 100) and [100, 200)."""
    trace = TraceBuilder()
    trace.NAME = trace_format
    for step in range(2):
        trace.annotation(f"traceq.step#{step}", 100 * step, 100)
    return trace


def sample(trace, ts, allocated, reserved=None, device=0):
    """What a [memory] event of PyTorch becomes."""
    for name, value in (("memory_allocated", allocated), ("memory_reserved", reserved)):
        if value is not None:
            trace.add("counter", device=device, name=name, unit="bytes", ts=ts, value=float(value))


def test_both_totals_of_an_event_are_one_sample():
    trace = two_steps()
    sample(trace, 10, 5, 20)
    sample(trace, 10, 7, 20)
    sample(trace, 120, 3, 30, device=1)
    sample(trace, 250, 2, 20)
    sample(trace, 30, 8, 0, device=None)
    trace.add("counter", device=0, name="SMs Active", unit="percent", ts=5, value=1.0)
    trace.add("counter", device=0, name="memory_allocated", unit=None, ts=5, value=1.0)
    assert trace.fill(*ANALYSES).text(TIMELINE) == (
        "0 device 10 0 5 20 True\n0 device 10 0 7 20 True\n0 device 250 - 2 20 True\n1 device 120 1 3 30 True\n"
        "- host 30 0 8 - True"
    )


def test_more_in_tensors_than_was_reserved_is_damage_and_nothing_unused():
    trace = two_steps()
    sample(trace, 10, 30, 20)
    assert trace.fill(*ANALYSES).text(
        "select step, peak, peak_reserved, peak_unused from memory_step order by step"
    ) == ("0 30 20 -\n1 30 20 -")


def test_one_total_alone_is_a_sample():
    trace = two_steps()
    sample(trace, 10, 5)
    sample(trace, 20, None, 30)
    sample(trace, 30, None, 40)
    assert trace.fill(*ANALYSES).text(TIMELINE) == (
        "0 device 10 0 5 - True\n0 device 20 0 - 30 True\n0 device 30 0 - 40 True"
    )


def test_without_samples_there_are_no_rows():
    trace = two_steps()
    trace.fill(*ANALYSES)
    for table in ("memory_timeline", "memory_step", "allocator_call"):
        assert trace.rows(f"select count(*) from {table}") == [(0,)]


def test_nsys_tells_sums_since_the_capture_began():
    trace = two_steps("nsys")
    # a release of 30 that was never allocated: it was there before
    for ts, value in ((10, 20), (20, -10), (30, 15)):
        trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=ts, value=value)
    for name in ("pinned", "pageable", "managed"):
        trace.add("counter", device=0, name=f"memory_allocated_{name}", unit="bytes", ts=40, value=6)
    assert trace.fill(*ANALYSES).text(f"{TIMELINE} order by ts, memory") == (
        "0 device 10 0 30 - False\n0 device 20 0 0 - False\n0 device 30 0 25 - False\n"
        "0 managed 40 0 6 - False\n0 pageable 40 0 6 - False\n0 pinned 40 0 6 - False"
    )


def test_old_profilers_tell_changes_only():
    trace = two_steps()
    for ts, change, device in ((10, 100, 0), (20, 50, 0), (30, -150, 0), (40, -4, -1), (50, 9, -1)):
        args = f'{{"Bytes":{change},"Device Id":{device},"Device Type":{int(device >= 0)}}}'
        trace.cpu("other", "[memory]", ts, 0, args=args)
    for number, damaged in enumerate(('"Device Id":0', '"Bytes":[1,2]', '"Bytes":1e30', '"Bytes":"x"')):
        trace.cpu("other", "[memory]", 60 + number, 0, args=f"{{{damaged}}}")
    assert trace.fill(*ANALYSES).text(TIMELINE) == (
        "0 device 10 0 100 - False\n0 device 20 0 150 - False\n0 device 30 0 0 - False\n"
        "- host 40 0 0 - False\n- host 50 0 9 - False"
    )


def test_changes_that_no_machine_can_make_are_left_out_with_a_note():
    trace = two_steps()
    for ts, change in ((10, 5), (20, 1 << 62), (30, 1 << 62), (40, -(1 << 63)), (50, 1 << 50), (60, 2)):
        trace.cpu("other", "[memory]", ts, 0, args=f'{{"Bytes":{change},"Device Id":0,"Device Type":1}}')
    trace.fill(*ANALYSES)
    assert trace.text("select ts, allocated from memory_timeline") == "10 5"
    assert trace.text("select count, text from import_note where code = 'number_out_of_range'") == (
        "3 memory changes of more than a petabyte were left out"
    )


def test_a_change_on_a_device_of_no_number_is_on_none_that_is_known():
    trace = two_steps()
    trace.cpu("other", "[memory]", 10, 0, args='{"Bytes":8,"Device Id":"x","Device Type":1}')
    assert trace.fill(*ANALYSES).text("select device, memory, allocated from memory_timeline") == "-1 device 8"


def test_samples_that_are_no_size_are_left_out():
    trace = two_steps()
    for value in (float("nan"), float("inf"), 1e30):
        sample(trace, 10, value)
    sample(trace, 20, 5)
    assert trace.fill(*ANALYSES).text("select ts, allocated from memory_timeline") == "20 5"


def test_a_step_starts_with_what_the_one_before_left():
    trace = two_steps()
    trace.add("device", device=0, memory_bytes=1000, source="trace")
    sample(trace, 10, 60, 100)
    sample(trace, 20, 80, 200)
    sample(trace, 30, 50, 150)
    sample(trace, 100, 40, 150)
    assert trace.fill(*ANALYSES).text(STEPS) == ("0 3 - 50 - 80 200 120 200 1000\n1 1 50 40 -10 50 150 100 150 1000")


def test_a_step_without_samples_has_what_was_there():
    trace = two_steps()
    trace.annotation("traceq.step#2", 200, 100)
    sample(trace, -5, 30, 40)
    sample(trace, 110, 50, 60)
    sample(trace, 110, 20, 60)
    sample(trace, 400, 999, 999)
    assert trace.fill(*ANALYSES).text(STEPS) == (
        "0 0 30 30 0 30 40 10 40 -\n1 2 30 20 -10 50 60 10 60 -\n2 0 20 20 0 20 60 40 60 -"
    )


def test_the_hosts_memory_stands_apart_and_has_no_capacity():
    trace = two_steps()
    trace.add("device", device=0, memory_bytes=1000, source="trace")
    sample(trace, 10, 60, 100)
    sample(trace, 120, 8, 0, device=None)
    assert trace.fill(*ANALYSES).text("select step, device, memory, peak, reserved, capacity from memory_step") == (
        "0 0 device 60 100 1000\n1 0 device 60 100 1000\n1 - host 8 - -"
    )


def test_allocator_calls():
    trace = two_steps()
    trace.call("cudaMalloc", 10, 20)
    trace.call("cuMemAlloc_v2", 12, 10)
    trace.call("cudaMalloc", 40, 5)
    names = [
        ("cudaFree", "free"),
        ("cudaHostAlloc", "pin"),
        ("cudaHostUnregister", "unpin"),
        ("cuMemFreeHost", "unpin"),
        ("cuMemMap", "map"),
        ("cuMemAddressFree", "map"),
        ("cudaMemPoolTrimTo", "pool"),
        ("cudaMallocAsync", "allocate"),
        ("hipMalloc", "allocate"),
        ("cuMemAllocFromPoolAsync", "allocate"),
    ]
    for number, (name, _) in enumerate(names):
        trace.call(name, 100 + 5 * number, 3)
    trace.call("cudaFree", 205, 7)
    trace.call("cudaLaunchKernel", 150, 3)
    trace.fill(*ANALYSES)
    assert trace.rows("select name, operation, calls, dur, longest from allocator_call where step = 0") == [
        ("cudaMalloc", "allocate", 2, 25, 20)
    ]
    assert trace.rows("select name, operation from allocator_call where step = 1") == sorted(names)
    assert trace.rows("select name, dur from allocator_call where step is null") == [("cudaFree", 7)]


SAMPLES = st.lists(st.tuples(st.integers(-20, 230), st.integers(0, 50), st.integers(0, 50)), max_size=8)


@a_hundred
@given(devices=worlds(SAMPLES))
def test_steps_against_the_slow_way(devices):
    trace = two_steps()
    devices = [sorted(samples, key=lambda each: each[0]) for samples in devices]
    for device, samples in enumerate(devices):
        for ts, allocated, unused in samples:
            sample(trace, ts, allocated, allocated + unused, device)
    trace.fill("memory_step")
    found = trace.rows(
        "select device, step, samples, allocated_start, allocated_end, peak, reserved from memory_step order by all"
    )
    assert found == [row for device, samples in enumerate(devices) for row in steps_of(device, samples)]
    for device, step, peak, unused in trace.rows("select device, step, peak, peak_unused from memory_step"):
        assert any((peak, unused) == each[1:] for each in devices[device]), step


def steps_of(device, samples):
    """The rows of memory_step: (device, step, samples, allocated at the start and end, peaks of allocated and reserved)."""
    for step in range(2):
        start, end = 100 * step, 100 * step + 100
        before = [each for each in samples if each[0] < start]
        inside = [each for each in samples if start <= each[0] < end]
        there = before[-1:] + inside
        if there:
            first = before[-1][1] if before else None
            peak = max(allocated for _, allocated, _ in there)
            reserved = max(allocated + unused for _, allocated, unused in there)
            yield device, step, len(inside), first, there[-1][1], peak, reserved
