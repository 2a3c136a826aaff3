"""Jobs whose experts get different amounts of tokens: what each rank gets is the simulator's own, to the byte."""

from __future__ import annotations

import pytest
from simulator import simulate, write_kineto
from simulator.meshes import experts

from traceq.analysis import order
from traceq.database.connect import connect
from traceq.diagnosis.job.judge import judge_job
from traceq.loading.ingest import ingest

SHARES = (1, 2, 1, 0.5)
MEAN = sum(SHARES) / 4
# 1,024 tokens of 1,024 elements of two bytes
TOKENS, TOKEN = 1024, 2048
# dispatches and gradients of combines, four layers, three steps
TIMES = 2 * 4 * 3
JOBS = {
    "uneven": experts({"ep": 4, "dp": 2}, shares=SHARES),
    "even": experts({"ep": 2, "dp": 2}, shares=(1, 1)),
    "no splits": experts({"ep": 2, "dp": 2}),
    "one copy": experts({"ep": 4, "dp": 1}, shares=SHARES),
    "in turn": experts({"ep": 4, "dp": 1}, shares=SHARES, rotates=True),
    "slow GPU": experts({"ep": 4, "dp": 1}, shares=(1, 1, 1, 1), slow={1: 1.8}),
}


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """job(name): a connection to the database of a job."""
    # what the axes are told from
    topics = tuple(topic for topic in order.TOPICS if {"launch_state", "process_group"} & {*topic.members})
    made = {}

    def make(name):
        if name not in made:
            run = simulate(JOBS[name])
            folder = tmp_path_factory.mktemp("job")
            for rank in run.ranks:
                write_kineto(run, folder / f"rank{rank}.json", rank)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(order, "TOPICS", topics)
                ingest([folder], folder / "job.duckdb")
            made[name] = connect(folder / "job.duckdb")
        return made[name]

    yield make
    for connection in made.values():
        connection.close()


def test_shares_come_out_to_the_byte(job):
    found = job("uneven").execute(
        "select unit, axis, exchanges, rows, received, load, most from job_load order by unit"
    )
    assert found.fetchall() == [
        (unit, "ep", TIMES, TOKENS * share * TIMES, TOKENS * TOKEN * share * TIMES, share / MEAN, share / MEAN)
        for unit, share in enumerate(SHARES * 2)
    ]


def test_what_comes_back_is_even(job):
    found = job("uneven").execute(
        "select distinct is_return, place % 2, load from job_exchange where unit = 1 order by all"
    )
    assert found.fetchall() == [(False, 1, 2 / MEAN), (True, 0, 1.0)]


def test_pairs_add_up_to_what_ranks_get(job):
    pairs = "select unit, other, rows, bytes from job_exchange_pair where not is_return and unit < 2 order by all"
    assert job("uneven").execute(pairs).fetchall() == [
        (unit, other, 256 * share * TIMES, 256 * share * TIMES * TOKEN)
        for unit in range(2)
        for other, share in enumerate(SHARES)
    ]
    for name in ("uneven", "even"):
        differ = """
            select l.unit from job_load as l
            inner join (
                select other, sum(bytes) as bytes from job_exchange_pair where not is_return group by other
            ) as p on p.other = l.unit
            where l.received <> p.bytes
        """
        assert job(name).execute(differ).fetchall() == []
        # what slices say of themselves
        by_slice = "select sum(bytes)::bigint from collective_slice where op = 'all_to_all'"
        by_rank = "select sum(greatest(sent, received))::bigint from job_exchange"
        assert job(name).execute(by_rank).fetchone() == job(name).execute(by_slice).fetchone()


@pytest.mark.parametrize("name", ["even", pytest.param("no splits", marks=pytest.mark.slow)])
def test_even_loads_are_balanced(job, name):
    assert job(name).execute("select distinct axis, load, most from job_load").fetchall() == [("ep", 1.0, 1.0)]


# Two kernels of 80 us a token, twice a layer; the most loaded rank has 2 of the usual share, the mean is 1.125.
GAIN = 2 * 4 * 2 * 80_000 * (2 - MEAN)


def loads_of(connection):
    return [finding for finding in judge_job(connection, 0, 0).findings if finding.rule == "expert-load"]


def test_the_rank_with_most_tokens_is_named_once(job):
    (finding,) = loads_of(job("one copy"))
    assert (finding.unit, finding.ranks, finding.because) == ("rank 1", (1,), "1.78x the mean load")
    assert finding.saving_ns == pytest.approx(GAIN, rel=0.01)
    others = {found.rule for found in judge_job(job("one copy"), 0, 0).findings}
    assert others.isdisjoint({"job-straggler", "slow-gpu", "work-imbalance"})


def test_of_copies_that_are_as_loaded_one_saves_nothing_alone(job):
    found = sorted(loads_of(job("uneven")), key=lambda finding: finding.place)
    assert [(finding.unit, finding.saving_ns) for finding in found] == [("rank 5", 0), ("rank 1", 0)]
    assert found[1].adds_ns == pytest.approx(GAIN, rel=0.01)


@pytest.mark.slow
def test_where_another_rank_is_loaded_in_each_layer_the_group_is_named(job):
    (finding,) = loads_of(job("in turn"))
    assert (finding.unit, finding.place) == ("experts of ranks 0-3", None)
    assert finding.because.endswith("gets 1.78x the mean load in one layer")
    assert finding.saving_ns == pytest.approx(GAIN, rel=0.05)


SLOWLY = [pytest.param(name, marks=pytest.mark.slow) for name in ("no splits", "slow GPU")]


@pytest.mark.parametrize("name", ["even", *SLOWLY])
def test_even_loads_are_no_finding(job, name):
    assert loads_of(job(name)) == []
