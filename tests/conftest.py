from __future__ import annotations

import fcntl
import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from golden import Golden

# Real traces are not part of the repository.
REAL_TRACES = Path(__file__).parents[2] / "shared"

# Whoever starts the tests in the background (nohup, a shell's &) has these ignored, and ignored signals are inherited by
# the processes that tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Tests of the cache have one of their own; no other test may find what was kept before.
os.environ["TRACEQ_NO_CACHE"] = "1"

# DuckDB plans in millions of small pieces of memory. In a process that has planned for hundreds of tests, looking for the next
# one takes glibc a third of all CPU time, unless each thread keeps many. Read when a process starts: by those of -n.
os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.tcache_count=2000")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what tests get")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of the cases of a test marked sample(n) those between every n-th are slow."""
    seen = Counter()
    for item in items:
        if mark := item.get_closest_marker("sample"):
            test = (item.path, item.originalname)
            if seen[test] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[test] += 1


def pytest_collection_finish():
    """Spare the collector of garbage the ten thousand tests, which stay until the end, and let it come seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure():
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were left out because the real traces are not there."""
    if not REAL_TRACES.exists():
        reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
        left_out = sum("shared" in reason or "empty parameter set" in reason for reason in reasons)
        terminalreporter.section("real traces")
        terminalreporter.write_line(
            f"{left_out} tests were left out, most of them for each real trace: no folder `shared` lies beside the checkout"
        )


@pytest.fixture
def golden(request):
    """Compares a text with the file of the given name in the folder `golden` beside the test."""
    return Golden(request.path.parent / "golden", update=request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def shared_file(request, tmp_path_factory):
    """shared_file(name, make): the file that `make(path)` writes, made by whichever process of the tests wants it first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "shared_files"
    folder.mkdir(exist_ok=True)

    def shared(name, make):
        path = folder / name
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                half = folder / f"{name}.half"
                make(half)
                half.replace(path)
        return path

    return shared


@pytest.fixture(scope="session")
def databases(shared_file):
    """A read-only connection to the database of the given trace file."""
    from traceq.database.connect import connect
    from traceq.loading.ingest import ingest

    opened = {}

    def database(path):
        if path not in opened:
            opened[path] = connect(shared_file(f"{path.name}.duckdb", lambda target: ingest([path], target)))
        return opened[path]

    yield database
    for connection in opened.values():
        connection.close()
