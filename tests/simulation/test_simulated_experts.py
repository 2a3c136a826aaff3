"""Jobs whose experts get different amounts of tokens: what each rank gets is the simulator's own, to the byte."""

from __future__ import annotations

import pytest
from simulator import simulate, write_kineto
from simulator.meshes import experts

from traceq.analysis import order
from traceq.database.connect import connect
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
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The jobs' databases by name, as connections."""
    # what the axes are told from
    topics = tuple(topic for topic in order.TOPICS if {"launch_state", "process_group"} & {*topic.members})
    made = {}
    for name, program in JOBS.items():
        run = simulate(program)
        folder = tmp_path_factory.mktemp("job")
        for rank in run.ranks:
            write_kineto(run, folder / f"rank{rank}.json", rank)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(order, "TOPICS", topics)
            ingest([folder], folder / "job.duckdb")
        made[name] = connect(folder / "job.duckdb")
    yield made
    for connection in made.values():
        connection.close()


def test_shares_come_out_to_the_byte(jobs):
    found = jobs["uneven"].execute(
        "select unit, axis, exchanges, rows, received, load, most from job_load order by unit"
    )
    assert found.fetchall() == [
        (unit, "ep", TIMES, TOKENS * share * TIMES, TOKENS * TOKEN * share * TIMES, share / MEAN, share / MEAN)
        for unit, share in enumerate(SHARES * 2)
    ]


def test_what_comes_back_is_even(jobs):
    found = jobs["uneven"].execute(
        "select distinct is_return, place % 2, load from job_exchange where unit = 1 order by all"
    )
    assert found.fetchall() == [(False, 1, 2 / MEAN), (True, 0, 1.0)]


def test_pairs_add_up_to_what_ranks_get(jobs):
    pairs = "select unit, other, rows, bytes from job_exchange_pair where not is_return and unit < 2 order by all"
    assert jobs["uneven"].execute(pairs).fetchall() == [
        (unit, other, 256 * share * TIMES, 256 * share * TIMES * TOKEN)
        for unit in range(2)
        for other, share in enumerate(SHARES)
    ]
    for name in JOBS:
        differ = """
            select l.unit from job_load as l
            inner join (
                select other, sum(bytes) as bytes from job_exchange_pair where not is_return group by other
            ) as p on p.other = l.unit
            where l.received <> p.bytes
        """
        assert jobs[name].execute(differ).fetchall() == []
        # what slices say of themselves
        by_slice = "select sum(bytes)::bigint from collective_slice where op = 'all_to_all'"
        by_rank = "select sum(greatest(sent, received))::bigint from job_exchange"
        assert jobs[name].execute(by_rank).fetchone() == jobs[name].execute(by_slice).fetchone()


@pytest.mark.parametrize("name", ["even", "no splits"])
def test_even_loads_are_balanced(jobs, name):
    assert jobs[name].execute("select distinct axis, load, most from job_load").fetchall() == [("ep", 1.0, 1.0)]
