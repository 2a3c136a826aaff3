from __future__ import annotations

import numpy as np
import pytest

from traceq.runs.trials.results import choose_work, measure_percentiles
from traceq.runs.trials.trial import Trial


def trials(count, steps, seed=1):
    """Steps of 10 ms that scatter by 5 %, in trials that differ by 2 %."""
    numbers = np.random.default_rng(seed)
    for number in range(count):
        drawn = 1e7 * np.exp(numbers.normal(0, 0.02) + numbers.normal(0, 0.05, steps))
        yield Trial("a", number, number, "ok", steps_ns=tuple(int(each) for each in drawn))


@pytest.mark.parametrize(("count", "steps"), [(5, 20), (9, 20), (9, 60)])
def test_intervals_of_percentiles_hold_the_true_ones(count, steps):
    spread = float(np.hypot(0.02, 0.05))
    true = {"p50": 1e7, "p95": 1e7 * np.exp(1.645 * spread), "p99": 1e7 * np.exp(2.326 * spread)}
    held = {name: [] for name in true}
    for seed in range(150):
        for name, found in measure_percentiles(list(trials(count, steps, seed))).items():
            if found.interval is not None:
                held[name].append(found.interval[0] <= true[name] <= found.interval[1])
    for each in held.values():
        assert not each or sum(each) / len(each) > 0.9
    assert held["p50"]
    assert bool(held["p99"]) == (count * steps >= 368)


def test_one_trial_has_no_intervals():
    assert {each.interval for each in measure_percentiles(list(trials(1, 400))).values()} == {None}


def test_work_is_what_all_trials_that_ran_count():
    def of(**work):
        return Trial("a", 0, 0, "ok", work=work)

    failed = Trial("a", 1, 1, "failed")
    assert choose_work([of(tokens=8.0, samples=2.0), of(samples=4.0, tokens=1.0), failed]) == "samples"
    assert choose_work([of(samples=2.0), of(frames=2.0)]) == "steps"
    assert choose_work([of(samples=0.0)]) == "steps"
