"""compare, check and verify answer one question alike: whether the step changed."""

from __future__ import annotations

import pytest
from handmade_runs import MS, noisy, run
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from traceq.diagnosis.finding import Confidence
from traceq.runs.budgets.budget import Budget
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import compare
from traceq.runs.compare.known_noise import KnownNoise
from traceq.runs.run import FindingKept
from traceq.runs.verify.verify import verify

pytestmark = pytest.mark.usefixtures("fewer_draws")

HIGH: Confidence = "high"
FOUND = FindingKept("host-bound", "host-bound", "Waits", 5 * MS, 1 * MS, 9 * MS, HIGH)
PASSES = {"regression": "fail", "improvement": "pass", "no change": "pass", "cannot tell": "cannot judge"}


@pytest.fixture(scope="module", autouse=True)
def fewest_draws():
    """One question three times, in many examples."""
    from traceq.runs import statistics

    patch = pytest.MonkeyPatch()
    patch.setattr(statistics, "_PERMUTATIONS", 499)
    patch.setattr(statistics, "_MOST_RESAMPLES", 1_000)
    yield
    patch.undo()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.floats(0.85, 1.15),
    st.sampled_from([0.002, 0.02, 0.1]),
    st.integers(1, 3),
    st.sampled_from([None, KnownNoise(0), KnownNoise(0.03)]),
    st.sampled_from(["NVIDIA H100", "NVIDIA A100"]),
)
def test_they_never_disagree(seed, count, factor, share, several, noise, gpu):
    base = [
        run(*noisy(100 * MS, count, share, seed + number), name=f"base{number}", findings=(FOUND,))
        for number in range(several)
    ]
    new = [
        run(*noisy(round(factor * 100 * MS), count, share, seed + 50 + number), name=f"new{number}", device_name=gpu)
        for number in range(several)
    ]
    found = compare(base, new, noise=noise)
    assert judge_regression(Budget("compare", "base", ()), found).state == PASSES[found.verdict]
    verified = verify("host-bound", base, new, noise=noise)
    assert verified.comparison.verdict == found.verdict
    change = found.change
    assert found.verdict == "cannot tell" or change.interval_ns is not None
    if change.interval_ns is not None:
        low, high = change.interval_ns
        assert (low <= 0 <= high) == (change.p > found.level)
    if found.verdict in ("regression", "improvement"):
        sign = 1 if found.verdict == "regression" else -1
        assert all(sign * bound > 0 for each in found.named for bound in each.interval_ns)
        assert all(sign * each.delta_ns > 0 for each in found.named)
    if change.detectable_ns is not None:
        assert change.detectable_ns <= change.base_ns


def test_a_prediction_is_not_right_without_an_improvement():
    base = [run(*noisy(100 * MS, 20, 0.01, 1), name="base", findings=(FOUND,))]
    same = [replace(base[0], sha256="other", findings=())]
    assert verify("host-bound", base, same).prediction in ("too high", "cannot tell")
