"""The traces of a small job, and what is in a dataset of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_job import RANKS, rank_trace
from made_pieces import until

import traceq
from traceq.cli import main
from traceq.dataset.manifest import read_manifest
from traceq.dataset.place import Place

# The program traceq, which makes pieces by the stand-in that the first argument names.
_PROGRAM = """
import sys
import made_pieces
import traceq.dataset.runner
from traceq.cli import run
traceq.dataset.runner.make_piece = getattr(made_pieces, sys.argv.pop(1))
run()
"""


@pytest.fixture(scope="session")
def job_traces(shared_file):
    """A folder with the traces of four ranks, of which rank 2 is late, and of the same ranks ten minutes later, none late."""

    def make(folder):
        for window, (late, begins) in enumerate((({2: 300}, 10**18), ({}, 10**18 + 600 * 10**9))):
            for rank in range(RANKS):
                path = folder / f"window{window}" / f"rank{rank}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(rank_trace(rank, late, begins))

    return shared_file("job_traces", make)


@pytest.fixture
def traces(tmp_path):
    """A folder with the traces of four ranks, of which rank 2 is late."""
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(RANKS):
        (folder / f"rank{rank}.json").write_text(rank_trace(rank, {2: 300}, 10**18))
    return folder


@pytest.fixture
def content():
    """content(dataset): the digests of its pieces by rank, and the report on it without the name of the dataset."""

    def told(dataset):
        pieces = read_manifest(Place(str(dataset))).pieces
        return {piece.rank: piece.digest for piece in pieces}, traceq.report(dataset).to_json().replace(
            str(dataset), ""
        )

    return told


@pytest.fixture(scope="session")
def job_made(shared_file, job_traces):
    """A folder with the job of these traces as a database, database/job, and as a dataset, dataset/job."""

    def make(folder):
        for kind, name in (("database", "job"), ("dataset", "job/")):
            (folder / kind).mkdir(parents=True)
            traceq.ingest(job_traces, f"{folder}/{kind}/{name}", run="small")

    return shared_file("job_made", make)


@pytest.fixture
def traceq_command():
    """Runs traceq with the given arguments in this process."""

    def run(*arguments, **options):
        return CliRunner().invoke(main, [str(each) for each in arguments], **options)

    return run


@pytest.fixture
def made_by(monkeypatch):
    """made_by(stand_in): workers call it for make_piece."""
    return lambda stand_in: monkeypatch.setattr("traceq.dataset.runner.make_piece", stand_in)


@pytest.fixture
def begun(traces, tmp_path):
    """begun(*options): traceq that ingests the traces into a dataset, three of which are made, and works on the last one."""
    processes = []

    def start(*options, output="job/"):
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        command = [sys.executable, "-c", _PROGRAM, "slow", "ingest", str(traces), "-o", str(tmp_path / output) + "/"]
        (tmp_path / "tmp").mkdir(exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path / "tmp")}
        process = subprocess.Popen(
            [*command, *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        until((traces / "began").exists)
        until(lambda: len(list((tmp_path / output / ".pieces").glob("*/piece.json"))) == 3)
        return process

    yield start
    for each in processes:
        each.kill()
        each.communicate()
