"""Pieces are the same when their workers died; a rank that ends its workers is given up, and no other one is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import piece_stand_ins
import pytest
from click.testing import CliRunner
from handmade_job import rank_trace
from msgspec import structs
from piece_stand_ins import until

import traceq
from traceq.analysis.steps.choice import choice_of
from traceq.cli import main
from traceq.common.process import is_running
from traceq.dataset.manifest import read_manifest
from traceq.dataset.piece import PieceTask, make_piece
from traceq.dataset.place import Place
from traceq.dataset.runner import Processes, WorkerDied
from traceq.loading.build import Task
from traceq.loading.sources import find_sources


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary files are now."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
def test_a_rank_is_made_again_when_its_worker_was_killed(traces, tmp_path, temporary, made_by, content):
    traceq.ingest(traces, f"{tmp_path}/whole/", jobs=2)
    made_by(piece_stand_ins.deadly)
    piece_stand_ins.ends(traces, 1, times=1)
    result = traceq.ingest(traces, f"{tmp_path}/killed/", jobs=2)
    assert (len(result.ingested), result.failures) == (4, ())
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    assert list(temporary.iterdir()) == []
    assert sorted(each.name for each in (tmp_path / "killed").iterdir()) == ["dataset.json", "run=traces"]


@pytest.mark.slow
def test_a_rank_that_ends_every_worker_is_given_up_alone(traces, tmp_path, temporary, made_by, content):
    made_by(piece_stand_ins.deadly)
    piece_stand_ins.ends(traces, 2, times=9)
    told = []
    result = traceq.ingest(traces, f"{tmp_path}/job/", jobs=3, failed=told.append)
    assert sorted(content(tmp_path / "job")[0]) == [0, 1, 3]
    assert list(result.failures) == told
    assert [each.path.name for each in told] == ["rank2.json"]
    assert told[0].reason == (
        f"{traces}/rank2.json: the process that read it ended, when it was read alone as well (signal 9, Killed): out of"
        " memory? Try a smaller --memory-limit, or a machine with more memory"
    )
    assert piece_stand_ins.left(traces, 2) == 7
    assert list(temporary.iterdir()) == []
    assert sorted(each.name for each in (tmp_path / "job").iterdir()) == ["dataset.json", "run=traces"]


@pytest.mark.slow
def test_a_trace_that_cannot_be_read_costs_only_itself(traces, tmp_path):
    (traces / "rank7.json").write_text('{"schemaVersion": 1, "traceEvents": [')
    done = CliRunner().invoke(main, ["ingest", str(traces), "-o", f"{tmp_path}/job/", "--jobs", "2"])
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"traceq: failed: {traces}/rank7.json: nothing recorded: the file holds no events")
    assert done.stdout == f"{tmp_path}/job/: 4 traces, 192 GPU slices, 240 host slices, 4 notes, 1 failed\n"
    again = CliRunner().invoke(main, ["ingest", str(traces), "-o", f"{tmp_path}/job/"])
    assert (again.exit_code, again.stdout) == (1, f"{tmp_path}/job/: 0 traces, 4 already there, 1 failed\n")


def test_a_fault_of_traceq_is_told_of_each_trace(traces, tmp_path, made_by):
    made_by(piece_stand_ins.faulty)
    result = traceq.ingest(traces / "rank0.json", f"{tmp_path}/job/")
    (failure,) = result.failures
    assert failure.reason == f"{traces}/rank0.json: traceq is at fault: KeyError: 'rank0.json'"


def test_a_process_that_ends_between_two_calls_is_told_as_dead():
    with Processes(1) as processes:
        pid = processes.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(WorkerDied, match="signal 9"):
            processes.submit(os.getpid).result()
        assert processes.submit(os.getpid).result() != pid


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_an_ingest_that_is_interrupted_leaves_what_is_made_for_the_next(begun, traces, tmp_path, number, status):
    process = begun()
    worker = int((traces / "began").read_text())
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == status, said
    assert sorted(each.name for each in (tmp_path / "job").iterdir()) == [".pieces"]
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not is_running(worker)
    done = CliRunner().invoke(main, ["ingest", str(traces), "-o", f"{tmp_path}/job/"])
    assert done.exit_code == 0
    assert "4 traces" in done.stdout
    assert "3 of them read by an earlier ingest" in done.stdout


@pytest.mark.slow
def test_a_worker_ends_when_the_ingest_is_killed(begun, traces, tmp_path):
    process = begun()
    worker = int((traces / "began").read_text())
    process.kill()
    process.wait()
    (traces / "go").touch()
    until(lambda: not is_running(worker))
    done = CliRunner().invoke(main, ["ingest", str(traces), "-o", f"{tmp_path}/job/"])
    assert "4 of them read by an earlier ingest" in done.stdout


@pytest.mark.slow
def test_a_second_writer_waits_for_its_turn(begun, traces, tmp_path):
    """As the hosts of a job do, each of which adds its own ranks."""
    other = tmp_path / "host1"
    other.mkdir()
    for rank in (4, 5):
        (other / f"rank{rank}.json").write_text(rank_trace(rank, {2: 300}, 10**18))
    command = ["ingest", str(other), "-o", f"{tmp_path}/job/", "--run", "traces"]
    first = begun()
    refused = CliRunner().invoke(main, [*command, "--wait", "1ms"])
    assert refused.exit_code == 1
    assert f"is being written by process {first.pid} on " in refused.stderr
    second = subprocess.Popen([sys.executable, "-m", "traceq", *command, "--wait", "2min"])
    time.sleep(2)
    assert second.poll() is None
    (traces / "go").touch()
    assert (first.wait(60), second.wait(120)) == (0, 0)
    pieces = read_manifest(Place(f"{tmp_path}/job")).pieces
    assert [(piece.window, piece.rank) for piece in pieces] == [(0, rank) for rank in range(6)]


@pytest.mark.slow
def test_one_who_is_taken_for_dead_may_come_back(traces, tmp_path):
    """Two make the same piece at once: one is kept as it is."""
    place = Place(str(tmp_path / "job"))
    (source,) = find_sources([traces / "rank0.json"])
    built = Task(source, Path(), Path(), 1, "run", "hash", choice_of(), 1, 1, 256 << 20)
    task = PieceTask(built, place, ".pieces/hash", "asked")
    make_piece(task)
    first = place.read(".pieces/hash/piece.json")
    make_piece(task)
    assert place.read(".pieces/hash/piece.json") == first
    make_piece(structs.replace(task, asked="something else"))
    assert place.read(".pieces/hash/piece.json") != first
    assert place.list_names(".pieces") == ["hash"]
