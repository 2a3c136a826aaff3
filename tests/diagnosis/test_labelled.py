"""Reports of traces whose bottleneck is known: a part of what `python tools/accuracy.py` measures.

A cause alone is read in one of the two formats, in turn: that both give the same ledger is proven in tests/simulation.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "make"))

from labelled import measure, real, simulated

ALONE = [
    case
    for case in simulated.cases()
    if case.kind == "single" and " x0.6" not in case.name and " x2.0" not in case.name
]
# They come by format, each cause in the same place.
_HALF = len(ALONE) // 2
ALONE = [ALONE[number % 2 * _HALF + number] for number in range(_HALF)]
PAIRS = [case for case in simulated.cases() if case.kind == "pair"][::40]
HEALTHY = [case for case in simulated.cases() if case.kind == "clean"]
# Each takes seconds; a few show every day that what is measured is right.
EVERY_DAY = ("idle_data x1.0 nsys", "idle_dependency x1.0 kineto", "long_collective nsys", "healthy nsys")
# Of the real traces what is to be measured is measured by `python tools/accuracy.py --real`, a job of its own.
RESNET = [each for each in real.truths() if each.name.startswith("kineto_resnet50_w")] or [
    pytest.param(None, marks=pytest.mark.skip(reason="no shared/traces beside the checkout"))
]


def named(case):
    return case.name.replace(" ", "-")


def mostly_slow(cases):
    """The cases, those that are not asked every day as slow."""
    assert {case.name for case in cases} & {*EVERY_DAY}
    marks = {case.name: [] if case.name in EVERY_DAY else [pytest.mark.slow] for case in cases}
    return [pytest.param(case, marks=marks[case.name]) for case in cases]


@pytest.mark.parametrize("case", mostly_slow(ALONE), ids=named)
def test_one_bottleneck_stands_first_and_its_range_holds_what_it_costs(case):
    measured = measure.one(case)
    assert measured.failed == ()
    assert measured.is_right, measured.rules
    told = measured.named
    # A remark has no range.
    if told is not None and measured.name.split()[0] in simulated.CAUSES:
        # A few of its pieces may belong to a smaller finding.
        assert told.low <= told.won <= 1.01 * told.high


@pytest.mark.parametrize("case", PAIRS, ids=named)
@pytest.mark.slow
def test_two_bottlenecks_are_among_the_first_three(case):
    measured = measure.one(case)
    assert measured.failed == ()
    assert measured.is_right, measured.rules


@pytest.mark.parametrize("case", mostly_slow(HEALTHY), ids=named)
def test_a_healthy_loop_has_nothing_to_win(case):
    measured = measure.one(case)
    assert measured.failed == ()
    assert [each for each in measured.told if each.share > measure.MOST_OF_HEALTHY] == []


@pytest.mark.slow
@pytest.mark.parametrize("truth", RESNET, ids=lambda truth: truth and truth.name)
def test_reports_of_a_loop_without_and_with_workers_begin_with_what_limits_it(truth, databases):
    result = real.result(truth, databases(truth.path))
    assert result.first == "right", result.said
