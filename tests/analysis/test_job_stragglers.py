"""Who is named in jobs that were made up, and what the simulator says of their fix."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_ranks import MadeUpJob, make_noise

from traceq.analysis.job.window import Ranks, clocks_of, judge_window

RANKS, STEPS, HOST = 64, 12, 8
HOSTS = {f"n{first // HOST}": list(range(first, first + HOST)) for first in range(0, RANKS, HOST)}
# tensor-parallel groups within a host, then all ranks
PROGRAM = [
    [list(range(first, first + HOST)) for first in range(0, RANKS, HOST)],
    [list(range(first, first + HOST)) for first in range(0, RANKS, HOST)],
    [list(range(RANKS))],
]


def find_stragglers(own, seed=1):
    job = MadeUpJob(RANKS, STEPS, PROGRAM, own, jitter=5_000.0, seed=seed)
    slices = job.slices()
    return job, judge_window(Ranks(RANKS, np.full(RANKS, -1), HOSTS), slices, clocks_of(RANKS, slices))


def slow_ranks(plain, share, late):
    return lambda rank, step, place: plain(rank, step, place) * (1 + share * (rank in late))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_slow_rank_is_named_with_what_it_costs(seed, share):
    plain = make_noise(seed)
    late = (7 * seed + 3) % RANKS
    job, said = find_stragglers(slow_ranks(plain, share, {late}), seed)
    true = job.lasts() - job.lasts(plain)
    assert true > 0.01 * job.lasts()
    first = said.stragglers[0]
    assert (first.kind, first.units) == ("rank", (late,))
    assert first.adds == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_two_slow_ranks_are_named_one_after_the_other(seed):
    plain = make_noise(seed)
    pair = {5, 40}
    job, said = find_stragglers(slow_ranks(plain, 0.3, pair), seed)
    assert {unit for each in said.stragglers[:2] for unit in each.units} == pair
    true = job.lasts() - job.lasts(plain)
    assert sum(each.adds for each in said.stragglers) == pytest.approx(true, rel=0.25)
    # each alone saves less than both together by more than the sum
    assert sum(each.win for each in said.stragglers[:2]) < 0.8 * true


@pytest.mark.parametrize("seed", range(4))
def test_a_host_whose_ranks_are_all_slow_is_named_as_a_host(seed):
    plain = make_noise(seed)
    job, said = find_stragglers(slow_ranks(plain, 0.15, set(HOSTS["n3"])), seed)
    assert [(each.kind, each.label) for each in said.stragglers] == [("host", "n3")]
    assert said.stragglers[0].adds == pytest.approx(job.lasts() - job.lasts(plain), rel=0.25)


@pytest.mark.parametrize("seed", range(2))
def test_two_slow_ranks_of_one_host_are_named_as_ranks(seed):
    pair = {HOST, HOST + 3}
    _, said = find_stragglers(slow_ranks(make_noise(seed), 0.3, pair), seed)
    assert {each.kind for each in said.stragglers} == {"rank"}
    assert {unit for each in said.stragglers for unit in each.units} == pair


@pytest.mark.parametrize("seed", range(2))
def test_beside_a_slow_host_the_host_of_one_late_rank_is_not_named(seed):
    plain = make_noise(seed)
    host = slow_ranks(plain, 0.5, set(HOSTS["n3"]))
    _, said = find_stragglers(slow_ranks(host, 0.2, {40}), seed)
    assert [(each.kind, each.label) for each in said.stragglers] == [("host", "n3")]


@pytest.mark.parametrize("seed", range(2))
def test_two_slow_hosts_are_both_named(seed):
    _, said = find_stragglers(slow_ranks(make_noise(seed), 0.3, {*HOSTS["n3"], *HOSTS["n6"]}), seed)
    assert {each.label for each in said.stragglers} == {"n3", "n6"}


@pytest.mark.parametrize("seed", range(6))
def test_nobody_is_named_in_a_balanced_job(seed):
    _, said = find_stragglers(make_noise(seed, 0.005), seed)
    assert list(said.stragglers) == []
    assert said.dur / said.ideal < 1.05
    assert said.replay_error < 0.01


def test_the_median_win_is_within_a_tenth_of_the_simulators_own():
    errors = []
    for seed in range(12):
        plain = make_noise(seed)
        late = 5 * seed % RANKS
        job, said = find_stragglers(slow_ranks(plain, 0.2, {late}), seed)
        errors.append(abs(said.stragglers[0].adds / (job.lasts() - job.lasts(plain)) - 1))
    assert np.median(errors) < 0.1
