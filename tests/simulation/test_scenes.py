"""The ready scenes are what their names say."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from simulator import CAUSES, PAIRS, SCENES, simulate, steps, truth


def told(name, trace_format="nsys", rank=0):
    return truth(simulate(SCENES[name]()), trace_format, rank)


def lost(one, device=0):
    """Cause -> ns over all steps of a device."""
    total = Counter()
    for (where, _, cause), ns in one.causes().items():
        if where == device:
            total[cause] += ns
    return total


@pytest.mark.parametrize("cause", CAUSES)
def test_the_injected_cause_is_there_and_only_with_it(cause):
    usual = lost(told("idle_data" if cause != "idle_data" else "idle_sync"))
    found = lost(told(cause))
    assert found[cause] > usual[cause] + CAUSES[cause] // 3
    others = set(found) - set(usual) - {cause}
    assert others == set()


@pytest.mark.parametrize("cause", CAUSES)
def test_removing_the_injected_cause_makes_steps_faster(cause):
    program = SCENES[cause]()
    run, faster = simulate(program), simulate(program, without=[cause])
    won = sum(one.dur for one in steps(run.of(0))) - sum(one.dur for one in steps(faster.of(0)))
    assert won >= 0.9 * lost(truth(run, "nsys"))[cause]


def test_pairs_have_both_causes():
    missing = []
    for name, make in PAIRS.items():
        found = lost(truth(simulate(make()), "nsys"))
        missing += [(name, cause) for cause in name.split("+") if not found[cause]]
    assert missing == []


def test_a_loader_behind_a_full_queue_costs_the_device_nothing():
    run = simulate(SCENES["hidden_loader"]())
    main = run.processes[0]
    fetching = sum(one.dur for one in main.slices if one.name.startswith("enumerate(DataLoader)"))
    working = sum(one.dur for one in main.slices if one.name.startswith("ProfilerStep#"))
    assert fetching > 0.3 * working
    assert lost(truth(run, "nsys"))["idle_data"] == 0


def test_a_slow_loader_is_waited_for():
    assert lost(told("slow_loader"))["idle_data"] > 5_000_000


def test_item_is_named_as_what_drained_the_device():
    drained = [one for one in told("item_each_step").gaps if one.drained_by]
    assert [one.drained_by[0] for one in drained] == ["cudaStreamSynchronize"] * 3


def test_blocking_copies_drain_too():
    assert "cudaMemcpyAsync" in {one.drained_by[0] for one in told("pageable_copy").gaps if one.drained_by}


def test_opaque_graphs_are_busy_throughout_for_nsys_only():
    run = simulate(SCENES["graph_opaque"]())
    whole, nodes = truth(run, "nsys"), truth(run, "kineto")
    graphs = [one for one in whole.busy if one.category == "compute" and one.kernel is None]
    assert len(graphs) == 3
    inside = [gap for gap in nodes.gaps if any(one.ts < gap.ts and gap.ts_end < one.ts_end for one in graphs)]
    assert len(inside) == 3 * 14
    assert lost(nodes)["idle_launch_latency"] - lost(whole)["idle_launch_latency"] == sum(
        one.ts_end - one.ts for one in inside
    )


def test_os_calls_are_python_time_where_they_are_not_traced():
    assert lost(told("idle_os"))["idle_os"] > 0
    assert lost(told("idle_os", "kineto"))["idle_python"] == sum(
        lost(told("idle_os"))[cause] for cause in ("idle_os", "idle_python")
    )


def test_two_processes_fill_each_others_gaps():
    run = simulate(SCENES["shared_gpu"]())
    alone = truth(simulate(type(run.program)(run.program.processes[:1])), "nsys")
    assert lost(truth(run, "nsys")).total() < lost(alone).total() - 300_000


def test_kernels_overlap_on_one_stream_with_dependent_launch():
    busy = [one for one in told("dependent_launch").busy if one.category == "compute"]
    assert sum(after.ts < before.ts_end for before, after in pairwise(busy)) > 20


def test_the_second_stage_waits_for_the_first():
    assert lost(told("pipeline"), device=1)["idle_dependency"] > 1_000_000


def test_launching_blocks_when_the_queue_is_full():
    run = simulate(SCENES["full_queue"]())
    held = [one.ts_end - one.ts for one in run.processes[0].started]
    assert max(held) > 10_000
    assert lost(truth(run, "nsys"))["idle_launch"] < 10_000


def test_copies_beside_compute_are_hidden_and_others_exposed():
    hidden = [one for one in told("prefetched_copy").exposed if one.category == "copy_h2d"]
    exposed = [one for one in told("late_copy").exposed if one.category == "copy_h2d"]
    assert max(one.exposed for one in hidden) < 2_000  # between two kernels
    assert max(one.exposed for one in exposed) > 30_000


def test_the_late_rank_makes_the_others_wait_inside_the_collective():
    run = simulate(SCENES["late_rank"]())
    ends, lengths = {}, {}
    for rank in run.ranks:
        reduced = [one for one in truth(run, "nsys", rank).exposed if one.category == "communication"]
        ends[rank] = [one.ts + one.dur for one in reduced]
        lengths[rank] = sum(one.dur for one in reduced)
    assert len({tuple(each) for each in ends.values()}) == 1
    assert lengths[3] + 2_000_000 < min(lengths[rank] for rank in (0, 1, 2))
    assert lost(truth(run, "nsys", 3))["idle_data"] > 2_000_000
    assert lost(truth(run, "nsys", 0))["idle_data"] == 0


def test_a_scene_is_the_same_each_time():
    assert told("late_rank").json() == told("late_rank").json()
