"""The critical path of a job as pieces: the longest way through its collectives, by trying them all, and no hole between them."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_job import break_job, fill_tables
from simulated_ranks import MadeUpJob

from traceq.analysis.job.path import lay_out_path
from traceq.analysis.job.window import Ranks, clocks_of, judge_window
from traceq.database import sql

US = 1_000
RANKS = 4
# how ranks 0 to 3 are divided into groups for a collective
DIVISIONS = st.sampled_from([[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 1, 2, 3]], [[0, 1]], [[1, 2]], [[0, 3], [1, 2]]])
WORK = st.lists(st.integers(50, 4_000), min_size=RANKS, max_size=RANKS)


def longest_chain(job):
    """Return the length, ns, of the longest way through a job: of all chains of collectives that share a rank."""
    collectives = [
        (step, place, group)
        for step in range(job.steps)
        for place, groups in enumerate(job.program)
        for group in groups
    ]

    def chains(number, rank):
        """The lengths of all chains that end when `rank` has come to a collective."""
        step, place, _ = collectives[number]
        own = job.own(rank, step, place)
        before = [earlier for earlier in range(number) if rank in collectives[earlier][2]]
        if not before:
            return [own]
        return [
            length + job.transfer + own for other in collectives[before[-1]][2] for length in chains(before[-1], other)
        ]

    return max(
        length + job.transfer
        for number, (_, _, group) in enumerate(collectives)
        for rank in group
        for length in chains(number, rank)
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(DIVISIONS, WORK), min_size=1, max_size=6))
def test_the_path_is_the_longest_way_through_the_collectives(program):
    works = [work for _, work in program]
    job = MadeUpJob(
        RANKS, 1, [division for division, _ in program], lambda rank, _, place: float(works[place][rank] * US)
    )
    slices = job.slices()
    found = judge_window(Ranks(RANKS, np.full(RANKS, -1), {}), slices, clocks_of(RANKS, slices))
    pieces, members = found.pieces, slices.members
    dur = pieces.end - pieces.begin
    # One after the other, from the first arrival at a collective to the end of the last one.
    assert (pieces.begin[0], pieces.end[-1]) == (0, int(found.dur))
    assert (pieces.begin[1:] == pieces.end[:-1]).all()
    assert (dur >= 0).all()
    # The job begins with the first arrival: what that rank did before is not known.
    first = min(members.start.tolist()) - 10**12
    clocks = 512 * len(pieces.member) + 2 * abs(found.replay_error) * found.dur + 1000
    assert found.dur == pytest.approx(longest_chain(job) - first, abs=clocks)
    # A way through the job: each rank took part in what it waited for before.
    ranks_of = [set(members.unit[members.match == each].tolist()) for each in members.match[pieces.member[::2]]]
    assert all(
        int(members.unit[member]) in before for member, before in zip(pieces.member[2::2], ranks_of, strict=False)
    )
    # Nobody came later to the collective.
    for member in pieces.member[::2].tolist():
        same = members.match == members.match[member]
        assert members.start[member] == members.start[same].max()


@given(st.lists(st.integers(-5, 60), min_size=2, max_size=8), st.integers(10, 50))
def test_pieces_have_no_hole_whatever_the_clocks_say(times, dur):
    times = times[: len(times) // 2 * 2]
    found = lay_out_path(np.arange(len(times) // 2), np.array(times[::2], float), np.array(times[1::2], float), dur)
    assert (found.begin[0], found.end[-1]) == (0, dur)
    assert (found.begin[1:] == found.end[:-1]).all()
    assert (found.end >= found.begin).all()


@pytest.mark.parametrize("kind", ["rank", "pipeline"])
def test_pieces_segments_and_their_ledger_add_up(kind):
    with closing(fill_tables(break_job(kind, 16, 3, 6).made)) as connection:
        checked = sql.run(connection, "analysis/job/identities/job_path.sql", trace_id=5).fetchall()
        assert checked == [(0, 0, False, "job 0, window 0")]
        ask = "select (select sum(dur) from job_path) = (select dur from job), (select sum(excess) from job_path) > 0"
        assert connection.execute(ask).fetchone() == (True, True)
        # by rank, category by category: to the nanosecond
        apart = """
            select count(*) from rank_segment as s
            left join (select trace_id, slice_id, sum(dur) as dur from rank_segment_ledger group by all) as l
            using (trace_id, slice_id)
            where s.dur <> coalesce(l.dur, 0)
        """
        assert connection.execute(apart).fetchone() == (0,)
        # an own piece on the path is the segment of its rank
        apart = """
            select count(*), count(*) filter (abs(p.dur - s.dur) > 2), count(*) filter (not s.on_path)
            from job_path as p inner join rank_segment as s using (trace_id, slice_id) where p.kind = 'own'
        """
        pieces, differ, elsewhere = connection.execute(apart).fetchone()
        assert (pieces > 10, differ, elsewhere) == (True, 0, 0)


def test_a_hole_in_the_path_is_found():
    with closing(fill_tables(break_job("rank", 16, 3, 6).made)) as connection:
        connection.execute("delete from job_path where place = 3")
        checked = sql.run(connection, "analysis/job/identities/job_path.sql", trace_id=1).fetchall()
        assert checked == [(0, 0, True, "job 0, window 0")]
