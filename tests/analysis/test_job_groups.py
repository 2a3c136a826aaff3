"""Groups of which every rank knows an address only."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from traceq.analysis.job.groups import LocalGroup, match_groups

STEPS = 84


def local_groups(
    ranks, size, *, world=64, steps=STEPS, seed=1, jitter=20_000.0, spread=300_000.0, offset=50e6, drift=5e-5
):
    """Each group's collectives end at intervals of its own; each rank's clock is off, and drifts."""
    random = np.random.default_rng(seed)
    found = []
    for first in range(0, ranks, size):
        ends = np.cumsum(5e6 + spread * random.standard_normal(steps))
        for rank in range(first, first + size):
            clock = random.uniform(-offset, offset) + random.uniform(-drift, drift) * ends
            seen = ends + clock + random.uniform(-jitter, jitter, steps)
            places = {f"{place} all_reduce": round(end) for place, end in enumerate(seen)}
            found.append(LocalGroup(0, 0, rank, str(9_000_000_000 + rank), size, world, places))
    return found


def list_units(groups):
    return [[each.unit for each in group] for group in groups]


def test_eight_groups_of_eight_are_found_whatever_the_clocks_say():
    assert list_units(match_groups(local_groups(64, 8))) == [list(range(first, first + 8)) for first in range(0, 64, 8)]


def test_members_that_are_absent_are_not_made_up_from_other_groups():
    there = [each for each in local_groups(64, 8) if each.unit % 8 < 3]
    assert list_units(match_groups(there)) == [[first, first + 1, first + 2] for first in range(0, 64, 8)]


def test_groups_are_found_where_their_intervals_differ_less_than_their_ends_do_by_chance():
    assert list_units(match_groups(local_groups(64, 8, spread=40_000.0))) == [
        list(range(first, first + 8)) for first in range(0, 64, 8)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_groups_whose_ends_do_not_wander_apart_are_left_unmatched(seed):
    assert match_groups(local_groups(16, 4, spread=500.0, seed=seed)) == []


@pytest.mark.parametrize("spread", [1_000.0, 5_000.0, 40_000.0, 300_000.0])
def test_single_ranks_of_several_groups_are_no_group(spread):
    for seed in range(20):
        assert match_groups(local_groups(64, 8, spread=spread, seed=seed)[::8]) == []


def test_two_ranks_alone_may_be_of_different_groups():
    assert match_groups(local_groups(8, 8)[:2]) == []
    assert list_units(match_groups(local_groups(8, 8, world=8)[:2])) == [[0, 1]]


def test_the_only_group_of_all_ranks_needs_no_ends():
    assert list_units(match_groups(local_groups(8, 8, world=8, steps=1))) == [list(range(8))]
    assert match_groups(local_groups(16, 8, world=16, steps=4)) == []


def test_of_two_groups_of_all_ranks_ends_tell_which_is_which():
    first, second = (local_groups(8, 8, world=8, seed=seed) for seed in (1, 2))
    second = [replace(each, name=f"1{each.name}") for each in second]
    assert [{each.name[0] for each in group} for group in match_groups([*first, *second])] == [{"9"}, {"1"}]


def test_one_rank_alone_has_no_group():
    assert match_groups(local_groups(64, 8)[:1]) == []
