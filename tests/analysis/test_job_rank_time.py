"""Time of a rank, each moment once, against its definition taken literally."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.job.graph import Members, build_graph
from traceq.analysis.job.window import divide_rank_time

# Starts and lengths in units of 10 us: what is shorter than the slack of the graph would follow nothing.
UNIT = 10_000

slices = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 15), st.integers(1, 8), st.integers(0, 8))


def members_of(rows):
    unit, stream, start, length, _ = (np.array(column) for column in zip(*rows, strict=True))
    start, end = start * UNIT, (start + length) * UNIT
    return Members(unit, stream, start, end, np.arange(len(rows)), np.ones(len(rows), bool))


@settings(max_examples=200, deadline=None)
@given(st.lists(slices, min_size=1, max_size=10, unique_by=lambda row: row[:3]))
def test_each_moment_of_a_rank_counts_once(rows):
    graph, _ = build_graph(members_of(rows))
    transfer = np.array([min(row[4], row[3]) for row in rows]) * float(UNIT)
    usual = np.where(graph.is_first, np.nan, graph.own / 2)
    found = divide_rank_time(2, graph, usual, transfer)
    for unit in (0, 1):
        moments = {"own": 0, "late": 0, "transfer": 0, "wait": 0}
        theirs = [each for each in range(len(rows)) if rows[each][0] == unit]
        for moment in range(0, 24 * UNIT, UNIT // 2):
            of = {"own": False, "late": False, "transfer": False, "wait": False}
            for each in theirs:
                start, end = graph.members.start[each], graph.members.end[each]
                of["own"] |= start - graph.own[each] <= moment < start
                of["late"] |= start - np.nan_to_num(graph.own[each] - usual[each]) <= moment < start
                of["transfer"] |= end - transfer[each] <= moment < end
                of["wait"] |= start <= moment < end
            what = next((name for name in ("own", "transfer", "wait") if of[name]), None)
            if what:
                moments[what] += UNIT // 2
            moments["late"] += of["late"] * UNIT // 2
        assert {name: getattr(found, name)[unit] for name in moments} == moments
