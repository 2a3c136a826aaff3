"""What a collective follows, and the replay of a job, against definitions taken literally."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_ranks import MadeUpJob, make_noise

from traceq.analysis.job.graph import Members, build_graph, critical_path, replay

MICROSECOND = 1000

slices = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 40), st.integers(1, 20), st.booleans())


def list_members(rows):
    unit, stream, start, length, blocks = (np.array(column) for column in zip(*rows, strict=True))
    start, end = start * MICROSECOND, (start + length) * MICROSECOND
    return Members(unit, stream, start, end, np.arange(len(rows)), blocks)


def list_predecessors(them, one):
    """Return the ends of the slices that slice `one` follows, by the definition."""
    own_stream = [
        (them.start[other], them.end[other], other)
        for other in range(len(them.unit))
        if them.unit[other] == them.unit[one]
        and them.stream[other] == them.stream[one]
        and (them.start[other], them.end[other], other) < (them.start[one], them.end[one], one)
    ]
    ends = [max(own_stream)[1]] if own_stream else []
    for stream in set(them.stream.tolist()) - {int(them.stream[one])}:
        ended = [
            them.end[other]
            for other in range(len(them.unit))
            if them.unit[other] == them.unit[one]
            and them.stream[other] == stream
            and them.blocks[other]
            and them.end[other] <= them.start[one] + 2 * MICROSECOND
            and them.end[other] - them.start[other] > 2 * MICROSECOND
        ]
        ends += [max(ended)] if ended else []
    return ends


@settings(max_examples=200, deadline=None)
@given(st.lists(slices, min_size=1, max_size=12, unique_by=lambda row: row[:3]))
def test_own_time_is_what_passes_since_the_last_collective_that_is_followed(rows):
    them = list_members(rows)
    graph, _ = build_graph(them)
    for one in range(len(rows)):
        ends = list_predecessors(them, one)
        assert graph.is_first[one] == (not ends)
        if ends:
            assert graph.own[one] == max(0, them.start[one] - max(ends))


def test_a_replay_of_what_was_recorded_gives_what_was_recorded():
    groups = [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 1, 2, 3]]]
    job = MadeUpJob(4, 5, groups, make_noise(3, 0.3))
    them = job.slices().members
    graph, circular = build_graph(them)
    assert not len(circular)
    transfer = np.full(them.collectives, job.transfer)
    first = np.where(graph.is_first, them.start - 10**12, 0).astype(float)
    nobody = np.zeros((4, 1), bool)
    ends = replay(graph, graph.own, graph.own, first, transfer, nobody)[:, 0]
    assert np.allclose(ends[them.match], them.end - 10**12, atol=50)
    path = critical_path(graph, graph.own, first, transfer, ends)
    assert np.isclose(path.late_start + path.own + path.transfer, ends.max())
    assert np.isclose(ends.max(), job.lasts(), atol=50)


def test_collectives_that_follow_each_other_in_opposite_orders_are_told():
    # rank 0 has collective 0 before 1, rank 1 the other way round
    them = Members(
        np.array([0, 0, 1, 1]),
        np.zeros(4, int),
        np.array([0, 20, 0, 20]) * MICROSECOND,
        np.array([10, 30, 10, 30]) * MICROSECOND,
        np.array([0, 1, 1, 0]),
        np.ones(4, bool),
    )
    _, circular = build_graph(them)
    assert circular.tolist() == [0, 1]
