"""Nothing of the environment of the traced machine enters a database or a report."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import duckdb
import pytest
from trace_files import NSYS, TORCH, every_trace, read_raw

# Environment variables in the files had been replaced by this text before they came here.
CANARY = "CANARY_ENVIRONMENT_VALUE"
TEXT_COLUMNS = """
    select table_name, column_name from duckdb_columns()
    join duckdb_tables() using (database_name, schema_name, table_name)
    where not duckdb_columns.internal and data_type = 'VARCHAR'
"""


def list_columns_with(
    database: duckdb.DuckDBPyConnection, words: set[str], *, without: tuple[str, ...] = ()
) -> list[str]:
    """The text columns, as `table.column`, in which one of the words occurs."""
    found = []
    for table, column in database.execute(TEXT_COLUMNS).fetchall() if words else ():
        query = f'select count(*) from "{table}", unnest(?) as sought(word) where contains("{column}", word)'
        if f"{table}.{column}" not in without and database.execute(query, [sorted(words)]).fetchone() != (0,):
            found.append(f"{table}.{column}")
    return found


@every_trace
def test_no_text_of_the_database_holds_an_environment_variable(path, databases):
    assert list_columns_with(databases(path), {CANARY}) == []


@every_trace
def test_no_byte_of_the_database_file_holds_an_environment_variable(path, databases):
    (file,) = databases(path).execute("select path from duckdb_databases() where not internal").fetchone()
    assert CANARY.encode() not in Path(file).read_bytes()


@every_trace
def test_no_text_of_the_database_names_the_machine_or_its_user(path, databases):
    """The path of the source is the user's own, as given."""
    assert list_columns_with(databases(path), read_raw(path).machine, without=("trace.path",)) == []


@every_trace
def test_hosts_are_told_apart_by_pseudonym_only(path, databases):
    (host,) = databases(path).execute("select host from trace").fetchone()
    assert host is None or (host.startswith("host-") and len(host) == len("host-") + 8)


@pytest.mark.sample(4)
@every_trace
def test_processes_are_named_without_their_path(path, databases):
    query = "select process_name from thread where process_name like '%/%'"
    assert databases(path).execute(query).fetchall() == []


@pytest.mark.sample(4)
@every_trace
def test_no_report_holds_an_environment_variable_or_names_the_machine_or_its_user(path, rendered):
    from traceq.reports import RENDERERS

    for form in RENDERERS:
        text = rendered(path, form)
        names = {CANARY, *read_raw(path).machine}
        # a machine can be called vm, as vmstat begins
        assert [(form, name) for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)] == []


@pytest.mark.slow
def test_the_files_hold_what_must_not_be_found():
    paths = [path for path in (*NSYS, *TORCH) if path.exists()]
    if not paths:
        pytest.skip("the folder shared/traces is not beside the checkout")
    assert sum(CANARY.encode() in _read_content(path) for path in paths) > 10
    assert sum(bool(read_raw(path).machine) for path in paths) > 10


def _read_content(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content
