"""Stretches of a launching thread in which nothing can have taken so long, and what GPUs lose in them."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

MS = 1_000_000
STALLS = """
    select h.place, h.does_nothing, c.name, h.ts // 1000, h.dur // 1000, h.usual // 1000
    from host_stall as h
    left join cpu_slice as c using (slice_id)
    order by h.ts
"""


def build_loop(*, rounds=30, held=5 * MS, at=(20,), name="aten::view", kind="op", inside="own", start=0):
    """One step of 400 ms: an operator that calls `name` and launches, 30 times; in rounds `at` the call stands still."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", start, 400 * MS)
    ts = start + 100_000
    for number in range(rounds):
        long = held if number in at else 0
        trace.op("aten::linear", ts, 80_000 + long)
        trace.cpu(kind, name, ts + 10_000, 6_000 + (long if inside == "own" else 0))
        launched = ts + 40_000 + (long if inside != "after" else 0)
        trace.kernel("gemm", launched + 8_000, 5_000, launched=(launched, 6_000))
        ts += 100_000 + long
    return trace


def test_a_view_that_takes_milliseconds_is_a_stall_with_its_idle_time():
    trace = build_loop().fill_all()
    assert trace.rows(STALLS) == [("call", True, "aten::view", 2110, 5006, 6)]
    assert trace.rows("select cause, gap_id is not null, dur // 1000 from stall_cost") == [("idle_launch", True, 5006)]


@pytest.mark.parametrize("start", [-(10**17), -(10**9), 10**17])
@pytest.mark.parametrize("inside", ["own", "after"])
def test_the_origin_of_the_clock_changes_nothing(start, inside):
    facts = "select place, thread_id, dur, usual, does_nothing from host_stall order by ts"
    owed = "select cause, dur from stall_cost order by all"
    here, there = (
        build_loop(at=(10, 20), inside=inside).fill_all(),
        build_loop(at=(10, 20), inside=inside, start=start).fill_all(),
    )
    assert there.rows(facts) == here.rows(facts) != []
    assert there.rows(owed) == here.rows(owed)


def late_after_a_stall(*, waits=False):
    """The host stands still for 5 ms, of which the GPU works for 3; then it launches kernels of 60 us every 100 us."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 20 * MS)
    for number in range(20):
        ts = 100_000 + number * 100_000
        is_last = number == 19
        trace.op("aten::linear", ts, 80_000)
        trace.kernel("gemm", ts + 16_000, 3 * MS if is_last else 60_000, launched=(ts + 8_000, 6_000))
        trace.op("aten::view", ts + 20_000, 6_000 + (5 * MS if is_last else 0))
    resumed = 2_040_000 + 5 * MS
    if waits:
        trace.call("cudaDeviceSynchronize", resumed - 10_000, 4_000)
    for number in range(10):
        launched = resumed + number * 100_000
        trace.op("aten::linear", launched - 4_000, 60_000)
        trace.kernel("gemm", launched + 8_000, 60_000, launched=(launched, 6_000))
    return trace.fill_all()


GAPS_OWED = "select count(distinct gap_id) from stall_cost where gap_id is not null"


def test_gaps_that_the_host_comes_late_to_after_a_stall_are_owed_to_it():
    """That in which it stood still, and nine of 40 us."""
    assert late_after_a_stall().rows(GAPS_OWED) == [(10,)]


def test_a_call_that_waits_for_the_device_ends_what_is_owed():
    """That in which it stood still."""
    assert late_after_a_stall(waits=True).rows(GAPS_OWED) == [(1,)]


def test_no_stall_costs_more_than_it_lasts_and_no_gap_more_than_it_has():
    assert (
        late_after_a_stall().rows("""
            select h.stall_id from stall_cost as s inner join host_stall as h using (stall_id)
            group by h.stall_id, h.dur having sum(s.dur) > h.dur
            union all
            select s.gap_id from stall_cost as s inner join idle_gap_cause as c using (gap_id, cause)
            group by s.gap_id, c.cause, c.dur having sum(s.dur) > c.dur
        """)
        == []
    )


@pytest.mark.parametrize(("copied", "place"), [(20_000, [("off_core",)]), (4 * MS, [])])
def test_a_call_that_waits_stands_still_off_its_core_while_the_gpu_has_nothing_to_do(copied, place):
    """A blocking copy of 5 ms, most of it off the core: it waits for the GPU where that is busy for most of it."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 20 * MS)
    trace.kernel("gemm", 10_000, 100_000, launched=(5_000, 3_000))
    trace.cpu("os", "ioctl", 200_000, 5_000)
    trace.memcpy("h2d", 1_010_000, copied, launched=(MS, 5 * MS), src_memory="pageable", dst_memory="device")
    trace.kernel("gemm", 7 * MS, 100_000, launched=(7 * MS - 9_000, 3_000))
    for ts, on_cpu in ((0, True), (1_005_000, False), (5_900_000, True), (8 * MS, False)):
        trace.add("thread_switch", thread_id=0, ts=ts, on_cpu=on_cpu, cpu=1)
    assert trace.fill_all().rows("select place from host_stall") == place


def test_the_operator_itself_can_stand_still():
    """After the view, before the launch."""
    trace = build_loop(inside="between").fill_all()
    assert trace.rows(STALLS) == [("call", False, "aten::linear", 2116, 5024, 24)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "settings",
    [
        {"held": 900_000},  # shorter than any tick
        {"at": range(30)},  # as long every time
        {"rounds": 9, "at": (5,)},  # nobody knows what is usual
        {"name": "cudaStreamSynchronize", "kind": "runtime"},
        {"name": "cudaMalloc", "kind": "runtime"},
        {"name": "cudaGraphInstantiate", "kind": "runtime"},
        {"name": "cudaMemcpyAsync", "kind": "runtime"},
        {"name": "poll", "kind": "os"},
        {"name": "<built-in method sleep>", "kind": "python"},
        {"at": (0,)},  # the first of its name
        {"name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "kind": "annotation"},
    ],
)
def test_what_has_a_reason_to_be_long_is_no_stall(settings):
    assert build_loop(**settings).fill_all().rows("from host_stall") == []


def test_a_function_of_python_stands_still_where_it_takes_microseconds_as_a_rule():
    found = build_loop(name="train.py(3): log", kind="python").fill_all()
    assert {place for (place,) in found.rows("select place from host_stall")} == {"python"}


def test_a_launch_that_waits_for_room_is_no_stall():
    """300 launches are queued when it is made."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 800 * MS)
    for number in range(300):
        trace.kernel("gemm", 50_000_000 + number * 2 * MS, 2 * MS - 1000, launched=(100_000 + number * 10_000, 6_000))
    trace.kernel("gemm", 50_000_000 + 300 * 2 * MS, 10_000, launched=(4_000_000, 46_000_000))
    assert trace.fill_all().rows("from host_stall") == []


def test_a_launch_of_a_new_kernel_loads_its_code():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100 * MS)
    for number in range(20):
        long = 5 * MS if number == 10 else 0
        trace.kernel(
            "new" if long else "gemm",
            520_000 + number * 100_000 + long,
            5_000,
            launched=(500_000 + number * 100_000, 6_000 + long),
        )
        if long:
            break
    assert trace.fill_all().rows("from host_stall") == []


def test_between_two_operators_it_has_to_be_usual_that_one_follows_the_other():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100 * MS)
    ts = 100_000
    for number in range(20):
        trace.op("aten::mul", ts, 20_000)
        trace.kernel("mul", ts + 30_000, 5_000, launched=(ts + 5_000, 5_000))
        ts += 30_000 + (4 * MS if number == 12 else 0)
        trace.op("aten::add", ts, 20_000)
        trace.kernel("add", ts + 30_000, 5_000, launched=(ts + 5_000, 5_000))
        ts += 30_000
    trace.op("aten::sum", ts + 4 * MS, 20_000)
    trace.kernel("sum", ts + 4 * MS + 30_000, 5_000, launched=(ts + 4 * MS + 5_000, 5_000))
    assert [row[:3] for row in trace.fill_all().rows(STALLS)] == [("between", False, "ProfilerStep#1")]


def test_what_a_collective_takes_beyond_its_transfer_while_the_host_stands_still():
    """Ten all-reduces of 50 us; one takes 5 ms longer, and the host stands still for 4 ms of them."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100 * MS)
    ts = 100_000
    for number in range(12):
        long = 4 * MS if number == 8 else 0
        trace.op("aten::view", ts + 20_000, 6_000 + long)
        reduce = trace.kernel(
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
            ts + 10_000,
            50_000 + (5 * MS if long else 0),
            launched=(ts, 6_000),
        )
        trace.add("collective", slice_id=reduce, op="nccl:all_reduce", bytes=1 << 20, group_name="0", group_size=8)
        ts += 100_000 + (6 * MS if long else 0)
    trace.fill_all()
    assert [row[:3] for row in trace.rows(STALLS)] == [("call", True, "aten::view")]
    ((cause, is_slice, dur),) = trace.rows(
        "select cause, slice_id is not null, dur from stall_cost where cause = 'communication'"
    )
    assert (cause, is_slice) == ("communication", True)
    assert dur == pytest.approx(4_006_000, abs=2)


def test_the_replay_knows_what_is_won_alone_and_with_the_other_ranks():
    """The host makes the step: idle time of the GPU goes as a whole."""
    trace = build_loop(at=(8, 12, 16, 20, 24)).fill_all()
    ((removable, saved, low, high),) = trace.rows(
        "select removable, saved, saved_low, saved_high from replay where scenario = 'host_preempted'"
    )
    assert removable == 5 * 5_006_000
    assert saved == pytest.approx(25_000_000, rel=0.01)
    assert low <= saved <= high


def test_without_gpu_work_the_training_thread_is_looked_at():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100 * MS)
    for number in range(30):
        trace.op(
            "aten::view",
            1_000_000 + number * 20_000 + (5 * MS if number > 20 else 0),
            6_000 + (5 * MS if number == 20 else 0),
        )
    assert trace.fill_all().rows("select dur from host_stall") == [(5_006_000,)]
