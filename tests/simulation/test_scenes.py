"""The ready scenes are what their names say."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from simulator import CAUSES, PAIRS, SCENES, simulate, steps, truth


def write_and_judge(name, trace_format="nsys", rank=0):
    return truth(simulate(SCENES[name]()), trace_format, rank)


def sum_lost(one, device=0):
    """Cause -> ns over all steps of a device."""
    total = Counter()
    for (where, _, cause), ns in one.causes().items():
        if where == device:
            total[cause] += ns
    return total


@pytest.mark.parametrize("cause", CAUSES)
def test_the_injected_cause_is_there_and_only_with_it(cause):
    usual = sum_lost(write_and_judge("idle_data" if cause != "idle_data" else "idle_sync"))
    found = sum_lost(write_and_judge(cause))
    assert found[cause] > usual[cause] + CAUSES[cause] // 3
    others = set(found) - set(usual) - {cause}
    assert others == set()


@pytest.mark.parametrize("cause", CAUSES)
def test_removing_the_injected_cause_makes_steps_faster(cause):
    program = SCENES[cause]()
    run, faster = simulate(program), simulate(program, without=[cause])
    won = sum(one.dur for one in steps(run.of(0))) - sum(one.dur for one in steps(faster.of(0)))
    assert won >= 0.9 * sum_lost(truth(run, "nsys"))[cause]


def test_pairs_have_both_causes():
    missing = []
    for name, make in PAIRS.items():
        found = sum_lost(truth(simulate(make()), "nsys"))
        missing += [(name, cause) for cause in name.split("+") if not found[cause]]
    assert missing == []


def test_a_loader_behind_a_full_queue_costs_the_device_nothing():
    run = simulate(SCENES["hidden_loader"]())
    main = run.processes[0]
    fetching = sum(one.dur for one in main.slices if one.name.startswith("enumerate(DataLoader)"))
    working = sum(one.dur for one in main.slices if one.name.startswith("ProfilerStep#"))
    assert fetching > 0.3 * working
    assert sum_lost(truth(run, "nsys"))["idle_data"] == 0


def test_a_slow_loader_is_waited_for():
    assert sum_lost(write_and_judge("slow_loader"))["idle_data"] > 5_000_000


def test_item_is_named_as_what_drained_the_device():
    drained = [one for one in write_and_judge("item_each_step").gaps if one.drained_by]
    assert [one.drained_by[0] for one in drained] == ["cudaStreamSynchronize"] * 3


def test_blocking_copies_drain_too():
    assert "cudaMemcpyAsync" in {one.drained_by[0] for one in write_and_judge("pageable_copy").gaps if one.drained_by}


def test_opaque_graphs_are_busy_throughout_for_nsys_only():
    run = simulate(SCENES["graph_opaque"]())
    whole, nodes = truth(run, "nsys"), truth(run, "kineto")
    graphs = [one for one in whole.busy if one.category == "compute" and one.kernel is None]
    assert len(graphs) == 3
    inside = [gap for gap in nodes.gaps if any(one.ts < gap.ts and gap.ts_end < one.ts_end for one in graphs)]
    assert len(inside) == 3 * 14
    assert sum_lost(nodes)["idle_launch_latency"] - sum_lost(whole)["idle_launch_latency"] == sum(
        one.ts_end - one.ts for one in inside
    )


def test_os_calls_are_python_time_where_they_are_not_traced():
    assert sum_lost(write_and_judge("idle_os"))["idle_os"] > 0
    assert sum_lost(write_and_judge("idle_os", "kineto"))["idle_python"] == sum(
        sum_lost(write_and_judge("idle_os"))[cause] for cause in ("idle_os", "idle_python")
    )


def test_two_processes_fill_each_others_gaps():
    run = simulate(SCENES["shared_gpu"]())
    alone = truth(simulate(type(run.program)(run.program.processes[:1])), "nsys")
    assert sum_lost(truth(run, "nsys")).total() < sum_lost(alone).total() - 300_000


def test_kernels_overlap_on_one_stream_with_dependent_launch():
    busy = [one for one in write_and_judge("dependent_launch").busy if one.category == "compute"]
    assert sum(after.ts < before.ts_end for before, after in pairwise(busy)) > 20


def test_the_second_stage_waits_for_the_first():
    assert sum_lost(write_and_judge("pipeline"), device=1)["idle_dependency"] > 1_000_000


def test_launching_blocks_when_the_queue_is_full():
    run = simulate(SCENES["full_queue"]())
    held = [one.ts_end - one.ts for one in run.processes[0].started]
    assert max(held) > 10_000
    assert sum_lost(truth(run, "nsys"))["idle_launch"] < 10_000


def test_copies_beside_compute_are_hidden_and_others_exposed():
    hidden = [one for one in write_and_judge("prefetched_copy").exposed if one.category == "copy_h2d"]
    exposed = [one for one in write_and_judge("late_copy").exposed if one.category == "copy_h2d"]
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
    assert sum_lost(truth(run, "nsys", 3))["idle_data"] > 2_000_000
    assert sum_lost(truth(run, "nsys", 0))["idle_data"] == 0


def test_a_scene_is_the_same_each_time():
    assert write_and_judge("late_rank").json() == write_and_judge("late_rank").json()


def test_most_launches_block_where_the_queue_is_deep():
    held = [one.ts_end - one.ts for one in simulate(SCENES["deep_queue"]()).processes[0].started[1600:]]
    assert sum(ns > 6_000 for ns in held) > 0.6 * len(held)


@pytest.mark.parametrize("name", ["two_threads_two_devices", "two_threads_two_streams", "main_and_helper"])
def test_threads_launch_at_once(name):
    launches = sorted(simulate(SCENES[name]()).processes[0].started, key=lambda one: one.ts)
    turns = sum(before.thread is not after.thread for before, after in pairwise(launches))
    assert turns > 0.3 * len(launches)


def test_streams_take_turns():
    work = sorted((one.ts, one.ts_end, one.started.item.action.stream) for one in write_and_judge("ping_pong").busy)
    turns = [(before, after) for before, after in pairwise(work) if before[2] != after[2]]
    assert sum(before[1] < after[0] for before, after in turns) > 30


def test_branches_run_side_by_side():
    exposed = write_and_judge("two_branches").ledger()
    union = sum(ns for (_, _, category), ns in exposed.items() if category == "compute")
    assert union < 0.8 * sum(one.ts_end - one.ts for one in write_and_judge("two_branches").busy)


@pytest.mark.parametrize(("name", "share"), [("copies_hidden", (0, 0.4)), ("copies_longer_than_compute", (0.4, 0.9))])
def test_copies_run_beside_compute_and_each_other(name, share):
    exposed = write_and_judge(name).exposed
    assert {one.category for one in exposed} == {"copy_h2d", "copy_d2h"}
    assert share[0] <= sum(one.exposed for one in exposed) / sum(one.dur for one in exposed) <= share[1]


def test_two_streams_share_an_engine():
    copies = [one for one in write_and_judge("one_engine_two_streams").busy if one.category == "copy_h2d"]
    assert len({one.started.item.action.stream for one in copies}) == 2
    assert all(before.ts_end <= after.ts for before, after in pairwise(sorted(copies, key=lambda one: one.ts)))


def test_giving_back_memory_waits_for_the_device():
    run = simulate(SCENES["free_each_step"]())
    free = [one for one in run.processes[0].slices if one.name == "cudaFree"]
    without = simulate(SCENES["free_each_step"](), without=["idle_allocation"])
    assert min(one.dur for one in free) > 200_000
    assert max(one.dur for one in without.processes[0].slices if one.name == "cudaFree") == 0


def test_buckets_are_reduced_beside_the_backward_pass():
    shares = {}
    for name in ("buckets_hidden", "buckets_exposed", "collectives_in_line"):
        reduced = [one for one in write_and_judge(name).exposed if one.category == "communication"]
        shares[name] = sum(one.exposed for one in reduced) / sum(one.dur for one in reduced)
    assert shares["buckets_hidden"] < 0.4 < shares["buckets_exposed"] < 0.9
    assert shares["collectives_in_line"] == 1
