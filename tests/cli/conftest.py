from __future__ import annotations

import duckdb
import pytest
from click.testing import CliRunner

from traceq import store
from traceq.cli import main

NAMES = ("void gemm<float, 128>(float*)", "evil \x1b[31mred\nline | pipe <script>", "é漢字")


@pytest.fixture
def database(tmp_path):
    """Three kernels; durations that a double cannot hold."""
    path = tmp_path / "db" / "t.duckdb"
    path.parent.mkdir()
    with duckdb.connect(str(path)) as connection:
        store.create_schema(connection)
        connection.executemany(
            "insert into gpu_slice by name select 1 as trace_id, $id as slice_id, 0 as device, 7 as stream,"
            " 'kernel' as kind, $name as name, $id * 100 as ts, 9007199254740993 + $id as dur,"
            " false as is_communication",
            [{"id": number, "name": name} for number, name in enumerate(NAMES)],
        )
    return path


@pytest.fixture
def traceq():
    """Runs traceq with the given arguments in this process."""

    def run(*arguments, **options):
        return CliRunner().invoke(main, [str(each) for each in arguments], **options)

    return run
