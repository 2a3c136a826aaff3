"""What a replay promises for a scenario is what the simulated program wins when the cause is really taken out.

`python tests/benchmarks/whatif_truth.py` prints all of it by scene and scenario.
"""

from __future__ import annotations

import pytest
from simulator import CAUSES
from whatif import ALONE, INJECTED, PAIRS, ROUNDED, TRIPLES, WRITERS, list_cases, sum_cases

MEDIAN, INSIDE = 0.02, 0.95
# Not below this, where the aim is not reached yet (docs/roadmap.md). A fifth of what is missing alone is one scene, frozen_ranks:
# the replay of one rank knows nothing of the others.
REACHED = {"some alone": 0.85, "alone": 0.85, "pairs": 0.95, "all alone": 0.88, "all pairs": 0.9, "triples": 0.85}


def sample_scenes(scenes, every=1):
    """Return (scene, format) of each `every`-th scene, in one format each, in turn."""
    return [(name, list(WRITERS)[number % 2]) for number, name in enumerate(list(scenes)[::every])]


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """measured(group): the cases of its scenes, worked out once."""
    groups = {
        "some alone": sample_scenes((one for one in ALONE if one not in CAUSES), 4),
        "alone": sample_scenes(one for one in ALONE if one not in CAUSES),
        "all alone": [(name, one) for name in ALONE for one in WRITERS],
        "pairs": sample_scenes(PAIRS, 13),
        "injected": sample_scenes(INJECTED, 14),
        "all pairs": [(name, one) for name in PAIRS for one in WRITERS],
        "all injected": [(name, one) for name in INJECTED for one in WRITERS],
        "triples": [(name, one) for name in TRIPLES for one in WRITERS],
    }
    found = {}

    def of(group):
        if group not in found:
            folder = tmp_path_factory.mktemp("whatif")
            found[group] = [one for scene in groups[group] for one in list_cases(*scene, folder)]
        return found[group]

    return of


GROUPS = [
    "some alone",
    "pairs",
    pytest.param("injected", marks=pytest.mark.slow),
    pytest.param("alone", marks=pytest.mark.slow),
    pytest.param("all alone", marks=pytest.mark.slow),
    pytest.param("all pairs", marks=pytest.mark.slow),
    pytest.param("all injected", marks=pytest.mark.slow),
    pytest.param("triples", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_savings_are_what_is_really_won(group, measured):
    found = measured(group)
    assert sum_cases(found).median <= MEDIAN
    assert sum_cases(one for one in found if one.matters).median <= MEDIAN


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_really_won_is_inside_the_bounds(group, measured):
    """In as many cases as it is today; INSIDE is the aim."""
    found = measured(group)
    assert sum_cases(found).inside >= REACHED.get(group, INSIDE), [one for one in found if not one.is_inside]


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="of long launches, waits for workers and other threads, and other ranks")
@pytest.mark.parametrize("group", ["alone"])
def test_it_is_as_often_as_it_should_be(group, measured):
    assert sum_cases(measured(group)).inside >= INSIDE


@pytest.mark.parametrize("group", GROUPS)
def test_more_taken_away_never_saves_less(group, measured):
    saved = {(one.scene, one.trace_format, one.scenario): one.saved for one in measured(group) if one.saved is not None}
    for (*trace, scenario), together in saved.items():
        for part in scenario.split(" & "):
            assert together >= saved.get((*trace, part), 0) - ROUNDED, (trace, scenario, part)
        assert saved.get((*trace, f"{scenario}/4"), together) <= together + ROUNDED, (trace, scenario)


@pytest.mark.parametrize("group", GROUPS)
def test_a_likely_saving_is_inside_its_bounds(group, measured):
    assert [one for one in measured(group) if one.saved is not None and not one.low <= one.saved <= one.high] == []


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_saves_less_than_nothing(group, measured):
    assert [one for one in measured(group) if one.saved is not None and one.saved < -ROUNDED] == []


@pytest.mark.parametrize("trace_format", WRITERS)
def test_while_workers_are_too_slow_faster_kernels_save_nothing(trace_format, tmp_path):
    """Batches come four at a time, and three steps of four wait for none: what these save is waited for in the fourth."""
    found = {each.scenario: each for each in list_cases("bursty_loader", trace_format, tmp_path)}
    for scenario in ("compute", "copy_h2d", "idle_sync"):
        one = found[scenario]
        # all of its time was promised before
        assert abs(one.saved - max(one.won, 0)) <= 0.02 * one.whole, one
    assert found["idle_data"].is_inside
