from __future__ import annotations

from math import exp, log, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.runs.trials.paired import adjust_holm, judge_differences, log_ratios, mean_of

ps = st.lists(st.floats(0, 1), max_size=8)


@given(ps)
def test_holm_is_what_it_is_by_its_definition(values):
    ordered = sorted(values)
    found = adjust_holm(values)
    for value, adjusted in zip(values, found, strict=True):
        expected = max(min(1, (len(values) - place) * each) for place, each in enumerate(ordered) if each <= value)
        assert adjusted == pytest.approx(expected)
        assert adjusted >= value


@given(ps)
def test_holm_keeps_the_order(values):
    pairs = sorted(zip(values, adjust_holm(values), strict=True))
    assert [adjusted for _, adjusted in pairs] == sorted(adjusted for _, adjusted in pairs)


def test_what_is_common_to_a_round_cancels():
    busy = [1.0, 1.4, 0.9, 2.0, 1.1]
    found = mean_of(log_ratios(dict(enumerate(9 * each for each in busy)), dict(enumerate(10 * each for each in busy))))
    assert exp(found.value) == pytest.approx(0.9)
    assert found.interval() == (pytest.approx(0.9), pytest.approx(0.9))


def test_only_rounds_in_which_both_ran_count():
    assert log_ratios({0: 1.0, 2: 4.0, 3: 5.0}, {1: 1.0, 2: 2.0}) == [pytest.approx(log(2))]


def test_a_round_alone_says_nothing_of_how_sure_it_is():
    found = mean_of([0.1])
    assert (found.p, found.interval()) == (None, None)
    assert judge_differences({"one": found}, 0.02, more_is_better=False)["one"].verdict == "cannot tell"


def test_where_rounds_are_few_the_scatter_of_other_settings_counts():
    ratios, others = [0.1, 0.1001, 0.0999], [[0.0, 0.1], [0.05, -0.05], [0.1, 0.3]]
    alone, beside = mean_of(ratios), mean_of(ratios, others)
    assert (alone.freedom, beside.freedom) == (2, 5)
    assert beside.error > alone.error


@pytest.mark.parametrize(("ratios", "freedom"), [([0.1, 0.12], 1), ([0.1, 0.5, -0.3], 2), ([0.1, 0.11, 0.12], 5)])
def test_it_does_not_for_two_rounds_or_where_the_setting_is_much_noisier(ratios, freedom):
    assert mean_of(ratios, [[0.0, 0.02, 0.01, 0.03]] * 2).freedom == freedom


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([0.90, 0.91, 0.89, 0.90], "better"),
        ([1.10, 1.11, 1.09, 1.10], "worse"),
        ([1.001, 0.999, 1.002, 0.998], "no difference"),
        ([0.9, 1.1, 1.2, 0.85], "cannot tell"),
        # Sure, but below the least effect, and as the interval has it perhaps not.
        ([0.982, 0.979, 0.984, 0.9805], "cannot tell"),
    ],
)
def test_verdicts(ratios, expected):
    found = judge_differences({"it": mean_of([log(each) for each in ratios])}, 0.02, more_is_better=False)["it"]
    assert found.verdict == expected
    turned = judge_differences({"it": mean_of([-log(each) for each in ratios])}, 0.02, more_is_better=True)["it"]
    assert turned.verdict == expected


@pytest.mark.parametrize("noise", [[0.02] * 5, [0.01, 0.01, 0.01, 0.01, 0.06]])
def test_of_settings_that_change_nothing_few_experiments_call_any_different(noise):
    """Five settings, four rounds: without the adjustment a fifth of the experiments would."""
    random = Random(1)  # noqa: S311
    wrong = 0
    for _ in range(400):
        shared = [random.gauss(0, noise[0]) for _ in range(4)]
        ratios = {f"{place}": [random.gauss(0, each) - one for one in shared] for place, each in enumerate(noise)}
        means = {name: mean_of(each, [o for n, o in ratios.items() if n != name]) for name, each in ratios.items()}
        found = judge_differences(means, 0.0, more_is_better=False)
        wrong += any(each.verdict in ("better", "worse") for each in found.values())
    assert wrong / 400 < 0.05 + 2 * sqrt(0.05 * 0.95 / 400)
