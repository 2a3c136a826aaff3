"""Gaps on a device and what the host did in them."""

from __future__ import annotations

from itertools import permutations

import pytest
from builder import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st
from tables import a_hundred, worlds

from traceq.analysis.ledger import idle_gap

CAUSES = """
    select g.ts, g.dur, c.cause, c.dur as cause_dur, s.name
    from idle_gap as g
    inner join idle_gap_cause as c using (gap_id)
    left join cpu_slice as s on s.slice_id = c.cpu_slice_id
    where g.ts > 0
    order by g.ts, c.ts, c.cause
"""


def late_launch(*host, thread=0):
    """A step of 1,000 ns: a kernel up to 100, the next one launched at 800, running from 820; between them the host."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000, thread=thread)
    trace.kernel("first", 20, 80, launched=(0, 10), thread=thread)
    for kind, name, ts, dur in host:
        trace.cpu(kind, name, ts, dur, thread=thread)
    trace.kernel("second", 820, 180, launched=(800, 10), thread=thread)
    return trace


CASES = [
    ("annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "idle_data"),
    ("annotation", "traceq.fetch#train", "idle_data"),
    ("annotation", "save_checkpoint", "idle_checkpoint"),
    ("annotation", "compile_fx.<locals>.fw_compiler_base", "idle_compile"),
    ("annotation", "Torch-Compiled Region: 0/0", "idle_python"),
    ("annotation", "forward", "idle_python"),
    ("annotation", "PjRtStreamExecutorLoadedExecutable::Execute", "idle_launch"),
    ("annotation", "ThunkExecute:#hlo_op=fusion#", "idle_launch"),
    ("annotation", "xla::gpu::GpuExecutable::ExecuteAsyncOnStream", "idle_launch"),
    ("annotation", "DevicePutter", "idle_python"),
    ("op", "CompiledFunction", "idle_launch"),
    ("op", "aten::linear", "idle_launch"),
    ("op", "aten::item", "idle_sync"),
    ("runtime", "cudaStreamSynchronize", "idle_sync"),
    ("runtime", "cudaMemcpy", "idle_sync"),
    ("runtime", "cudaMalloc", "idle_allocation"),
    ("runtime", "hipFree", "idle_allocation"),
    ("runtime", "cuLibraryLoadData", "idle_compile"),
    ("runtime", "cudaFuncGetAttributes", "idle_launch"),
    ("os", "poll", "idle_os"),
    ("overhead", "Buffer Flush", "idle_profiler"),
    ("overhead", "Lazy Function Loading", "idle_compile"),
    ("python", "train.py(3): step", "idle_python"),
    ("op", "gloo:all_reduce", "idle_communication"),
    ("annotation", "ucp_tag_send_nbx", "idle_communication"),
]


def test_the_cause_is_what_the_launching_thread_did():
    """One case a step, all in one trace."""
    trace = TraceBuilder()
    for number, (kind, name, _) in enumerate(CASES):
        at = 1000 * number
        trace.annotation(f"ProfilerStep#{number}", at, 1000)
        trace.kernel("first", at + 20, 80, launched=(at, 10))
        trace.cpu(kind, name, at + 100, 700)
        trace.kernel("second", at + 820, 180, launched=(at + 800, 10))
    trace.fill("time_ledger")
    # the launching call comes on top
    launch = 10
    for number, (_, name, cause) in enumerate(CASES):
        if cause == "idle_launch":
            expected = [f"720 idle_launch {700 + launch} {name}"]
        else:
            expected = [f"720 {cause} 700 {name}", f"720 idle_launch {launch} cudaLaunchKernel"]
        expected.append("720 idle_launch_latency 10 cudaLaunchKernel")
        found = trace.text(f"select dur, cause, cause_dur, name from ({CAUSES}) where ts = {1000 * number + 100}")
        assert found.splitlines() == expected, name


# Two processes with a GPU each; work of the profiler on rows of its own: of the first, the second and an unknown process.
OVERHEADS = {2: [(200, 50)], 3: [(300, 40), (320, 100)], 4: [(600, 20)]}


def two_processes(order, owners):
    trace = TraceBuilder()
    for device in (0, 1):
        trace.add("thread", thread_id=device, pid=10 + device, tid=device)
        trace.annotation("ProfilerStep#1", 0, 1000, thread=device)
        trace.kernel("first", 20, 80, launched=(0, 10), thread=device, device=device)
        trace.kernel("second", 820, 180, launched=(800, 10), thread=device, device=device)
    for thread in order:
        trace.add("thread", thread_id=thread, pid=owners[thread], tid=thread)
        for ts, dur in OVERHEADS[thread]:
            trace.cpu("overhead", "Buffer Flush", ts, dur, thread=thread)
    return trace.fill("time_ledger").rows(
        "select device, sum(dur) from time_ledger where category = 'idle_profiler' group by all order by all"
    )


@pytest.mark.parametrize("order", list(permutations(OVERHEADS)))
def test_the_profilers_work_delays_the_gpus_of_its_own_process(order):
    assert two_processes(order, {2: 10, 3: 11, 4: -1}) == [(0, 50 + 20), (1, 120 + 20)]
    # of a process without GPU work it delays none
    assert two_processes(order, {2: 10, 3: 12, 4: None}) == [(0, 50 + 20), (1, 20)]


@pytest.mark.parametrize("inner", [[(200, 150), (350, 150)], [(200, 300)]], ids=["filled", "equal"])
def test_work_of_the_profiler_that_is_never_innermost_counts_too(inner):
    trace = late_launch(("op", "aten::mm", 100, 690))
    trace.cpu("overhead", "Instrumentation", 200, 300, thread=9)
    for ts, dur in inner:
        trace.cpu("overhead", "Buffer Flush", ts, dur, thread=9)
    assert trace.fill("time_ledger").rows("select dur from time_ledger where category = 'idle_profiler'") == [(300,)]


def test_one_gap_has_several_causes():
    trace = late_launch(
        ("runtime", "cudaStreamSynchronize", 50, 60),
        ("annotation", "next_batch", 200, 300),
        ("op", "aten::mm", 700, 130),
    )
    assert trace.fill("time_ledger").text(CAUSES).splitlines() == [
        "100 720 idle_sync 10 cudaStreamSynchronize",
        "100 720 idle_python 290 ProfilerStep#1",
        "100 720 idle_data 300 next_batch",
        "100 720 idle_launch 110 aten::mm",
        "100 720 idle_launch_latency 10 cudaLaunchKernel",
    ]
    assert trace.text("select cause, drained_by is not null from idle_gap where ts = 100") == "idle_data True"


def test_operators_inside_a_data_range_are_data():
    trace = late_launch(("annotation", "enumerate(DataLoader)#x.__next__", 100, 600), ("op", "aten::stack", 200, 300))
    assert trace.fill("time_ledger").rows("select dur from time_ledger where category = 'idle_data'") == [(600,)]


def test_fetching_behind_queued_work_costs_nothing():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("long", 20, 900, launched=(0, 10))
    trace.annotation("enumerate(DataLoader)#x.__next__", 100, 300)
    trace.kernel("next", 920, 80, launched=(500, 10))
    assert trace.fill("time_ledger").text(
        "select category, dur from time_ledger where category like 'idle%' order by all"
    ) == ("idle_launch 10\nidle_launch_latency 10")


def test_work_that_was_queued_waited_for_the_device_or_for_an_event():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("a", 20, 80, launched=(0, 10))
    trace.kernel("b", 300, 100, launched=(50, 10))
    trace.call("cudaStreamWaitEvent", 70, 5, correlation=77)
    trace.add("synchronization", slice_id=900, kind="stream_wait_event", device=0, stream=7, ts=70, dur=5)
    trace.kernel("c", 600, 400, launched=(80, 10))
    assert trace.fill("time_ledger").text(CAUSES).splitlines() == [
        "100 200 idle_launch_latency 200 cudaLaunchKernel",
        "400 200 idle_dependency 200 cudaLaunchKernel",
    ]


def test_without_its_launch_a_gap_has_no_known_cause():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("a", 0, 100)
    trace.kernel("b", 500, 500)
    assert trace.fill("time_ledger").text(CAUSES) == "100 400 idle_unattributed 400 -"


def test_a_thread_that_does_nothing_is_asked_after_by_the_one_that_waits_for_it():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("forward", 20, 80, launched=(0, 10))
    trace.annotation("next_batch", 100, 400)
    trace.op("autograd::engine::evaluate_function: MmBackward0", 700, 200, thread=1)
    trace.kernel("backward", 820, 180, launched=(800, 10), thread=1)
    assert trace.fill("time_ledger").text(CAUSES).splitlines() == [
        "100 720 idle_data 400 next_batch",
        "100 720 idle_python 200 ProfilerStep#1",
        "100 720 idle_launch 110 autograd::engine::evaluate_function: MmBackward0",
        "100 720 idle_launch_latency 10 cudaLaunchKernel",
    ]


def test_pageable_copies_hold_the_host():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.memcpy("d2h", 20, 80, launched=(0, 300), src_memory="device", dst_memory="pageable")
    trace.kernel("next", 520, 480, launched=(500, 10))
    assert trace.fill("time_ledger").text(CAUSES).splitlines() == [
        "100 420 idle_sync 200 cudaLaunchKernel",
        "100 420 idle_python 200 ProfilerStep#1",
        "100 420 idle_launch 10 cudaLaunchKernel",
        "100 420 idle_launch_latency 10 cudaLaunchKernel",
    ]


HOST = st.lists(
    st.tuples(
        st.sampled_from(["op", "python", "annotation", "runtime", "os"]),
        st.sampled_from(["aten::mm", "cudaMalloc", "next_batch", "cudaStreamSynchronize", "poll"]),
        st.integers(0, 60),
        st.integers(0, 30),
        st.integers(0, 1),
    ),
    max_size=12,
)
GPU = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 1), st.integers(-20, 5)), max_size=8)


def build_worlds(several, factor=1, shift=0):
    """Build one world after the other, each with two steps; the second lasts to the next world."""
    trace = TraceBuilder()
    for number, (host, gpu) in enumerate(several):
        start = shift + 200 * factor * number
        for step in range(2):
            trace.annotation(f"ProfilerStep#{2 * number + step}", start + 40 * factor * step, 40 * factor)
        for kind, name, ts, dur, thread in host:
            trace.cpu(kind, name, start + ts * factor, dur * factor, thread)
        for ts, dur, device, launch in gpu:
            launched = (start + (ts + launch) * factor, 2 * factor)
            trace.kernel("k", start + ts * factor, dur * factor, launched, device=device)
    return trace.fill("host_ledger")


PARTS = "select step, device, category, dur from time_ledger order by all"


@a_hundred
@given(several=worlds(st.tuples(HOST, GPU)))
def test_parts_add_up_and_neither_shifting_nor_doubling_changes_them(several):
    trace = build_worlds(several)
    assert trace.rows(
        "select count(*) from idle_gap as g where dur <> (select sum(dur) from idle_gap_cause as c where c.gap_id = g.gap_id)"
    ) == [(0,)]
    assert (
        trace.rows(
            "select s.step from step as s join time_ledger as l using (step) group by s.step, s.dur, device"
            " having sum(l.dur) <> s.dur"
        )
        == []
    )
    assert (
        trace.rows(
            "select step from step as s where dur <> (select sum(dur) from host_ledger as h where h.step = s.step)"
        )
        == []
    )
    parts = trace.rows(PARTS)
    assert build_worlds(several, shift=10**15).rows(PARTS) == parts
    assert build_worlds(several, factor=2).rows(PARTS) == [(*key, 2 * dur) for *key, dur in parts]


EARLIER = "select cause, sum(dur)::bigint from idle_gap_cause group by cause order by cause"
LATE = 2_000_000


def build_capture(*before, start=LATE):
    """A step whose work is launched at 1,000 and starts at `start` on stream 7; `before`: kernels as (stream, ts, dur, call)."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 5000)
    for stream, ts, dur, call in before:
        trace.kernel("before", ts, dur, launched=(call, 10), stream=stream)
    trace.kernel("first", start, 500, launched=(1000, 10))
    return trace.fill("idle_gap", "notes")


def test_the_first_work_of_a_stream_that_waits_for_nothing_in_the_trace_waits_for_what_was_launched_before_it():
    trace = build_capture((20, 100, 50, 20))
    assert (
        trace.text(EARLIER)
        == f"idle_earlier_work {LATE - 1010}\nidle_launch 20\nidle_launch_latency 70\nidle_python 870"
    )
    assert trace.rows("select cause from idle_piece where cause = 'idle_earlier_work'") == []
    (text,) = trace.rows("select text from import_note where code = 'earlier_work'")[0]
    assert text.startswith(
        "the first work of the capture waited up to 2.0 ms although the trace has nothing it could wait for"
    )


def test_a_launch_of_less_than_a_millisecond_is_on_its_way():
    assert "idle_earlier_work" not in build_capture(start=900_000).text(EARLIER)


def test_what_was_launched_before_it_in_the_trace_may_be_what_it_waits_for():
    assert "idle_earlier_work" not in build_capture((20, 2000, 100_000, 500)).text(EARLIER)


def test_a_stream_that_did_something_in_the_capture_holds_nothing_earlier():
    assert "idle_earlier_work" not in build_capture((7, 100, 50, 20)).text(EARLIER)


def test_a_host_that_was_held_comes_late_until_it_has_made_up_for_it():
    """A wait of 900 ns until the device is dry at 1000: so much of later gaps is its doing, beside 50 in which it waits."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 6000)
    trace.kernel("waited for", 20, 980, launched=(0, 10))
    trace.call("cudaStreamSynchronize", 100, 950)
    trace.kernel("drained", 1200, 100, launched=(1150, 10))
    trace.kernel("late", 1400, 1600, launched=(1350, 10))
    trace.kernel("in time", 3000, 100, launched=(2000, 10))
    trace.kernel("would be late without it, too", 4000, 100, launched=(3950, 10))
    assert trace.fill("time_ledger").text("""
        select g.ts, g.dur, d.name as drained_by, l.name as late_after, w.dur as owed
        from idle_gap as g
        left join cpu_slice as d on d.slice_id = g.drained_by
        left join cpu_slice as l on l.slice_id = g.late_after
        left join wait_debt as w using (gap_id)
        where g.ts > 0
        order by g.ts
    """).splitlines() == [
        "1000 200 cudaStreamSynchronize cudaStreamSynchronize 150",
        "1300 100 - cudaStreamSynchronize 100",
        "3100 900 - cudaStreamSynchronize 650",
        "4100 1900 - - -",
    ]


def test_any_number_of_gaps_at_once_makes_the_same_rows(tmp_path, monkeypatch):
    found = []
    for gaps in (1, 2, 100):
        monkeypatch.setattr(idle_gap, "_GAPS_AT_ONCE", gaps)
        trace = late_launch(("op", "aten::linear", 200, 100), ("runtime", "cudaMalloc", 400, 100))
        trace.kernel("third", 1500, 100, launched=(1400, 10))
        trace.annotation("ProfilerStep#2", 1000, 1000)
        (folder := tmp_path / str(gaps)).mkdir()
        found.append(trace.build(folder).rows("from idle_gap order by gap_id"))
    assert len(found[0]) > 2
    assert found[0] == found[1] == found[2]
