"""How sure a difference is, against definitions written out, and against what is known of simulated steps."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from statistics import mean, median

import numpy as np
import pytest
from builder import TraceBuilder
from handmade_runs import MS, run

from traceq.runs import statistics
from traceq.runs.compare.compare import compare
from traceq.runs.compare.side import step_ns

SIZES = [(1, 1), (2, 2), (3, 4), (5, 5), (2, 9), (7, 6)]


def few(random, count, values=1000):
    return random.integers(0, values, count).astype(float)


def deals_that_differ_as_much(first, second, weight):
    """The share of all deals, in whole numbers."""
    values = [*first, *second]
    weights = [weight(value, values) for value in values]
    total, count = sum(weights), len(values)

    def apart(chosen):
        return abs(count * sum(weights[place] for place in chosen) - total * len(first))

    observed = apart(range(len(first)))
    deals = [apart(chosen) >= observed for chosen in combinations(range(count), len(first))]
    return sum(deals) / len(deals)


def rank(value, values):
    return 2 * sum(other < value for other in values) + values.count(value)


@pytest.mark.parametrize("values", [3, 1000])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("statistic", "weight"), [("typical", rank), ("mean", lambda value, _: value)])
def test_p_is_the_share_of_all_deals(statistic, weight, sizes, values):
    random = np.random.default_rng([*sizes, values])
    for _ in range(3):
        first, second = (
            few(random, sizes[0], values),
            few(random, sizes[1], values) + random.integers(0, 2) * values / 2,
        )
        expected = deals_that_differ_as_much(first.tolist(), second.tolist(), weight)
        assert statistics.permutation_p([first], [second], statistic) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", ["typical", "mean"])
def test_p_of_many_steps_is_near_the_share_of_all_deals(statistic):
    random = np.random.default_rng(8)
    first, second = few(random, 8), few(random, 9) + 300
    assert math.comb(17, 8) > statistics._MOST_EXACT
    expected = deals_that_differ_as_much(
        first.tolist(), second.tolist(), rank if statistic == "typical" else lambda value, _: value
    )
    assert statistics.permutation_p([first], [second], statistic) == pytest.approx(expected, abs=0.015)


def test_p_deals_the_steps_of_all_runs_of_a_side():
    first, second, third = np.array([1.0, 2]), np.array([3.0, 9]), np.array([5.0, 6, 7])
    pooled = statistics.permutation_p([np.concatenate([first, second])], [third], "mean")
    assert statistics.permutation_p([first, second], [third], "mean") == pooled


@pytest.mark.parametrize("base", range(7))
@pytest.mark.parametrize("new", range(7))
def test_no_p_is_below_the_least(base, new):
    if not base or not new:
        assert statistics.least_p(base, new) == 1
        return
    as_far_apart_as_can_be = [np.arange(base, dtype=float)], [np.arange(new) + 1000.0]
    assert statistics.permutation_p(*as_far_apart_as_can_be, "typical") <= statistics.least_p(base, new)
    if base == new:
        assert statistics.permutation_p(*as_far_apart_as_can_be, "typical") == statistics.least_p(base, new)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 30])
def test_the_typical_step_is_the_mean_of_the_middle_half(count):
    durations = [(number * 7919) % 101 + number for number in range(count)]
    left_out = count // 4
    kept = sorted(durations)[left_out : count - left_out]
    assert step_ns([run(*durations)], "typical") == Fraction(sum(kept), len(kept))
    assert step_ns([run(*durations)], "mean") == Fraction(sum(durations), count)
    steps = np.array([[dur, number] for number, dur in enumerate(durations)], dtype=float)
    assert statistics.center_of(steps, "typical")[0] == pytest.approx(mean(kept))
    assert statistics.center_of(steps, "mean")[0] == pytest.approx(mean(durations))


def test_parts_are_those_of_the_steps_in_the_middle():
    steps = np.array([[4, 40], [1, 10], [3, 30], [2, 20]], dtype=float)
    assert statistics.center_of(steps, "typical").tolist() == [2.5, 25]


def test_equal_steps_are_in_the_middle_in_the_order_of_time_as_in_the_run():
    durations = [5, 5, 5, 5, 5]
    steps = np.array([[5, number] for number in range(5)], dtype=float)
    assert [step.step for step in run(*durations).typical] == [1, 2, 3]
    assert statistics.center_of(steps, "typical")[1] == 2


def autoregressive(random, count, correlation):
    values = [random.normal()]
    for _ in range(count - 1):
        values.append(correlation * values[-1] + math.sqrt(1 - correlation**2) * random.normal())
    return np.array(values)


def test_steps_that_do_not_resemble_the_ones_before_them_are_independent():
    random = np.random.default_rng(1)
    assert statistics.dependence_factor([np.array([1.0, 2] * 15)]) == 1
    assert statistics.dependence_factor([np.full(10, 5.0)]) == 1
    assert statistics.dependence_factor([np.array([5.0])]) == 1
    found = [statistics.dependence_factor([random.normal(size=30)]) for _ in range(200)]
    assert median(found) < 1.1


@pytest.mark.parametrize("correlation", [0.3, 0.6, 0.8])
def test_steps_that_resemble_the_ones_before_them_tell_less(correlation):
    random = np.random.default_rng(2)
    found = [
        statistics.dependence_factor([autoregressive(random, 60, correlation) for _ in range(2)]) for _ in range(100)
    ]
    expected = math.sqrt((1 + correlation) / (1 - correlation))
    assert median(found) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("statistic", ["typical", "mean"])
@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda random: random.normal(100, 3, 12), id="normal"),
        pytest.param(lambda random: 100 + random.exponential(3, 20), id="skewed"),
        pytest.param(lambda random: 100 + 3 * autoregressive(random, 30, 0.5), id="dependent"),
    ],
)
def test_the_interval_holds_the_truth(statistic, draw, monkeypatch):
    """Both sides from one distribution: the true difference is 0; 99 % intervals."""
    monkeypatch.setattr(statistics, "_MOST_RESAMPLES", 1_000)
    random = np.random.default_rng(3)
    missed = 0
    for _ in range(150):
        base, new = (draw(random)[:, None] for _ in range(2))
        delta = float(statistics.center_of(new, statistic)[0] - statistics.center_of(base, statistic)[0])
        # whole ns are too coarse for these numbers
        spread = statistics.Spread(1e6 * statistics.measure_spread([base], [new], statistic).resamples)
        low, high = spread.interval(0, 1e6 * delta, 0.01)
        missed += not low <= 0 <= high
    assert missed <= 6


@pytest.mark.slow
def test_several_runs_that_differ_as_wholes_widen_the_interval():
    random = np.random.default_rng(4)
    missed = 0
    for _ in range(100):
        sides = [[random.normal(100 + random.normal(0, 5), 1, (12, 1)) for _ in range(3)] for _ in range(2)]
        delta = np.mean(sides[1]) - np.mean(sides[0])
        spread = statistics.Spread(1e6 * statistics.measure_spread(*sides, "mean").resamples)
        low, high = spread.interval(0, 1e6 * delta, 0.01)
        missed += not low <= 0 <= high
    assert missed <= 5


def test_what_can_be_found_is_four_standard_errors():
    """At 1 % and 9 of 10: 2.58 + 1.28 standard errors of the difference."""
    random = np.random.default_rng(5)
    base, new = (random.normal(100, 3, (200, 1)) for _ in range(2))
    expected = (2.576 + 1.282) * 3 * math.sqrt(2 / 200)
    assert statistics.measure_spread([base], [new], "mean").detectable(0.01) == pytest.approx(expected, rel=0.15)


def test_a_single_step_has_no_scatter():
    assert statistics.measure_spread([np.ones((1, 1))], [np.ones((5, 1))], "mean") is None


def test_the_same_numbers_give_the_same_interval_and_p():
    random = np.random.default_rng(6)
    base, new = (random.normal(100, 3, (30, 2)) for _ in range(2))
    first, second = (statistics.measure_spread([base], [new], "typical").interval(1, 0.0, 0.01) for _ in range(2))
    assert first == second
    first, second = (statistics.permutation_p([base[:, 0]], [new[:, 0]], "typical") for _ in range(2))
    assert first == second


def mann_kendall(values):
    """Score and two-sided p by the normal approximation with ties, after the textbook."""
    count = len(values)
    score = sum(
        (values[second] > values[first]) - (values[second] < values[first])
        for first, second in combinations(range(count), 2)
    )
    ties = [values.count(value) for value in set(values)]
    variance = (count * (count - 1) * (2 * count + 5) - sum(tie * (tie - 1) * (2 * tie + 5) for tie in ties)) / 18
    z = (abs(score) - 1) / math.sqrt(variance)
    return score, math.erfc(z / math.sqrt(2))


def test_a_drift_is_the_median_slope_and_the_p_of_mann_and_kendall():
    values = [100, 101, 101, 103, 102, 105, 106, 106, 108, 109]
    slopes = [(values[j] - values[i]) / (j - i) for i, j in combinations(range(len(values)), 2)]
    change, p = statistics.find_drift(np.array(values, dtype=float))
    assert change == pytest.approx(9 * median(slopes))
    assert p == pytest.approx(mann_kendall(values)[1])


@pytest.mark.parametrize("count", [8, 20, 2500])
def test_a_drift_is_found_however_long_the_run(count):
    change, p = statistics.find_drift(np.linspace(100, 90, count))
    assert change == pytest.approx(-10)
    assert p < 0.001


def test_no_drift_where_there_is_none():
    random = np.random.default_rng(7)
    assert statistics.find_drift(np.arange(7.0)) is None
    assert statistics.find_drift(np.full(20, 5.0)) is None
    assert statistics.find_drift(np.array([1.0, 2] * 10)) is None
    assert sum(statistics.find_drift(random.normal(size=30)) is not None for _ in range(300)) <= 9


def test_outliers_are_those_of_the_view(tmp_path):
    random = np.random.default_rng(8)
    for count in (4, 30):
        usual = [int(dur) for dur in random.normal(1000, 20, count)]
        usual[1] = usual[-1] = 3000
        folder = tmp_path / str(count)
        folder.mkdir()
        trace, ts = TraceBuilder(), 0
        for step, dur in enumerate(usual):
            trace.annotation(f"ProfilerStep#{step}", ts, dur)
            trace.kernel("gemm", ts + 10, 20, launched=(ts + 1, 5))
            ts += dur
        trace.build(folder)
        durations = np.array([dur for (dur,) in trace.rows("select dur from step order by step")], dtype=float)
        seen = [step for (step,) in trace.rows("select distinct step from outlier_step order by step")]
        assert statistics.find_outliers(durations) == seen
        assert bool(seen) == (count == 30)


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([100, 100, 100, 110], []),
        ([100, 100, 100, 111], [3]),
        ([100, 90, 110, 100, 149], []),
        ([100, 90, 110, 100, 151], [4]),
        ([100, 100, 1], []),
        ([], []),
    ],
)
def test_an_outlier_is_above_5_mads_and_above_a_tenth(durations, expected):
    assert statistics.find_outliers(np.array(durations, dtype=float)) == expected


def test_an_interval_holds_what_the_longer_side_may_have_been():
    base, new = run(*[5 * MS] * 8, name="a"), run(*(MS * dur for dur in (40, 70, 90, 100, 110, 130, 150, 60)), name="b")
    found = compare([base], [new], anyway=True)
    low, high = found.change.interval_ns
    assert -5 * MS <= low < found.change.delta_ns < found.change.new_ns < high
