"""The traces of a small job, and what is in a dataset of them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from made_job import RANKS, rank_trace

import traceq
from traceq.cli import main
from traceq.dataset.manifest import read_manifest
from traceq.dataset.place import Place


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


@pytest.fixture(scope="session")
def many_traces(shared_file):
    """A folder with the traces of six ranks, of which rank 2 is late."""

    def make(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for rank in range(6):
            (folder / f"rank{rank}.json").write_text(rank_trace(rank, {2: 300}, 10**18, ranks=6))

    return shared_file("many_traces", make)
