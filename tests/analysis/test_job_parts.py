"""The late ranks of each part of a job that no process group connects, and what they save together."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_ranks import MadeUpJob, make_noise
from test_job_tables import Ranks

from traceq.analysis.job.parts import find_part_stragglers, find_parts
from traceq.analysis.job.window import Ranks as Facts
from traceq.analysis.job.window import clocks_of, judge_window


def judge(own, program, ranks):
    job = MadeUpJob(ranks, 10, program, own)
    slices = job.slices()
    return job, judge_window(Facts(ranks, np.full(ranks, -1), {}), slices, clocks_of(ranks, slices))


def in_parts(parts, size):
    return [[list(range(first, first + size)) for first in range(0, parts * size, size)]] * 2


@pytest.mark.parametrize("seed", range(4))
def test_a_part_is_judged_as_a_job_of_its_own(seed):
    """Parts have the same ranks at work as jobs; what is late in one differs from part to part."""
    plain = make_noise(seed)
    late = {0: {1: 0.3, 3: 0.2}, 1: {}, 2: {0: 0.4, 1: 0.4, 5: 0.4}}

    def own(rank, step, place):
        return plain(rank, step, place) * (1 + late[rank // 6].get(rank % 6, 0.0))

    _, found = judge(own, in_parts(3, 6), 18)
    by_part = {part: [each for each in found.part_stragglers if each.part == part] for part in range(3)}
    for part, named in by_part.items():
        units = [each.unit % 6 for each in named]
        assert units == list(late[part]) or set(units) == set(late[part])
        assert [each.place for each in named] == list(range(1, len(named) + 1))
        job, _ = judge(lambda rank, step, place, part=part: own(part * 6 + rank, step, place), in_parts(1, 6), 6)
        true = job.lasts() - job.lasts(lambda rank, step, place, part=part: plain(part * 6 + rank, step, place))
        assert sum(each.adds for each in named) == pytest.approx(true, rel=0.25, abs=1)


@pytest.mark.parametrize("seed", range(6))
def test_what_late_ranks_add_is_what_a_replay_says(seed):
    random = np.random.default_rng(seed)
    delays = random.choice([0.0, 0.0, 0.1, 0.3], 12)
    _, found = judge(lambda rank, step, _place: 1e6 * (1 + delays[rank] * ((rank + step) % 2)), in_parts(3, 4), 12)
    members = found.graph.members
    of_end = np.full(members.collectives, -1)
    of_end[members.match] = members.unit // 4
    for part in range(3):
        number = found.part[4 * part]
        cut, last = np.zeros(12, bool), found.times.ends(np.zeros((12, 1), bool))[of_end == part].max()
        for each in (each for each in found.part_stragglers if each.part == number):
            alone = np.zeros(12, bool)
            cut[each.unit] = alone[each.unit] = True
            lasts = found.times.ends(np.stack([cut, alone], axis=1))[of_end == part].max(axis=0)
            assert (each.adds, each.win) == pytest.approx(
                (last - lasts[0], found.times.ends(np.zeros((12, 1), bool))[of_end == part].max() - lasts[1])
            )
            last = lasts[0]


def test_a_job_in_one_part_has_no_rows():
    _, found = judge(make_noise(1), in_parts(1, 4), 4)
    assert find_part_stragglers(found.times, found.part) == []
    assert found.part.tolist() == [0, 0, 0, 0]


def test_parts_are_numbered_by_size():
    unit, group = np.array([0, 1, 2, 3, 4, 2]), np.array([5, 5, 9, 9, 9, 7])
    assert find_parts(6, unit, group).tolist() == [1, 1, 0, 0, 0, -1]


def two_parts():
    """Ranks 0 to 3 and 4 to 7; in the first rank 1 comes 3 ms late, in the second ranks 5 and 6 in turns."""
    ranks = Ranks()
    for rank in range(8):
        ranks.rank(rank + 1, rank, world=8)
        now = 0.0
        for number in range(9):
            late = {1: 3.0, 5: 2.0 * (number % 2), 6: 2.0 * (1 - number % 2)}
            # all come at once to the first, which begins the recording
            lateness = late.get(rank, 0.0) if number else 0.0
            latest = 0.0 if not number else 3.0 if rank < 4 else 2.0
            ranks.collective(
                rank + 1, now + 5 + lateness, 1 + latest - lateness, sequence=number, size=4, group=f"g{rank // 4}"
            )
            now += 5 + latest + 1
    return ranks.filled()


def test_rows_of_parts():
    ranks = two_parts()
    assert ranks.rows("select part, count(*) from job_rank group by part order by part") == [(0, 4), (1, 4)]
    named = ranks.rows("select part, place, unit, adds // 1000000, win // 1000000 from group_straggler order by all")
    # each of ranks 5 and 6 holds up four of eight collectives
    assert named == [(0, 1, 1, 24, 24), (1, 1, 5, 8, 8), (1, 2, 6, 8, 8)]
