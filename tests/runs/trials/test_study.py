from __future__ import annotations

import pytest
from hand_made import MS, about, batch, run, series
from handmade_runs import item, on_host
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.runs.trials.study_tradeoff import study_tradeoff
from traceq.runs.trials.tradeoff import Taken, TradeoffTerms
from traceq.runs.trials.values import (
    is_amount,
    list_marked,
    take_by_marks,
    take_by_snapshots,
    usual_knob,
    usual_work,
    values_of_names,
)


def line(value):
    return (10 + 0.1 * value) * MS


def test_throughput_latency_knee_and_budget():
    found = study_tradeoff(series(line, [8, 32, 64, 128, 256]), batch(budget_ns=30 * MS))
    assert [round(point.throughput) for point in found.points] == [741, 2424, 3902, 5614, 7191]
    assert found.knee.place == "within"
    assert found.knee.value == pytest.approx(100, rel=0.01)
    low, high = found.knee.interval
    assert 90 < low < 100 < high < 110
    assert (found.choice.latency.value, found.choice.throughput.value) == (8, 256)
    assert (found.within.largest.value, found.within.next.value) == (128, 256)
    # f(B) * (p95 / f) = 30 ms lies a little below f(B) = 30 ms, at 200.
    assert 190 < found.within.estimate < 200


def test_intervals_hold_the_true_value_and_shrink_with_steps():
    few, many = (
        study_tradeoff([Taken(1.0, run(*about(10 * MS, count, 0.1)))], batch()).points[0] for count in (10, 400)
    )
    for point in (few, many):
        assert point.typical_interval_ns[0] <= 10 * MS <= point.typical_interval_ns[1]
    width = [high - low for low, high in (few.typical_interval_ns, many.typical_interval_ns)]
    assert width[1] < width[0] / 3


def test_runs_of_one_value_are_pooled_and_their_difference_counts():
    alone = study_tradeoff([Taken(1.0, run(*about(10 * MS)))], batch())
    pooled = study_tradeoff([Taken(1.0, run(*about(ms * MS))) for ms in (9, 10, 11)], batch())
    (point,) = pooled.points
    assert (len(point.runs), point.steps) == (3, 60)
    assert point.typical_ns == pytest.approx(10 * MS)
    assert pooled.between_runs
    assert not alone.between_runs
    low, high = point.typical_interval_ns
    assert low < 9 * MS
    assert high > 11 * MS


def test_the_smallest_of_equal_throughputs_is_chosen():
    found = study_tradeoff(series(lambda b: max(10, 0.1 * b) * MS, [8, 64, 128, 256, 512]), batch())
    assert found.choice.throughput.value == 128
    assert found.choice.throughput_alike == (128, 256, 512)
    assert found.choice.latency.value == 64
    assert found.choice.latency_alike == (8, 64)


def test_two_values_have_no_curve_and_no_knee():
    found = study_tradeoff(series(line, [8, 32]), batch(budget_ns=12 * MS))
    assert found.fit is None
    assert found.knee is None
    assert (found.within.largest.value, found.within.estimate) == (8, None)


def test_a_budget_is_not_extrapolated():
    above = study_tradeoff(series(line, [8, 32, 64]), batch(budget_ns=100 * MS))
    assert (above.within.largest.value, above.within.next, above.within.estimate) == (64, None, None)
    below = study_tradeoff(series(line, [8, 32, 64]), batch(budget_ns=1 * MS))
    assert (below.within.largest, below.within.estimate) == (None, None)


@pytest.mark.parametrize(("cost", "place"), [(lambda b: b * MS, "below"), (lambda b: (900 + b) * MS, "beyond")])
def test_a_knee_outside_the_range_has_no_value(cost, place):
    found = study_tradeoff(series(cost, [8, 32, 64]), batch())
    assert (found.knee.place, found.knee.value) == (place, None)


def test_other_knobs_have_no_curve():
    steps = {0: 100, 1: 60, 2: 40, 4: 39.9, 8: 41}
    setting = TradeoffTerms("num_workers", is_amount=False, work="samples", budget_ns=50 * MS)
    found = study_tradeoff(series(lambda w: steps[w] * MS, steps, payload={"samples": 64.0}), setting)
    assert found.fit is None
    assert found.knee is None
    assert found.choice.throughput.value == found.choice.latency.value == 2
    assert found.within.largest.value == 2
    assert found.points[2].throughput == pytest.approx(1600, rel=1e-6)


def test_different_gpus_are_measured_but_not_compared():
    taken = [Taken(float(b), run(*about(line(b)), device_name=f"GPU {b}")) for b in (8, 16, 32)]
    found = study_tradeoff(taken, batch(budget_ns=MS))
    assert found.gpus == ("GPU 16", "GPU 32", "GPU 8")
    assert len(found.points) == 3
    assert (found.fit, found.knee, found.choice, found.within) == (None, None, None, None)


def test_what_has_no_steps_is_left_out_beside_what_has_some():
    taken = [
        Taken(8.0, run(5 * MS, step_source="window")),
        Taken(16.0, run()),
        Taken(32.0, run(0, 0)),
    ]
    found = study_tradeoff([*taken, Taken(64.0, run(MS, MS))], batch())
    assert [each.why for each in found.left_out] == ["no counted steps", "no counted steps", "no steps"]
    assert [point.value for point in found.points] == [64]
    nothing = study_tradeoff(taken[1:], batch())
    assert nothing.points == ()
    assert len(nothing.headroom) == 2


def window(value, ms, launches, **facts):
    """A run without steps, whose window takes so long and launches so much."""
    items = [item("gemm", ms * MS, launches)]
    return Taken(float(value), run(ms * MS, step_source="window", name=f"bs{value}.json", items=items, **facts))


def test_windows_stand_for_steps_where_no_run_has_any():
    found = study_tradeoff([window(2, 32, 575), window(64, 40, 560), window(128, 31, 555)], batch())
    assert [round(point.throughput) for point in found.points] == [62, 1600, 4129]
    assert found.launches == (555, 575)
    assert found.left_out == ()


def test_windows_that_may_hold_other_numbers_of_passes_are_not_compared():
    found = study_tradeoff([window(2, 32, 500), window(64, 80, 1000)], batch())
    assert [each.why for each in found.left_out] == ["other windows", "other windows"]
    assert found.points == ()


def test_a_cold_run_is_left_out_with_what_it_would_take_when_warm():
    taken = [window(2, 32, 9), window(64, 40, 9, start_up_ns=2 * MS), window(512, 1018, 9, start_up_ns=923 * MS)]
    found = study_tradeoff(taken, batch())
    assert [point.value for point in found.points] == [2, 64]
    ((taken, why, warm_ns),) = [(each.taken.value, each.why, each.warm_ns) for each in found.left_out]
    assert (taken, why, warm_ns) == (512, "cold", 95 * MS)
    assert found.limit.point.value == 64
    marked = study_tradeoff([Taken(8.0, run(100 * MS, start_up_ns=90 * MS))], batch())
    assert [each.why for each in marked.left_out] == ["cold"]


def test_without_a_gpu_the_parts_are_those_of_the_training_thread():
    def host(ms):
        return on_host(*[ms * MS] * 8, ledger={"host_data": 5 * MS})

    found = study_tradeoff([Taken(8.0, host(10)), Taken(16.0, host(15))], batch())
    assert {part.category: part.growth for part in found.parts} == {
        "host_operator": "proportional",
        "host_data": "constant",
    }
    assert (found.limit.compute_share, found.limit.is_compute, found.limit.category) == (None, False, "host_operator")


@pytest.mark.parametrize(
    ("paths", "knob", "expected"),
    [
        (["part_bs2.json.gz", "/a/part_bs64.json.gz"], None, ("batch_size", [2, 64])),
        (["b8.duckdb", "b32.duckdb"], None, ("batch_size", [8, 32])),
        (["w0.duckdb", "w4.duckdb"], None, ("num_workers", [0, 4])),
        (["forward_batch_size_2.json", "forward_batch_size_4.json"], None, ("batch_size", [2, 4])),
        (["bs8_rank0.pt.trace.json", "bs16_rank0.pt.trace.json"], None, ("batch_size", [8, 16])),
        (["bs8_w0.json", "bs8_w2.json"], None, None),  # a letter in a longer name may be anything
        (["bs8_nw0.json", "bs8_nw2.json"], None, ("num_workers", [0, 2])),
        (["bs2_seq128.json", "bs4_seq256.json"], None, None),  # two parameters
        (["bs2_seq128.json", "bs4_seq256.json"], "batch_size", ("batch_size", [2, 4])),
        (["lr2.json", "lr4.json"], "lr", ("lr", [2, 4])),
        (["run1.json", "run2.json"], None, None),
        (["bs16_win3.json", "bs16_win4.json"], None, None),
        (["jobs2.json", "jobs4.json"], None, None),
        (["bs8.json", "other.json"], None, None),
    ],
)
def test_values_by_the_names_of_files(paths, knob, expected):
    assert values_of_names(paths, knob) == expected


def test_values_by_what_the_runs_were_made_with():
    def made(**facts):
        return run(MS, made_with={"torch": "2.5.1", **facts})

    runs = [made(batch_size="8", num_workers="2"), made(batch_size="16", num_workers="2")]
    name, taken = take_by_snapshots(runs)
    assert (name, [each.value for each in taken]) == ("batch_size", [8, 16])
    both = [made(batch_size="8", num_workers="2"), made(batch_size="16", num_workers="4")]
    assert take_by_snapshots(both) is None
    assert take_by_snapshots(both, "num_workers")[0] == "num_workers"
    assert take_by_snapshots([made(optimizer="SGD"), made(optimizer="Adam")]) is None
    assert take_by_snapshots([runs[0], run(MS)]) is None


def test_parts_of_the_step_grow():
    def ledger(b):
        total = 2 * b + 40
        return {"compute": 1.5 * b / total, "copy_h2d": 0.5 * b / total, "idle_launch": 40 / total}

    found = study_tradeoff(series(lambda b: (2 * b + 40) * MS, [8, 32, 128], ledger), batch())
    assert {part.category: part.growth for part in found.parts} == {
        "compute": "proportional",
        "copy_h2d": "proportional",
        "idle_launch": "constant",
    }
    assert (found.limit.is_compute, found.limit.category) == (False, "copy_h2d")
    assert found.limit.share == pytest.approx(64 / 296, rel=1e-6)
    (room,) = found.headroom
    assert room.bound == pytest.approx(296 / 192, rel=1e-6)


@pytest.mark.parametrize(
    ("compute", "exponent", "is_limit", "bound"),
    [
        (lambda b: 10 + 0.01 * b, 0.01, False, None),  # does not grow: more work costs nothing
        (lambda b: b**0.85, 0.85, True, None),  # grows, but every doubling wins a tenth
        (lambda b: min(b, 64), 0, False, None),  # stops growing at the end
        (lambda b: max(b, 8), 0.9, True, None),  # is constant at first
        (lambda b: 2 * b, 1, True, 1),
    ],
)
def test_the_bound_needs_compute_that_grows_in_proportion(compute, exponent, is_limit, bound):
    found = study_tradeoff(
        series(lambda b: compute(b) * MS, [4, 8, 16, 32, 64, 128], saturated="It computes."), batch()
    )
    (room,) = found.headroom
    assert room.exponent == pytest.approx(exponent, abs=0.05)
    assert found.limit.is_compute == is_limit
    assert room.bound == (None if bound is None else pytest.approx(bound, rel=1e-6))
    assert room.saturated == (None if bound is None else "It computes.")


def test_a_curve_that_misses_the_steps_is_not_used():
    steps = {1: 50, 2: 20, 4: 60, 8: 10, 16: 100}
    found = study_tradeoff(series(lambda b: steps[b] * MS, steps), batch(budget_ns=70 * MS))
    assert found.missed > 0.5
    assert (found.fit, found.knee, found.within.estimate) == (None, None, None)
    assert study_tradeoff(series(line, [8, 32, 64]), batch()).missed is None


def test_one_run_says_what_the_rule_says():
    saturated, untold = (
        study_tradeoff([Taken(None, run(MS, MS, **facts))], batch(work="steps")).headroom[0]
        for facts in ({"saturated": "The GPU computes."}, {"cannot_tell": {"gpu-saturated": "kernels are small"}})
    )
    assert (saturated.saturated, saturated.reason) == ("The GPU computes.", None)
    assert (untold.saturated, untold.reason) == (None, "kernels are small")


def test_a_run_without_a_gpu_has_no_bound():
    found = study_tradeoff([Taken(8.0, run(*about(MS), ledger={}, device=None))], batch())
    assert (found.limit, found.parts, found.headroom[0].bound) == (None, (), None)


def test_marks_name_the_knob():
    runs = [
        run(1, payload={"zeta": 1.0, "samples": 31.9, "tokens": 100.0}),
        run(1, payload={"samples": 32.1, "tokens": 300.0}),
    ]
    assert list_marked(runs) == ["samples", "tokens"]
    assert usual_knob(runs) == "samples"
    taken = take_by_marks(runs, "samples")
    assert [each.value for each in taken] == [32.0, 32.0]
    assert usual_work(take_by_marks(runs, "tokens"), "tokens") == "tokens"
    assert usual_work(taken, "num_workers") == "samples"
    assert usual_work([Taken(None, run(1))], "batch_size") == "steps"


def test_a_knob_that_work_grows_with_is_an_amount():
    grows = [Taken(float(b), run(1, payload={"samples": 4.0 * b})) for b in (1, 2, 4)]
    stays = [Taken(float(b), run(1, payload={"samples": 4.0})) for b in (1, 2, 4)]
    assert is_amount(grows, "micro_batches", "samples")
    assert not is_amount(stays, "num_workers", "samples")
    assert not is_amount([Taken(0.0, run(1, payload={"b": 1.0}))], "b", "b")


@pytest.mark.parametrize("work", [float("inf"), float("nan"), 1e300, 0.0, -1.0])
def test_marks_that_are_no_work_do_not_count(work):
    runs = [run(MS, MS, payload={"samples": work})]
    assert list_marked(runs) == []
    assert study_tradeoff([Taken(8.0, runs[0])], batch(work="samples")).points[0].throughput == pytest.approx(1_000)


def test_a_value_that_another_beats_in_both_is_not_recommended_however_little_is_known_of_it():
    """Of 64 two steps were seen, one of them long: it may be as good as any other, and 16 is faster and does more."""
    taken = [Taken(16.0, run(*about(0.927 * MS))), Taken(64.0, run(5 * MS, 6 * MS, 0.5 * MS, 12 * MS))]
    found = study_tradeoff(taken, batch())
    assert (found.choice.latency.value, found.choice.throughput.value) == (16, 16)


@pytest.mark.parametrize("budget_ns", [None, 1 * MS, 20 * MS])
@pytest.mark.parametrize("scatter", [0.02, 0.6])
def test_the_longest_step_with_less_throughput_is_never_called_best(budget_ns, scatter):
    """Seen with noisy runs: 16 samples at 0.927 ms, 17,261/s; 64 at 5.490 ms, 11,658/s, and 64 was "best for both"."""
    tried = {16: 0.927 * MS, 32: 2.1 * MS, 64: 5.490 * MS}
    taken = [
        Taken(float(value), run(*about(ns, spread=scatter), payload={"samples": float(value)}, name=f"{value}.json"))
        for value, ns in tried.items()
    ]
    found = study_tradeoff(taken, batch(knob="samples", work="samples", budget_ns=budget_ns))
    assert [round(point.throughput) for point in found.points] == [17_260, 15_238, 11_658]
    assert (found.choice.latency.value, found.choice.throughput.value) == (16, 16)
    assert {(point.value, by.value) for point, by in found.dominated} == {(32, 16), (64, 16)}
    assert found.within is None or found.within.largest is None or found.within.largest.value == 16


_STEPS = st.lists(st.integers(1, 100).map(lambda ms: ms * MS), min_size=2, max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 512), _STEPS), min_size=2, max_size=5, unique_by=lambda each: each[0]),
    st.booleans(),
    st.integers(1, 100),
)
def test_nothing_that_is_recommended_is_dominated(tried, is_amount, budget):
    taken = [Taken(float(value), run(*steps, name=f"run{value}.json")) for value, steps in tried]
    found = study_tradeoff(taken, batch(is_amount=is_amount, budget_ns=budget * MS))
    fitting = [point for point in found.points if point.latency("p95") <= budget * MS]
    within = [(found.within.largest, fitting)] if fitting else []
    for chosen, points in ((found.choice.latency, found.points), (found.choice.throughput, found.points), *within):
        for other in points:
            is_better = other.typical_ns < 0.99 * chosen.typical_ns or 0.99 * other.throughput > chosen.throughput
            is_as_good = other.typical_ns <= chosen.typical_ns and other.throughput >= chosen.throughput
            assert not (is_as_good and is_better), (chosen.value, other.value)
