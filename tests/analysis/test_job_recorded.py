"""A job that was judged is replayed again from its tables, with chosen ranks as usual."""

from __future__ import annotations

import json

import pytest
from test_job_tables import MS, Ranks

from traceq.analysis.job.recorded import durations_without, read_times
from traceq.app.whatif_job import JobWhatIfView, _replay_job
from traceq.errors import WrongUse
from traceq.reports.renderers.to_text import blocks_to_text


def four_ranks():
    """Rank 1 comes 3 ms later to the first of six collectives that follow it, rank 2 to the others 2 ms later."""
    ranks = Ranks()
    for rank in range(4):
        ranks.rank(rank + 1, rank, world=4, host=f"n{rank // 2}")
        ends = 0.0
        for number in range(7):
            late = {1: 3.0 if number == 1 else 0.0, 2: 2.0 if number > 1 else 0.0}.get(rank, 0.0)
            latest = 0.0 if number == 0 else 3.0 if number == 1 else 2.0
            start = ends + 4 + late
            ranks.collective(rank + 1, start, 1 + latest - late, sequence=number, size=4)
            ends = ends + 4 + latest + 1
    return ranks.filled()


@pytest.fixture
def job():
    return four_ranks().connection


def ask_job(job, *ranks, hosts=()):
    return _replay_job(job, ranks, hosts).content


def test_it_lasts_as_long_as_the_tables_say(job):
    ((dur, limit, ideal),) = job.execute("select dur, claim_limit, ideal from job").fetchall()
    times = read_times(job, 0, 0, 4, limit)
    assert durations_without(times, ()) == (dur, dur)
    assert durations_without(times, range(4)) == (dur, ideal)
    for unit, win in job.execute("select unit, win from job_rank").fetchall():
        before, after = durations_without(times, [unit])
        assert before - after == win


def test_what_ranks_and_hosts_win(job):
    assert [ask_job(job, rank).recorded_ns - ask_job(job, rank).after_ns for rank in range(4)] == [
        0,
        3 * MS,
        10 * MS,
        0,
    ]
    both = ask_job(job, 1, 2)
    assert both.recorded_ns - both.after_ns == 13 * MS
    assert both.after_ns == both.ideal_ns
    assert both.waited_for == ()
    host = ask_job(job, hosts=["n0"])
    assert (host.ranks, host.recorded_ns - host.after_ns) == ((0, 1), 3 * MS)
    assert host.waited_for


def test_the_words(job):
    shown = blocks_to_text(_replay_job(job, [2], ()).blocks(), 100)
    assert "With rank 2 like the usual rank: 44.00 ms -> 34.00 ms per step, 1.29x as fast (saves 10.00 ms," in shown
    assert "no rank waits for that alone" in " ".join(blocks_to_text(_replay_job(job, [0], ()).blocks(), 100).split())
    content = json.loads(JobWhatIfView(ask_job(job, 2)).to_json())
    assert (content["ranks"], content["saved_ns"]) == ([2], 10 * MS)


@pytest.mark.parametrize(
    ("ranks", "hosts", "message"),
    [([7], (), "no rank 7; there are ranks 0-3"), ([], ["n9"], "no host n9; there is n0, n1")],
)
def test_what_is_not_there_is_said(job, ranks, hosts, message):
    with pytest.raises(WrongUse, match=message):
        _replay_job(job, ranks, hosts)


def test_no_job_and_one_that_cannot_be_judged():
    one = Ranks()
    one.rank(1, 0)
    with pytest.raises(WrongUse, match="not one job of several ranks"):
        _replay_job(one.filled().connection, [0], ())
    job = four_ranks().connection
    job.execute("update job set dur = null, cannot_tell = 'nothing fits'")
    with pytest.raises(WrongUse, match="nothing fits"):
        _replay_job(job, [0], ())
