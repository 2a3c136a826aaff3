"""The empty database comes from the cache, where there is one that can be used."""

from __future__ import annotations

import duckdb
import pytest

from traceq.app import cache
from traceq.database import empty
from traceq.database.connect import connect


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACEQ_NO_CACHE", raising=False)
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    empty._empty_database.cache_clear()
    yield
    empty._empty_database.cache_clear()


def made_by_another_process(path, monkeypatch):
    """Create a database as a new process would, and without working out a schema."""
    empty._empty_database.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(empty, "create_schema", lambda _connection: pytest.fail("the schema is worked out again"))
        empty.create_database(path)


def tables(path):
    with connect(path) as connection:
        return connection.execute("select count(*) from duckdb_tables()").fetchone()


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
