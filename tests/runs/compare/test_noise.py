"""What runs of one program differ by, beyond what their own steps tell."""

from __future__ import annotations

import json

import numpy as np
import pytest
from handmade_runs import MS, noisy, run
from msgspec.structs import replace

from traceq.errors import WrongUse
from traceq.reports.comparison.noise import compose_noise
from traceq.reports.renderers.comparison_to_json import noise_to_json
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.noise import measure_noise

STEP = 100 * MS


def runs(*shares, count=40, share=0.01, **facts):
    """Runs whose steps are so much of STEP as a rule, and scatter by `share`."""
    return [
        run(*noisy(round(each * STEP), count=count, share=share, seed=seed), name=f"run{seed}.json", **facts)
        for seed, each in enumerate(shares)
    ]


def test_runs_that_differ_by_their_steps_only_have_no_noise():
    found = measure_noise(runs(*[1.0] * 6))
    assert found.between < 0.002
    assert found.within == pytest.approx(0.01 / 40**0.5, rel=0.5)
    assert found.low == 0


def test_the_noise_is_the_standard_deviation_of_what_runs_differ_by():
    shares = (0.97, 1.03, 1.0, 0.98, 1.02, 1.0)
    found = measure_noise(runs(*shares))
    assert found.between == pytest.approx(float(np.std(shares, ddof=1)), rel=0.1)
    assert found.low < found.between < found.high
    assert [round(step / MS) for step in found.steps_ns] == [97, 103, 100, 98, 102, 100]


@pytest.mark.slow
def test_of_many_series_of_runs_95_in_100_intervals_hold_the_truth():
    random = np.random.default_rng(5)
    held = 0
    for _ in range(100):
        found = measure_noise(runs(*(1 + 0.03 * random.standard_normal(5)), count=12, share=0.005))
        held += found.low <= 0.03 <= found.high
    assert held >= 90


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "^noise needs two runs with at least two counted steps each; 0 qualify$"),
        (runs(1.0), "^noise needs two runs with at least two counted steps each; 1 qualifies$"),
        ([*runs(1.0), *runs(1.0)], "each; 1 qualifies$"),
        (
            [replace(each, device_name=each.file) for each in runs(1.0, 1.1)],
            "is not a run of the same program as run0.json",
        ),
    ],
    ids=["none", "one", "one twice", "another GPU"],
)
def test_what_has_no_noise_is_refused(given, why):
    with pytest.raises(WrongUse, match=why):
        measure_noise(given)


def test_it_is_said_with_the_option_that_takes_it():
    found = measure_noise(runs(0.97, 1.03, 1.0))
    text = blocks_to_text(compose_noise(found), 100)
    assert "traceq compare BASE NEW --noise 2.9%" in text
    assert "3 runs are too few for a good estimate: record 5 or more." in text
    told = json.loads(noise_to_json(found))
    assert told["between"] == found.between
    assert [each["file"] for each in told["runs"]] == ["run0.json", "run1.json", "run2.json"]
