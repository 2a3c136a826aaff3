"""A changed program does less of what was changed, and the rest as before."""

from __future__ import annotations

import pytest
from simulator import (
    PAIRS,
    SCENES,
    fetched_in_workers,
    graphed,
    never_waiting,
    overlapped,
    quicker_host,
    scaled,
    simulate,
    steps,
    truth,
    without_collectives,
)
from simulator.program import Graph, Launch, category


def measure_steps(program, without=()):
    return [one.dur for one in steps(simulate(program, without).of(0))]


def measure_work(program, counted):
    """Time of the work of a category of the ledger, without pauses between nodes of graphs, ns."""
    actions = [one.item.action for one in simulate(program).processes[0].started]
    several = [[dur for _, dur in one.nodes] if isinstance(one, Graph) else [one.dur] for one in actions]
    return sum(sum(each) for one, each in zip(actions, several, strict=True) if category(one) == counted)


def list_started(program, kind):
    return [one for one in simulate(program).processes[0].started if isinstance(one.item.action, kind)]


@pytest.mark.parametrize("name", [name for name in SCENES if name not in PAIRS])
def test_scaling_by_one_changes_nothing(name):
    program = SCENES[name]()
    assert scaled(program, {"compute": 1, "copy_h2d": 1, "communication": 1}) == program


@pytest.mark.parametrize("name", ["healthy", "graph_opaque", "late_copy", "buckets_exposed"])
def test_scaled_work_takes_its_share_of_the_time(name):
    program = SCENES[name]()
    for scaled_one in ("compute", "copy_h2d", "communication"):
        half = scaled(program, {scaled_one: 0.5})
        for other in ("compute", "copy_h2d", "communication", "memset"):
            factor = 0.5 if other == scaled_one else 1
            assert measure_work(half, other) == pytest.approx(factor * measure_work(program, other), rel=0.001)


def test_kernels_can_be_scaled_by_name():
    program = SCENES["shared_gpu"]()
    short = scaled(program, {"kernel:*flash*": 0})
    kernels = [one for one in truth(simulate(short), "nsys").busy if one.kernel]
    assert {"flash" in one.kernel.name for one in kernels if one.ts_end == one.ts} == {True}
    assert {"flash" in one.kernel.name for one in kernels if one.ts_end > one.ts} == {False}


def test_launches_are_one_call():
    program = SCENES["launch_bound"]()
    several, once = (
        [one for one in list_started(each, Launch) if one.ts_end > one.ts] for each in (program, graphed(program))
    )
    assert len(list_started(graphed(program), Launch)) == len(list_started(program, Launch)) == len(several)
    assert len(once) == len(measure_steps(program))
    assert sum(measure_steps(graphed(program))) < 0.6 * sum(measure_steps(program))


@pytest.mark.parametrize("name", [name for name in SCENES if name not in PAIRS and name != "unmarked"])
def test_a_program_of_graphs_has_the_same_kernels(name):
    program = SCENES[name]()
    assert measure_work(graphed(program), "compute") == measure_work(program, "compute")
    assert len(measure_steps(graphed(program))) == len(measure_steps(program))


@pytest.mark.parametrize("name", ["collectives_in_line", "long_collective", "buckets_exposed"])
def test_collectives_beside_compute_win_at_most_their_time(name):
    program = SCENES[name]()
    whole, beside, gone = (
        sum(measure_steps(one)) for one in (program, overlapped(program, "communication"), without_collectives(program))
    )
    assert gone <= 1.01 * beside < 1.01 * whole  # what takes no time still has its place between two kernels
    assert beside < whole


def test_without_collectives_no_rank_waits_for_a_late_one():
    program = without_collectives(SCENES["late_rank"]())
    assert sum(measure_steps(program)) < 0.6 * sum(measure_steps(SCENES["late_rank"]()))


def test_ranks_that_never_wait_still_transfer():
    program = SCENES["late_rank"]()
    whole, alone, gone = (
        sum(measure_steps(one)) for one in (program, never_waiting(program), without_collectives(program))
    )
    assert gone < alone < whole


def test_workers_fetch_beside_the_training_thread():
    program = SCENES["idle_data"]()
    several = sum(measure_steps(fetched_in_workers(program, 2)))
    assert sum(measure_steps(program, ["idle_data"])) <= several < 0.85 * sum(measure_steps(program))


def test_copies_beside_compute_still_take_their_time():
    program = SCENES["idle_data"]()
    beside = overlapped(program, "copy_h2d")
    assert measure_work(beside, "copy_h2d") == measure_work(program, "copy_h2d")
    assert sum(measure_steps(beside)) < sum(measure_steps(program))


def test_a_quicker_host_launches_sooner_and_waits_still():
    program = SCENES["launch_bound"]()
    quick = quicker_host(program, "aten::*", 0)
    assert (
        0.3 * sum(measure_steps(program))
        < sum(measure_steps(quick))
        < sum(measure_steps(quicker_host(program, "aten::linear", 0)))
    )
    item = SCENES["item_each_step"]()
    assert sum(measure_steps(quicker_host(item, "aten::item", 0))) > 0.95 * sum(measure_steps(item))
    assert quicker_host(program, "*", 1) == program
