"""traceq compare, check, baseline and verify on jobs: traces of four ranks, one of which gets late."""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest
from handmade_job import RANKS, rank_trace

from traceq.database.connect import connect
from traceq.loading.ingest import ingest
from traceq.runs.read import read_runs
from traceq.runs.read_job import read_jobs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """before.duckdb and after.duckdb, in which rank 2 computes 300 us longer before each collective."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, late in (("before", {}), ("after", {2: 300})):
        (folder / name).mkdir()
        paths = [folder / name / f"rank{rank}.json" for rank in range(RANKS)]
        for rank, path in enumerate(paths):
            path.write_text(rank_trace(rank, late))
        ingest(paths, folder / f"{name}.duckdb")
    return folder


@pytest.fixture
def run(made, traceq, monkeypatch):
    """Runs traceq in the folder `made`."""
    monkeypatch.chdir(made)
    monkeypatch.delenv("TRACEQ_BASELINES", raising=False)
    return traceq


@pytest.mark.slow
def test_compare_says_which_rank_moved_the_step(run):
    said = run("compare", "before.duckdb", "after.duckdb", "--format", "json")
    found = json.loads(said.output)
    assert found["verdict"] == "regression"
    assert found["delta_ns"] == pytest.approx(600_000, rel=0.05)
    assert [each["name"] for each in found["job"]["units"] if each["moved"]] == ["rank 2"]
    assert found["job"]["new"]["slowdown"] == pytest.approx(2800 / 2200, rel=0.05)
    assert [each["name"] for each in found["job"]["stragglers_new"]] == ["rank 2"]
    # what rank 2 does: kernels take longer, it waits for nobody
    rank = found["of_rank"]
    assert rank["base"]["runs"][0]["rank"] == 2
    assert rank["named_causes"][0]["category"] == "compute"
    assert "The change comes from rank 2" in run("compare", "before.duckdb", "after.duckdb").output.replace("\n", " ")


@pytest.mark.slow
def test_the_page_draws_the_call_paths_of_the_rank_that_moved_the_step(run, tmp_path):
    assert run("compare", "before.duckdb", "after.duckdb", "-o", tmp_path / "c.html").exit_code == 0
    page = (tmp_path / "c.html").read_text("utf-8")
    assert ">Time per step by call path, and what changed, rank 2</h3>" in page


@pytest.mark.slow
def test_the_page_draws_a_low_rank_where_many_are_compared(run, tmp_path, monkeypatch):
    monkeypatch.setattr("traceq.app.compare._MOST_RANKS", 1)
    run("compare", "before.duckdb", "after.duckdb", "-o", tmp_path / "c.html")
    assert "and what changed, rank 0</h3>" in (tmp_path / "c.html").read_text("utf-8")


@pytest.mark.slow
def test_one_rank_is_compared_where_it_is_asked_for(run):
    for chosen in (("--rank", "1"), ("--trace", "2")):
        found = json.loads(run("compare", "before.duckdb", "after.duckdb", "--format", "json", *chosen).output)
        assert (found["job"], found["base"]["runs"][0]["rank"]) == (None, 1)


@pytest.mark.slow
def test_a_baseline_keeps_the_job(run):
    assert run("baseline", "save", "job", "before.duckdb").exit_code == 0
    assert "4 ranks, 12 steps over all ranks, slowdown 1.00x by late ranks" in run("baseline", "show", "job").output
    found = json.loads(run("compare", "job", "after.duckdb", "--format", "json").output)
    direct = json.loads(run("compare", "before.duckdb", "after.duckdb", "--format", "json").output)
    assert found["job"]["units"] == direct["job"]["units"]
    assert found["delta_ns"] == direct["delta_ns"]
    assert found["job"]["shown"] == 0
    failed = run("check", "after.duckdb", "--baseline", "job")
    assert failed.exit_code == 3
    assert "The change comes from rank 2" in failed.output.replace("\n", " ")
    assert run("check", "before.duckdb", "--baseline", "job").exit_code == 0


@pytest.mark.slow
def test_budgets_of_a_job(made, run):
    (made / "job.toml").write_text('[job]\nslowdown = 1.1\nstraggler = "absent"\n')
    assert run("check", "after.duckdb", "--budgets", "job.toml").exit_code == 3
    assert run("check", "before.duckdb", "--budgets", "job.toml").exit_code == 0


@pytest.mark.slow
def test_a_job_against_one_rank_is_compared_by_that_rank(run):
    found = json.loads(run("compare", "before.duckdb", "after/rank0.json", "--format", "json").output)
    assert (found["job"], found["verdict"]) == (None, "regression")


@pytest.mark.parametrize("offset", [0, 1000])
def test_steps_of_ranks_meet_by_number_or_by_place_where_each_rank_numbers_its_own(tmp_path, offset):
    def renumber(rank):
        trace = rank_trace(rank, {})
        return re.sub(r"(?<=ProfilerStep#)\d+", lambda number: str(int(number[0]) + 5 + offset * rank), trace)

    paths = [tmp_path / f"rank{rank}.json" for rank in range(RANKS)]
    for rank, path in enumerate(paths):
        path.write_text(renumber(rank))
    ingest(paths, tmp_path / "job.duckdb")
    with closing(connect(tmp_path / "job.duckdb")) as connection:
        job = read_jobs(connection, read_runs(connection, "job"))[1]
    first = 0 if offset else 5
    assert [step.step for step in job.steps] == [*range(first, first + 12)]
    assert {step.excluded for step in job.steps} == {None}
    assert all(sum(step.ledger.values()) == step.dur for step in job.steps)
