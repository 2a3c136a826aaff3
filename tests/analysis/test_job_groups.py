"""Groups of which every rank knows an address only."""

from __future__ import annotations

import numpy as np

from traceq.analysis.job.groups import LocalGroup, same_groups

STEPS = 84


def local_groups(ranks, size, *, seed=1, jitter=20_000.0, spread=300_000.0, offset=50e6):
    """Each group's collectives end at intervals of its own; each rank's clock is off."""
    random = np.random.default_rng(seed)
    found = []
    for first in range(0, ranks, size):
        ends = np.cumsum(5e6 + spread * random.standard_normal(STEPS))
        for rank in range(first, first + size):
            seen = ends + random.uniform(-offset, offset) + random.uniform(-jitter, jitter, STEPS)
            places = {f"{place} all_reduce": round(end) for place, end in enumerate(seen)}
            found.append(LocalGroup(0, 0, rank, str(9_000_000_000 + rank), size, places))
    return found


def units(groups):
    return [[each.unit for each in group] for group in groups]


def test_eight_groups_of_eight_are_found_whatever_the_clocks_say():
    assert units(same_groups(local_groups(64, 8))) == [list(range(first, first + 8)) for first in range(0, 64, 8)]


def test_members_that_are_absent_are_not_made_up_from_other_groups():
    there = [each for each in local_groups(64, 8) if each.unit % 8 < 3]
    assert units(same_groups(there)) == [[first, first + 1, first + 2] for first in range(0, 64, 8)]


def test_groups_whose_intervals_are_alike_are_left_unmatched():
    assert same_groups(local_groups(16, 4, spread=10_000.0)) == []


def test_one_rank_alone_has_no_group():
    assert same_groups(local_groups(64, 8)[:1]) == []
