"""Parts and anonymised copies of exports whose tables and columns are called otherwise than nsys calls them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from traceq.app.anonymise import anonymise
from traceq.app.api import trim
from traceq.importers.nsys import payload, reader
from traceq.sharing import nsys_part, sqlite_file
from traceq.sharing.names import read_allowed

NSYS = Path(__file__).parents[2] / "fixtures" / "run" / "nsys_2026.2.sqlite"


def list_tables(database):
    return [name for (name,) in database.execute("select name from sqlite_master where type = 'table' order by rowid")]


def read_tables(path):
    """All rows of the tables, with their columns' names."""
    tables = {}
    with closing(sqlite3.connect(path)) as database:
        for table in list_tables(database):
            cursor = database.execute(f'select * from "{table}"')
            columns = tuple(column for column, *_ in cursor.description)
            tables[table] = (columns, cursor.fetchall())
    return tables


@pytest.fixture(params=["lower", "version"])
def renamed(tmp_path, request):
    """The export with other names of the tables that traceq reads, and of the columns that it knows."""
    path = tmp_path / "renamed.sqlite"
    path.write_bytes(NSYS.read_bytes())
    known = {"StringIds", *read_allowed("nsys")["tables"], *nsys_part._WHOLE}
    with closing(sqlite3.connect(path)) as database:
        for table in [name for name in list_tables(database) if name in known]:
            columns = [name for _, name, *_ in database.execute(f'pragma table_info("{table}")').fetchall()]
            for column in set(columns) & set(sqlite_file._SPELLED.values()):
                database.execute(f'alter table "{table}" rename column "{column}" to "{column.upper()}"')
            other = table.lower() if request.param == "lower" else f"{table}_v3"
            for name, new in ((table, "moved"), ("moved", other)):
                database.execute(f'alter table "{name}" rename to "{new}"')
        database.commit()
    return path


def test_a_part_has_the_rows_of_the_part(renamed, tmp_path):
    for path in (NSYS, renamed):
        trim(path, tmp_path / f"part_of_{path.stem}.sqlite", window="1ms..2ms")
    expected = read_tables(tmp_path / f"part_of_{NSYS.stem}.sqlite")
    found = read_tables(tmp_path / "part_of_renamed.sqlite")
    assert {table: rows for table, (_, rows) in found.items()} == {table: rows for table, (_, rows) in expected.items()}


def test_a_copy_without_names_has_the_same_rows_and_columns(renamed, tmp_path):
    for path in (NSYS, renamed):
        anonymise(path, tmp_path / f"shared_{path.stem}.sqlite", seed="s")
    assert read_tables(tmp_path / "shared_renamed.sqlite") == read_tables(tmp_path / f"shared_{NSYS.stem}.sqlite")


def test_all_tables_that_are_read_have_their_usual_names_in_copies():
    # Call chains of calls name functions of the program.
    left_out = {
        "CUDA_CALLCHAINS",
        "OSRT_CALLCHAINS",
        "OSRT_FILE_ACCESS_EVENTS",
        "CUDA_GPU_MEMORY_POOL_EVENTS",
        # Network cards and switches are known by numbers of the machines' own network.
        "NET_NIC_METRIC",
        "NET_IB_SWITCH_METRIC",
        *payload.TABLES,
    }
    assert {*reader._TABLES} - left_out <= {"StringIds", *read_allowed("nsys")["tables"]}
