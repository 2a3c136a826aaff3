from __future__ import annotations

import shutil

import duckdb
import pytest
from click.testing import CliRunner

from traceq.cli import main
from traceq.database.empty import create_database

NAMES = ("void gemm<float, 128>(float*)", "evil \x1b[31mred\nline | pipe <script>", "é漢字")


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """What tests take copies of."""
    path = tmp_path_factory.mktemp("made_once") / "t.duckdb"
    create_database(path)
    with duckdb.connect(str(path)) as connection:
        trace = "select 1 as trace_id, 't.json' as path, '0' as sha256, 1 as size_bytes, 'chrome' as format"
        connection.execute(f"insert into trace by name {trace}, now()::timestamp as ingested_at")
        connection.executemany(
            "insert into gpu_slice by name select 1 as trace_id, $id as slice_id, 0 as device, 7 as stream,"
            " 'kernel' as kind, $name as name, $id * 100 as ts, 9007199254740993 + $id as dur,"
            " false as is_communication",
            [{"id": number, "name": name} for number, name in enumerate(NAMES)],
        )
    return path


@pytest.fixture
def database(made_once, tmp_path):
    """Three kernels; durations that a double cannot hold."""
    path = tmp_path / "db" / "t.duckdb"
    path.parent.mkdir()
    return shutil.copyfile(made_once, path)


@pytest.fixture
def traceq():
    """Runs traceq with the given arguments in this process."""

    def run(*arguments, **options):
        return CliRunner().invoke(main, [str(each) for each in arguments], **options)

    return run
