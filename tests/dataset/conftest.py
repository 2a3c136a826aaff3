"""The traces of a small job, what is in a dataset of them, and an S3-compatible server that counts what it is asked."""

from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from handmade_job import RANKS, rank_trace
from piece_stand_ins import until

import traceq
from traceq.cli import main
from traceq.dataset.manifest import read_manifest
from traceq.dataset.place import Place

NUMBERS = itertools.count()


# The program traceq, which makes pieces by the stand-in that the first argument names.
_PROGRAM = """
import sys
import piece_stand_ins
import traceq.dataset.runner
from traceq.cli import run
traceq.dataset.runner.make_piece = getattr(piece_stand_ins, sys.argv.pop(1))
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


@pytest.fixture(scope="session")
def many_traces(shared_file):
    """A folder with the traces of six ranks, of which rank 2 is late."""

    def make(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for rank in range(6):
            (folder / f"rank{rank}.json").write_text(rank_trace(rank, {2: 300}, 10**18, ranks=6))

    return shared_file("many_traces", make)


@pytest.fixture(scope="session")
def one_rank(shared_file, job_traces):
    """A folder that holds a dataset with rank 0 of the first window, of the run x."""
    trace = job_traces / "window0" / "rank0.json"
    return shared_file("one_rank", lambda folder: traceq.ingest(trace, f"{folder}/", run="x"))


@pytest.fixture(scope="session")
def two_windows(shared_file, job_traces):
    """A folder that holds a dataset with both windows of the job, of the run "a run"."""
    return shared_file("two_windows", lambda folder: traceq.ingest(job_traces, f"{folder}/", run="a run"))


class Store:
    """moto behind a server of this machine. `asked` are its requests; `change` may change or refuse one before moto has it."""

    def __init__(self):
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel("ERROR")
        self.asked = []
        self.change = None
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answer(self, environ, start):
        query = environ["QUERY_STRING"]
        what = "list" if "list-type" in query else "delete" if query == "delete" else ""
        if "HTTP_X_AMZ_COPY_SOURCE" in environ:
            what = "copy"
        self.asked.append(f"{environ['REQUEST_METHOD']} {what}".strip() + " " + environ["PATH_INFO"])
        refused = self.change(environ) if self.change else None
        if refused:
            start(refused, [("Content-Type", "application/xml")])
            code = refused.partition(" ")[2]
            return [f"<Error><Code>{code}</Code><Message>{code} is how it ends</Message></Error>".encode()]
        return self._moto(environ, start)

    def fill(self, address, folder):
        """Put a dataset of this machine to an address."""
        import s3fs

        s3fs.S3FileSystem().put(f"{folder}/", f"{address}/", recursive=True)
        self.asked.clear()

    def counted(self):
        """How many requests of each kind there were since it was asked last."""
        kinds = [each.rpartition(" ")[0] for each in self.asked]
        self.asked.clear()
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose address and credentials are those of the environment."""
    pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    folder = tmp_path_factory.mktemp("nothing")
    server = Store()
    with pytest.MonkeyPatch.context() as patch:
        # nothing of the user's own is read, and nobody beyond this machine is asked
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_ENDPOINT_URL", server.url)
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "verysecret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        yield server
        server.stop()
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(server):
    """The address of a bucket of its own."""
    import s3fs

    name = f"bucket{next(NUMBERS)}"
    s3fs.S3FileSystem().mkdir(name)
    server.asked.clear()
    yield f"s3://{name}"
    server.change = None


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
