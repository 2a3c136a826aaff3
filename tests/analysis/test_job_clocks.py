"""Clocks of ranks from the ends of collectives."""

from __future__ import annotations

import numpy as np
from simulated_ranks import MadeUpJob, make_noise

from traceq.analysis.job.clocks import align
from traceq.analysis.job.window import claim_limit, clocks_of, find_violations

MICROSECOND = 1000.0


def align_clocks(job):
    return clocks_of(job.ranks, job.slices())


def groups_of(ranks, size):
    inside = [list(range(first, first + size)) for first in range(0, ranks, size)]
    across = [list(range(first, ranks, size)) for first in range(size)]
    return [inside, inside, across]


def test_offsets_of_50_ms_and_drifts_of_50_ppm_are_found_within_20_us():
    random = np.random.default_rng(7)
    offset, drift = random.uniform(-50e6, 50e6, 64), random.uniform(-50e-6, 50e-6, 64)
    job = MadeUpJob(64, 40, groups_of(64, 8), make_noise(1), jitter=20 * MICROSECOND, offset=offset, drift=drift)
    members = job.slices().members
    common = align_clocks(job).to_common(members.unit, members.end.astype(float))
    true = (members.end - 10**12 - offset[members.unit]) / (1 + drift[members.unit])
    apart = common - true
    assert np.abs(apart - np.median(apart)).max() < 40 * MICROSECOND
    of_rank = [np.median((apart - np.median(apart))[members.unit == rank]) for rank in range(64)]
    assert np.abs(of_rank).max() < 20 * MICROSECOND


def test_clocks_that_agree_are_left_alone():
    clocks = align_clocks(MadeUpJob(8, 20, groups_of(8, 4), make_noise(2)))
    assert np.abs(clocks.offset).max() < 1
    assert clocks.residual < 1
    assert claim_limit(clocks) == 20 * MICROSECOND


def test_a_group_that_shares_no_rank_with_the_rest_stays_unaligned():
    clocks = align_clocks(MadeUpJob(5, 20, [[[0, 1, 2], [3, 4]]], make_noise(2), offset=[0, 0, 0, 10e6, 20e6]))
    assert clocks.joined.tolist() == [True, True, True, False, False]


def test_ranks_of_a_group_that_shares_none_with_the_rest_are_aligned_with_each_other():
    offset = [0, 3e6, 7e6, 10e6, 50e6, 0]
    job = MadeUpJob(6, 20, [[[0, 1, 2], [3, 4]]], make_noise(2), offset=offset)
    clocks = align_clocks(job)
    assert np.abs(clocks.offset - [-3e6, 0, 4e6, -20e6, 20e6, 0]).max() < 100 * MICROSECOND
    assert not len(find_violations(job.slices(), clocks))


def test_without_collectives_nothing_is_aligned():
    nothing = np.zeros(0, np.int64)
    clocks = align(3, nothing, nothing, nothing, np.zeros(0))
    assert not clocks.joined.any()
    assert not clocks.offset.any()
    assert np.isnan(clocks.residual)
    assert claim_limit(clocks) == 20 * MICROSECOND


def test_a_collective_that_ends_before_another_rank_begins_it_is_no_collective():
    job = MadeUpJob(4, 20, [[[0, 1, 2, 3]]], make_noise(4))
    slices = job.slices()
    slices.members.end[slices.members.match == 7] -= np.array([0, 0, 0, 1_200_000])
    slices.members.start[slices.members.match == 7] -= np.array([0, 0, 0, 1_000_000])
    clocks = clocks_of(4, slices)
    assert find_violations(slices, clocks).tolist() == [7]
