"""Readers beside a writer, two writers, and writers that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from handmade_job import rank_trace

import traceq
from traceq.dataset.lock import lock_for_writing
from traceq.dataset.place import Place

# Ends as if the machine had failed, when all pieces are in their places and only the list of them is old.
KILLED = """
import os, signal, sys
import traceq
from traceq.dataset import ingest

def killed(*_arguments):
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    ingest.commit = killed
    traceq.ingest(sys.argv[1], sys.argv[2], run="small", force=True)
"""


@pytest.fixture
def job(tmp_path, job_made):
    """A dataset of two windows of four ranks."""
    return Path(shutil.copytree(job_made / "dataset" / "job", tmp_path / "job"))


@pytest.fixture
def later(tmp_path):
    """The traces of two ranks, recorded when all others had ended."""
    for rank in (0, 1):
        path = tmp_path / "later" / f"rank{rank}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(rank_trace(rank, {}, 10**18 + 1200 * 10**9))
    return tmp_path / "later"


def ingest(*arguments):
    command = [sys.executable, "-m", "traceq", "ingest", *map(str, arguments), "--run", "small"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def seen(job):
    """Traces, those with kernels, and windows, asked one after the other."""
    queries = (
        "select count(*) from trace",
        "select count(distinct trace_id) from kernel",
        "select count(*) from job",
    )
    with traceq.open(job) as traces:
        return tuple(traces.sql(query).fetchall()[0][0] for query in queries)


@pytest.mark.slow
def test_readers_see_all_of_an_ingest_or_nothing_of_it(job, later):
    found, failed, is_over = [], [], threading.Event()

    def read():
        while not is_over.is_set():
            try:
                found.append(seen(job))
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not be
                failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    writer = ingest(later, "-o", job)
    _, said = writer.communicate(timeout=300)
    is_over.set()
    for reader in readers:
        reader.join()
    assert (writer.returncode, said, failed) == (0, "", [])
    assert set(found) <= {(8, 8, 2), (10, 10, 3)}
    assert (8, 8, 2) in found
    assert seen(job) == (10, 10, 3)


def test_a_second_writer_is_told_at_once_whatever_it_wants(traceq_command, job, later):
    before = (job / "dataset.json").read_bytes()
    with lock_for_writing(Place(str(job))):
        began = time.monotonic()
        for command in (
            ("ingest", later, "-o", job),
            ("dataset", "drop", job, "--run", "small"),
            ("dataset", "compact", job),
        ):
            found = traceq_command(*command)
            assert found.exit_code == 1
            assert f"{job}: is being written by process {os.getpid()} on " in found.stderr
        assert time.monotonic() - began < 60
        assert traceq_command("dataset", "list", job).exit_code == 0
    assert (job / "dataset.json").read_bytes() == before


@pytest.mark.parametrize(
    "command", ["dataset drop {job} --run small --window 1", "dataset compact {job}", "convert {database} -o {job}"]
)
def test_each_that_writes_waits_for_its_turn(traceq_command, monkeypatch, job, job_made, command):
    monkeypatch.setattr("traceq.dataset.lock._LOOK", 0.01)
    lock = job / "writer.json"
    lock.write_text(f'{{"token": "x", "host": "{socket.gethostname()}", "pid": {os.getpid()}, "since": "09:00"}}')
    words = command.format(job=job, database=job_made / "database" / "job").split()
    threading.Timer(0.3, lock.unlink).start()
    found = traceq_command(*words, "--wait", "1min")
    assert "is being written" not in found.stderr
    assert found.exit_code == 0 or "holds 8 traces already" in found.stderr


@pytest.mark.slow
def test_of_two_ingests_at_once_one_may_be_refused_and_none_is_lost(job, later):
    writers = [ingest(later / f"rank{rank}.json", "-o", job) for rank in (0, 1)]
    ended = [(writer.communicate(timeout=300)[1], writer.returncode) for writer in writers]
    assert 0 in [status for _, status in ended]
    for said, status in ended:
        assert status == 0 or "is being written by process" in said
    added = sum(status == 0 for _, status in ended)
    assert seen(job)[:2] == (8 + added, 8 + added)
    assert not (job / "writer.json").exists()


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_what_was_there_and_the_next_one_goes_on(
    tmp_path, traceq_command, job, job_traces
):
    again = tmp_path / "again"
    shutil.copytree(job_traces / "window1", again)
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    before = traceq.report(job).to_json()
    killed = subprocess.Popen(
        [sys.executable, script, again, job],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert killed.wait(timeout=300) == -signal.SIGKILL
    os.killpg(killed.pid, signal.SIGKILL)  # the processes that it has started
    assert (job / "writer.json").exists()
    assert traceq_command("dataset", "verify", job).stdout == f"{job}: 8 traces, 0 faults\n"
    assert traceq.report(job).to_json() == before
    assert len(traceq.ingest(again, job, run="small", force=True).ingested) == 4
    assert not (job / "writer.json").exists()
    assert traceq_command("dataset", "verify", job).exit_code == 0
    assert seen(job) == (8, 8, 2)
