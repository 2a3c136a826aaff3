"""The empty database shipped with traceq is for one version of DuckDB; for others one is made, and kept in the cache."""

from __future__ import annotations

import zlib
from pathlib import Path

import duckdb
import pytest

from traceq.app import cache
from traceq.database import empty
from traceq.database.connect import connect, table_names
from traceq.database.sql import package

VERSION = duckdb.__version__


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb, "__version__", "2.99.0")  # for which none is shipped
    monkeypatch.delenv("TRACEQ_NO_CACHE", raising=False)
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    empty._empty_database.cache_clear()
    yield
    empty._empty_database.cache_clear()


def made_by_another_process(path, monkeypatch):
    """Create a database as a new process would, and without creating a schema."""
    empty._empty_database.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(empty, "create_schema", lambda _connection: pytest.fail("the schema is created again"))
        empty.create_database(path)


def tables(path):
    with connect(path) as connection:
        return connection.execute("select count(*) from duckdb_tables()").fetchone()


CATALOGUE = (
    "select table_name, sql, comment from duckdb_tables() order by all",
    "select view_name, sql, comment from duckdb_views() where not internal order by all",
    "select table_name, column_name, data_type, is_nullable, comment from duckdb_columns() where not internal order by all",
    "select function_name, parameters, macro_definition from duckdb_functions() where not internal order by all",
    "select sequence_name from duckdb_sequences() union all select index_name from duckdb_indexes() order by all",
    "select type_name from duckdb_types() where not internal order by all",
    "select schema_name from duckdb_schemas() where not internal order by all",
    "select block_size from pragma_database_size()",
    "from traceq_schema",
)


def test_the_shipped_one_is_that_of_the_schema(tmp_path, monkeypatch, request):
    """For the DuckDB of constraints.txt; with another one the first trace takes 0.4 s more."""
    if f"duckdb=={VERSION}\n" not in (Path(__file__).parents[2] / "constraints.txt").read_text():
        pytest.skip(f"it is for the DuckDB of constraints.txt, and this is {VERSION}")
    monkeypatch.setattr(duckdb, "__version__", VERSION)
    kept, key = package().joinpath(empty.SHIPPED), empty.schema_key().encode()
    if request.config.getoption("--update-golden") and not kept.read_bytes().startswith(key):
        kept.write_bytes(key + zlib.compress(empty.make_database(), 9))
    assert kept.read_bytes().startswith(key)
    (tmp_path / "new.duckdb").write_bytes(empty.make_database())
    made_by_another_process(tmp_path / "shipped.duckdb", monkeypatch)
    with (
        duckdb.connect(str(tmp_path / "new.duckdb")) as new,
        duckdb.connect(str(tmp_path / "shipped.duckdb")) as shipped,
    ):
        for query in CATALOGUE:
            assert shipped.execute(query).fetchall() == new.execute(query).fetchall()
        assert [name for name in table_names() if shipped.execute(f"from {name}").fetchall()] == ["traceq_schema"]
    assert not (tmp_path / "cache").exists()


def test_a_second_process_works_out_no_schema(tmp_path, monkeypatch):
    empty.create_database(tmp_path / "a.duckdb")
    made_by_another_process(tmp_path / "b.duckdb", monkeypatch)
    assert (tmp_path / "b.duckdb").read_bytes() == (tmp_path / "a.duckdb").read_bytes()
    assert tables(tmp_path / "b.duckdb") > (30,)


def test_what_another_version_kept_is_not_used_and_goes(tmp_path, monkeypatch):
    empty.create_database(tmp_path / "a.duckdb")
    (before,) = (tmp_path / "cache").iterdir()
    monkeypatch.setattr(duckdb, "__version__", "3.0.0")
    empty._empty_database.cache_clear()
    empty.create_database(tmp_path / "b.duckdb")
    assert [path.name for path in (tmp_path / "cache").iterdir()] != [before.name]
    assert not before.exists()


def test_a_damaged_one_is_made_again(tmp_path):
    empty.create_database(tmp_path / "a.duckdb")
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(b"")
    empty._empty_database.cache_clear()
    empty.create_database(tmp_path / "b.duckdb")
    assert tables(tmp_path / "b.duckdb") > (30,)
    assert kept.stat().st_size > 100_000


def test_a_cache_that_cannot_be_used_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "file" / "cache"))
    empty.create_database(tmp_path / "a.duckdb")
    assert tables(tmp_path / "a.duckdb") > (30,)


def test_without_a_cache_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEQ_NO_CACHE", "1")
    empty.create_database(tmp_path / "a.duckdb")
    assert not (tmp_path / "cache").exists()


def test_clearing_the_cache_removes_it(tmp_path):
    empty.create_database(tmp_path / "a.duckdb")
    cache.clear()
    assert list((tmp_path / "cache").iterdir()) == []
