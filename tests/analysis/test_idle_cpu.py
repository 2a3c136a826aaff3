"""What a thread does where nothing is open: by the scheduler, by samples, and by the language of the program."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

CAUSES = """
    select c.cause, c.dur, s.name
    from idle_gap as g
    inner join idle_gap_cause as c using (gap_id)
    left join cpu_slice as s on s.slice_id = c.cpu_slice_id
    where g.ts = 100 and c.cause not in ('idle_launch', 'idle_launch_latency')
    order by c.cause, s.name
"""


def late_launch(*host, process="a.out"):
    """A step of 1,000 ns: a kernel up to 100, the next one launched at 800, running from 820; nothing recorded between."""
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=1, tid=100, process_name=process)
    trace.kernel("first", 20, 80, launched=(0, 10))
    for kind, name, ts, dur in host:
        trace.cpu(kind, name, ts, dur)
    trace.kernel("second", 820, 180, launched=(800, 10))
    return trace


def add_switches(trace, *times, thread=0, reason=None):
    """Put the thread on a CPU at the first of the times, take it off at the second, and so on."""
    for number, ts in enumerate(times):
        trace.add(
            "thread_switch",
            thread_id=thread,
            ts=ts,
            on_cpu=number % 2 == 0,
            cpu=3,
            reason=reason if number % 2 else None,
        )
    return trace


def add_samples(trace, *times, symbol="solve(float*)", thread=0):
    for ts in times:
        trace.add("cpu_sample", thread_id=thread, ts=ts, symbol=symbol, module="a.out", caller=symbol)
    return trace


def list_causes(trace):
    return trace.fill("time_ledger").rows(CAUSES)


def test_on_a_cpu_the_program_computes_and_off_it_nobody_knows():
    assert list_causes(add_switches(late_launch(), 0, 300, 450, 2000)) == [
        ("idle_cpu", 550, None),
        ("idle_unattributed", 150, None),
    ]


def test_what_is_open_says_more_than_the_scheduler():
    trace = add_switches(late_launch(("runtime", "cudaStreamSynchronize", 50, 250), ("os", "read", 400, 100)), 0, 2000)
    assert list_causes(trace) == [
        ("idle_cpu", 400, None),
        ("idle_os", 100, "read"),
        ("idle_sync", 200, "cudaStreamSynchronize"),
    ]


def test_without_scheduling_and_samples_the_cause_is_unknown():
    assert list_causes(late_launch()) == [("idle_unattributed", 700, None)]


def test_before_the_first_switch_nothing_is_known():
    assert list_causes(add_switches(late_launch(), 600, 2000)) == [
        ("idle_cpu", 200, None),
        ("idle_unattributed", 500, None),
    ]


def test_a_switch_that_was_lost_leaves_a_hole():
    trace = add_switches(late_launch(), 0, 300)
    trace.add("thread_switch", thread_id=0, ts=500, on_cpu=False, cpu=3, reason=None)
    add_switches(trace, 600, 2000)
    assert list_causes(trace) == [("idle_cpu", 400, None), ("idle_unattributed", 300, None)]
    states = trace.rows("select ts, dur, on_cpu from thread_state order by ts")
    assert states == [(0, 300, True), (500, 100, False), (600, 1400, True)]


def test_samples_stand_for_the_scheduler_where_it_was_not_recorded():
    """Every 100 ns, and none between 400 and 700: three periods apart, the thread need not have run."""
    trace = add_samples(late_launch(), 100, 200, 300, 400, 700, 800, 900)
    assert list_causes(trace) == [("idle_cpu", 500, None), ("idle_unattributed", 200, None)]


@pytest.mark.parametrize(
    ("process", "cause"),
    [("a.out", "idle_cpu"), ("python3.11", "idle_python"), (None, "idle_python")],
)
def test_a_range_is_code_of_the_program_unless_that_may_be_python(process, cause):
    trace = add_switches(late_launch(("annotation", "solve", 100, 700), process=process), 0, 2000)
    assert list_causes(trace) == [(cause, 700, "solve")]


def test_in_a_range_the_thread_may_be_off_the_cpu():
    trace = add_switches(late_launch(("annotation", "solve", 100, 700)), 0, 300, 500, 2000)
    assert list_causes(trace) == [("idle_cpu", 500, "solve"), ("idle_unattributed", 200, "solve")]


def test_a_thread_that_waits_for_another_is_spoken_for_by_it():
    trace = late_launch()
    trace.annotation("ProfilerStep#1", 0, 1000, thread=1)
    trace.cpu("os", "read", 200, 300, thread=1)
    trace.add("thread", thread_id=1, pid=1, tid=101, process_name="a.out")
    add_switches(trace, 0, 100, 790, 2000)
    add_switches(trace, 0, 2000, thread=1)
    assert list_causes(trace) == [("idle_cpu", 400, "ProfilerStep#1"), ("idle_os", 300, "read")]


def test_the_ledgers_still_add_up():
    trace = add_switches(late_launch(("annotation", "solve", 150, 200)), 0, 300, 450, 2000).fill(
        "time_ledger", "host_ledger"
    )
    assert trace.rows("select sum(dur) from time_ledger union all select sum(dur) from step") == [(1000,), (1000,)]
    assert trace.rows("select category, sum(dur) from host_ledger group by all order by all") == [
        ("annotation", 200),
        ("launch", 20),
        ("none", 780),
    ]


def test_samples_in_gaps_are_counted_by_cause_and_function():
    trace = add_switches(late_launch(("os", "read", 400, 100)), 0, 2000)
    add_samples(trace, 50, 150, 250, 350, 805)
    add_samples(trace, 450, symbol="read")
    trace.fill("idle_gap", "idle_sample")
    assert trace.rows("select cause, symbol, samples from idle_sample order by all") == [
        ("idle_cpu", "solve(float*)", 3),
        ("idle_launch", "solve(float*)", 1),
        ("idle_os", "read", 1),
    ]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("solve(float*, int)", "solve"),
        ("void CLUEAlgo<Tiles<int>, 100>::verbose(std::string const&) const", "CLUEAlgo::verbose"),
        ("(anonymous namespace)::fill(double*)", "{anonymous}::fill"),
        ("operator new(unsigned long)", "operator new"),
        ("bool std::operator==<int>(int, int)", "std::operator=="),
        ("at::native::copy_(at::Tensor&)::{lambda()#1}::operator()() const", "at::native::copy_"),
    ],
)
def test_names_of_functions_are_without_types(symbol, name):
    assert TraceBuilder().fill().rows(f"select _function_name('{symbol}')") == [(name,)]


@pytest.mark.parametrize(
    ("symbol", "module", "work"),
    [
        ("__GI___printf_fp_l", "libc-2.28.so", "text"),
        ("std::ostream::put(char)", "libstdc++.so.6", "text"),
        ("_Py_dg_dtoa", "python3.11", "text"),
        ("__memset_avx2_unaligned_erms", "libc.so.6", "memory"),
        ("operator new(unsigned long)", "a.out", "memory"),
        ("MPIDI_SHMI_progress", "libmpi.so.12", "waiting"),
        ("sched_yield", "libc.so.6", "waiting"),
        ("cuCtxSynchronize", "libcuda.so.1.1", "driver"),
        ("_PyEval_EvalFrameDefault", "python3.11", "python"),
        ("", "libpython3.10.so.1.0", "python"),
        ("solve(float*)", "a.out", "own"),
        ("", "libm.so.6", "own"),
    ],
)
def test_what_a_function_does_shows_in_its_name(symbol, module, work):
    assert TraceBuilder().fill().rows(f"select _function_work('{symbol}', '{module}')") == [(work,)]


MIGRATIONS = [
    # host: it touches pages until 400 and then launches
    ("DtoH", "page fault", [("idle_cpu", 300, None)]),
    # the kernel launched at 800 asks for the page: nothing but the host is late before
    ("HtoD", "page fault", [("idle_cpu", 300, None)]),
    ("HtoD", "prefetch", [("idle_unattributed", 300, None)]),
]


@pytest.mark.parametrize(("direction", "reason", "expected"), MIGRATIONS)
def test_a_gap_that_ends_with_a_migration_is_the_hosts_unless_it_was_asked_for(direction, reason, expected):
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=1, tid=100, process_name="a.out")
    trace.kernel("first", 20, 80, launched=(0, 10), pid=1)
    trace.gpu(
        "memcpy",
        f"Memcpy {direction} (Unified)",
        400,
        50,
        copy_kind="um",
        pid=1,
        args=f'{{"migration_cause":"{reason}"}}',
    )
    trace.kernel("second", 820, 180, launched=(800, 10), pid=1)
    assert list_causes(add_switches(trace, 0, 2000)) == expected


def test_a_prefetch_that_was_asked_for_in_time_is_on_its_way():
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=1, tid=100, process_name="a.out")
    trace.kernel("first", 20, 80, launched=(0, 10), pid=1)
    trace.call("cudaMemPrefetchAsync", 90, 20)
    trace.gpu("memcpy", "Memcpy HtoD (Unified)", 400, 50, copy_kind="um", pid=1, args='{"migration_cause":"prefetch"}')
    trace.kernel("second", 820, 180, launched=(800, 10), pid=1)
    add_switches(trace, 0, 2000).fill("time_ledger")
    found = trace.rows(
        "select c.cause, c.dur from idle_gap_cause as c inner join idle_gap as g using (gap_id) where g.ts = 100 order by all"
    )
    assert found == [("idle_launch", 10), ("idle_launch_latency", 290)]
