"""Workers of a Dask cluster make the pieces that processes here make, also when some of them are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import lazy_import
import piece_stand_ins
import pytest
from click.testing import CliRunner
from piece_stand_ins import until

import traceq
from traceq.cli import main
from traceq.dataset import cluster
from traceq.dataset.place import Place
from traceq.errors import StoreError

distributed = lazy_import.module("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def address():
    """That of a scheduler with three worker processes; a worker that is killed is replaced."""
    with distributed.LocalCluster(3, threads_per_worker=1, dashboard_address=None) as started:
        yield started.scheduler_address


@pytest.fixture
def by_hand(tmp_path):
    """A scheduler that was started by hand, with a worker, and its address."""
    told = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told)]
    worker = ["worker", "--scheduler-file", str(told), "--nthreads", "4", "--memory-limit", "4GiB", "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path, "env": environment}
    started = [subprocess.Popen([*dask, *arguments], **quiet) for arguments in (scheduler, worker)]
    until(told.exists)
    yield started[0], str(told)
    for each in reversed(started):
        each.terminate()
        each.wait(60)


def test_pieces_and_report_are_those_of_processes_here(traces, tmp_path, address, content):
    traceq.ingest(traces, f"{tmp_path}/here/", jobs=2)
    result = traceq.ingest(traces, f"{tmp_path}/there/", cluster=address)
    assert (len(result.ingested), result.failures) == (4, ())
    assert content(tmp_path / "there") == content(tmp_path / "here")


def test_a_rank_is_made_again_when_its_worker_was_killed(traces, tmp_path, address, made_by, content):
    traceq.ingest(traces, f"{tmp_path}/here/")
    made_by(piece_stand_ins.deadly)
    piece_stand_ins.ends(traces, 1, times=1)
    traceq.ingest(traces, f"{tmp_path}/killed/", cluster=address)
    assert piece_stand_ins.left(traces, 1) == 0
    assert content(tmp_path / "killed") == content(tmp_path / "here")


def test_a_rank_that_ends_every_worker_is_given_up_alone(traces, tmp_path, address, made_by, content):
    made_by(piece_stand_ins.deadly)
    piece_stand_ins.ends(traces, 2, times=20)
    (failure,) = traceq.ingest(traces, f"{tmp_path}/job/", cluster=address).failures
    assert failure.reason.startswith(
        f"{traces}/rank2.json: the process that read it ended, when it was read alone as well"
    )
    assert "(4 workers, one after the other)" in failure.reason
    assert sorted(content(tmp_path / "job")[0]) == [0, 1, 3]
    assert piece_stand_ins.left(traces, 2) == 12
    assert sorted(each.name for each in (tmp_path / "job").iterdir()) == ["dataset.json", "run=traces"]


def test_a_trace_that_cannot_be_read_costs_only_itself(traces, tmp_path, address):
    (traces / "rank7.json").write_text('{"schemaVersion": 1, "traceEvents": [')
    options = ["ingest", str(traces), "-o", f"{tmp_path}/job/", "--cluster", address]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 1
    assert f"traceq: failed: {traces}/rank7.json: nothing recorded: the file holds no events" in done.stderr
    assert "4 traces" in done.stdout
    assert "1 failed" in done.stdout


def test_workers_of_other_versions_are_refused_before_any_work(traces, tmp_path, address, monkeypatch):
    here = {**cluster.collect_versions(), "duckdb": "1.5.0", "Python": "3.99"}
    monkeypatch.setattr(cluster, "collect_versions", lambda: here)
    with pytest.raises(StoreError) as error:
        traceq.ingest(traces, f"{tmp_path}/job/", cluster=address)
    there = f"Python {sys.version_info.major}.{sys.version_info.minor} there, 3.99 here, duckdb 2.0.0 there, 1.5.0 here"
    assert f"workers differ: {there}; install the same versions on both sides (" in str(error.value)
    assert list((tmp_path / "job").iterdir()) == []


def test_a_worker_of_another_version_that_comes_later_ends_the_ingest(traces, tmp_path, address, monkeypatch):
    here = {**cluster.collect_versions(), "schema": "0"}
    monkeypatch.setattr(cluster, "collect_versions", lambda: here)
    monkeypatch.setattr(cluster.Cluster, "prepare", lambda *_: None)
    with pytest.raises(StoreError, match="a worker that came later differs: schema 5 there, 0 here"):
        traceq.ingest(traces, f"{tmp_path}/job/", cluster=address)


def test_workers_that_do_not_see_the_dataset_are_refused(traces, tmp_path, address, monkeypatch):
    monkeypatch.setattr(cluster, "token", lambda _place: "another")
    with pytest.raises(
        StoreError, match=f"workers do not see the dataset {tmp_path}/job: name a folder that all machines"
    ):
        traceq.ingest(traces, f"{tmp_path}/job/", cluster=address)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (ModuleNotFoundError("No module named 'traceq'"), "there is no such traceq on workers: ModuleNotFoundError"),
        (
            {"versions": {"duckdb": "2"}, "token": "me", "source": False},
            "workers cannot read /rank0.json: traces have to",
        ),
        (
            {"versions": {"duckdb": "1"}, "token": "me", "source": True},
            "workers differ: duckdb 1 there, 2 here; install",
        ),
    ],
)
def test_why_a_worker_is_of_no_use(found, said):
    (reason,) = cluster._explain_unfit(found, {"duckdb": "2"}, "me", Place("job"), "/rank0.json")
    assert reason.startswith(said)


def test_a_scheduler_that_is_not_there_is_said(traces, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_ANSWERS", 0.3)
    done = CliRunner().invoke(main, ["ingest", str(traces), "-o", f"{tmp_path}/job/", "--cluster", "tcp://127.0.0.1:1"])
    assert done.exit_code == 1
    assert "no scheduler of dask.distributed answers there" in done.stderr


def test_a_cluster_is_for_datasets(traces, tmp_path):
    done = CliRunner().invoke(
        main, ["ingest", str(traces), "-o", str(tmp_path / "job.duckdb"), "--cluster", "tcp://x:1"]
    )
    assert done.exit_code == 2
    assert "--cluster and --wait are for datasets" in done.stderr


def test_a_scheduler_that_is_lost_ends_the_ingest_in_one_line_and_pieces_are_kept(begun, traces, tmp_path, by_hand):
    scheduler, file = by_hand
    process = begun("--cluster", file)
    scheduler.kill()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith(f"traceq: error: --cluster {file}: the scheduler is gone")
    assert len(said.splitlines()) == 1, said
    assert sorted(each.name for each in (tmp_path / "job").iterdir()) == [".pieces"]
    done = CliRunner().invoke(main, ["ingest", str(traces), "-o", f"{tmp_path}/job/"])
    assert "3 of them read by an earlier ingest" in done.stdout


def test_an_ingest_that_is_interrupted_lets_workers_end_their_pieces(begun, traces, tmp_path, by_hand):
    process = begun("--cluster", by_hand[1])
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.count("\n")) == (143, 1)
    assert said.endswith(" by SIGTERM\n")
    assert sorted(each.name for each in (tmp_path / "job").iterdir()) == [".pieces"]
    (traces / "go").touch()
    until(lambda: len(list((tmp_path / "job" / ".pieces").glob("*/piece.json"))) == 4)
