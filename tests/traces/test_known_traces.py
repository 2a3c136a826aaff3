"""Figures of the ledger that were looked up by hand in single real traces, in ms."""

from __future__ import annotations

import pytest
from trace_files import TRACES

ABOUT = 0.02  # ms: a figure here is printed with two decimals

STEPS = "select step, excluded is null as counts from step order by step"
LEDGER = "select category, sum(dur) / 1e6 from time_ledger group by category"
IDLE_OF_STEP = "select step, category, dur / 1e6 from time_ledger where starts_with(category, 'idle_')"
# Idle time between the first and the last work of the device: what comes before is start-up, which no capture lacks.
IN_USE = """
    select c.cause, sum(c.dur) / 1e6
    from idle_gap as g join idle_gap_cause as c using (gap_id)
    join (select device, min(ts) as ts, max(ts_end) as ts_end from gpu_slice group by device) as used using (device)
    where g.ts >= used.ts and g.ts_end <= used.ts_end
    group by c.cause
"""
DRAINED = """
    select s.name, count(*), sum(g.dur) / 1e6 from idle_gap as g join cpu_slice as s on s.slice_id = g.drained_by
    group by s.name
"""
GRAPHS = """
    select count(distinct l.launch_slice_id), count(*), count(distinct (l.launch_slice_id, l.queue_depth))
    from launch as l join cpu_slice as c on c.slice_id = l.launch_slice_id where c.name = 'cudaGraphLaunch'
"""
# Kernels that start before the one in front of them on their stream has ended.
OVERLAPPING = """
    select slice_id, dur, ts_end - greatest(ts, before) as alone from (
        select *, max(ts_end) over (
            partition by device, stream order by ts rows between unbounded preceding and 1 preceding
        ) as before from gpu_slice where kind = 'kernel'
    ) where ts < before
"""


@pytest.fixture
def ask(databases):
    def ask(name, query):
        found = sorted(TRACES.glob(f"*/{name}*"))
        if not found:
            pytest.skip("the folder shared/traces is not beside the checkout")
        return databases(found[0]).execute(query).fetchall()

    return ask


def by_step(rows, category):
    found = {step: ms for step, each, ms in rows if each == category}
    return [found.get(step, 0) for step in range(5, 11)]


@pytest.mark.parametrize(
    ("era", "without", "with_workers"),
    [
        ("array", [21.40, 50.66, 49.57, 59.33, 51.26, 49.46], [0, 0.16, 0.15, 1.70, 1.75, 1.87]),
        ("v19", [68.69, 57.04, 60.59, 55.86, 62.04, 48.18], [4.33, 0, 0, 0, 1.37, 1.40]),
    ],
)
def test_workers_take_the_idle_time_under_the_loader_away(ask, era, without, with_workers):
    slow = ask(f"kineto_resnet50_w0.{era}", IDLE_OF_STEP)
    fast = ask(f"kineto_resnet50_w4.{era}", IDLE_OF_STEP)
    assert by_step(slow, "idle_data") == pytest.approx(without, abs=ABOUT)
    assert by_step(fast, "idle_data") == pytest.approx(with_workers, abs=ABOUT)
    assert sum(by_step(fast, "idle_data")) < 0.03 * sum(by_step(slow, "idle_data"))


def test_the_slow_step_of_a_trace_is_named_with_what_it_has_more(ask):
    trace = "kineto_resnet50_w4.v19"
    assert [counts for _, counts in ask(trace, STEPS)] == [False, True, True, True, True, True]
    found = ask(
        trace, "select step, typical_step, category, change / 1e6 from outlier_step order by change desc limit 3"
    )
    assert [row[:3] for row in found] == [(9, 8, "idle_launch"), (9, 8, "idle_python"), (9, 8, "idle_data")]
    assert [ms for *_, ms in found] == pytest.approx([32.17, 6.27, 1.37], abs=ABOUT)
    longer = ask(trace, "select o.dur - t.dur from step as o, step as t where o.step = 9 and t.step = 8")
    assert ask(trace, "select sum(change) from outlier_step") == longer


@pytest.mark.slow
def test_tiny_kernels_with_a_synchronization_behind_each_are_bound_by_launches_and_synchronization(ask):
    trace = "cestwc_report11"
    in_use = dict(ask(trace, IN_USE))
    assert in_use == pytest.approx(
        {
            "idle_unattributed": 57.98,  # between calls: the program has no ranges; its thread was off the CPU
            "idle_launch": 49.57,
            "idle_cpu": 32.80,  # between calls, too, and on the CPU
            "idle_sync": 10.12,
            "idle_launch_latency": 4.20,
            "idle_os": 1.21,
            "idle_allocation": 0.07,
        },
        abs=ABOUT,
    )
    # of what is known launching leads and synchronization follows; and 87 % of the idle time follows a synchronization
    drained = {name: (gaps, ms) for name, gaps, ms in ask(trace, DRAINED)}
    assert drained["cudaDeviceSynchronize"] == (4931, pytest.approx(141.43, abs=ABOUT))
    assert drained["cudaDeviceSynchronize"][1] > 0.86 * sum(in_use.values())
    # The window begins with the first GPU work: starting up, most of the run, is a phase of its own.
    phases = dict(ask(trace, "select phase, dur / 1e6 from phase_of_run"))
    assert phases == pytest.approx({"start_up": 425.30, "window": 192.67, "tail": 38.03}, abs=ABOUT)


def test_a_program_that_compiles_while_it_runs_is_bound_by_that(ask):
    in_use = dict(ask("fuser_h200_report1", IN_USE))
    # the main thread in nothing that is traced, but on a CPU for most of it
    assert in_use.pop("idle_cpu") + in_use.pop("idle_unattributed") == pytest.approx(653.86, abs=ABOUT)
    assert max(in_use, key=in_use.get) == "idle_compile"
    assert in_use["idle_compile"] == pytest.approx(847.49, abs=ABOUT)
    assert in_use["idle_compile"] > 0.95 * sum(in_use.values())
    busy = sum(ms for category, ms in ask("fuser_h200_report1", LEDGER) if not category.startswith("idle_"))
    assert busy == pytest.approx(31.48, abs=ABOUT)  # of 10.5 s


@pytest.mark.slow
def test_graph_launches_are_one_launch_each(ask):
    trace = "hta_neg_queue_rank0"
    assert ask(trace, "select count(*) from cpu_slice where name = 'cudaGraphLaunch'") == [(70,)]
    assert ask(trace, GRAPHS) == [(70, 345, 70)]
    # the nodes are traced one by one: what is between them is no host's fault
    query = """
        select c.cause, count(*), sum(c.dur) / 1e6 from idle_gap as g join idle_gap_cause as c using (gap_id)
        join cpu_slice as l on l.slice_id = g.launch_slice_id and l.name = 'cudaGraphLaunch' group by c.cause
    """
    assert ask(trace, query) == [("idle_launch_latency", 320, pytest.approx(616.44, abs=ABOUT))]
    assert dict(ask(trace, LEDGER))["idle_unattributed"] == pytest.approx(92.77, abs=ABOUT)


@pytest.mark.slow
def test_kernels_that_overlap_on_one_stream_are_all_counted(ask):
    trace = "nsysai_mfu_2gpu_before"
    ((slice_id, dur, alone),) = ask(trace, OVERLAPPING)
    assert 0 < alone < dur
    counted = f"select count(*), sum(l.dur) from launch as l where slice_id = {slice_id}"
    assert ask(trace, counted) == [(1, dur)]
    both = f"""
        select max(a.compute) from device_activity as a join gpu_slice as g on g.slice_id = {slice_id}
        where a.device = g.device and a.ts >= g.ts and a.ts < g.ts_end
    """
    assert ask(trace, both) == [(2,)]
