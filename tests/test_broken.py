"""Broken files end as fixtures/README.md says: in one line that tells what is wrong, or in a database with a note."""

from __future__ import annotations

import gzip
from contextlib import closing

import pytest
from test_fixtures import described, files

from traceq import importers, store
from traceq.errors import TraceqError

OUTCOMES = {name: cells[1] for name, cells in described("broken").items()}
ENTIRE = [name for name, outcome in OUTCOMES.items() if outcome == "ok"]
NOTED = {name: outcome for name, outcome in OUTCOMES.items() if outcome.startswith("note: ")}
REFUSED = {name: outcome.removeprefix("error: ") for name, outcome in OUTCOMES.items() if outcome.startswith("error: ")}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Everything that can be read, in one database."""
    path = tmp_path_factory.mktemp("broken") / "broken.duckdb"
    store.ingest([files("broken")[name] for name in OUTCOMES if name not in REFUSED], path)
    with closing(store.connect(path)) as connection:
        yield connection


def notes_of(database, name):
    """Code -> severity of the notes on a file."""
    query = "select code, severity from import_note join trace using (trace_id) where path like '%/' || ?"
    return dict(database.execute(query, [name]).fetchall())


def rows_of(database, name):
    """How many slices a file gave."""
    query = """
        select (select count(*) from cpu_slice c where c.trace_id = t.trace_id)
             + (select count(*) from gpu_slice g where g.trace_id = t.trace_id)
        from trace t where path like '%/' || ?"""
    return database.execute(query, [name]).fetchone()[0]


@pytest.mark.parametrize("name", ENTIRE)
def test_what_only_looks_broken_is_read_whole(database, name):
    assert rows_of(database, name) > 0
    assert set(notes_of(database, name).values()) <= {"info"}


@pytest.mark.parametrize(("name", "outcome"), NOTED.items())
def test_what_can_be_read_is_read_and_the_rest_is_noted(database, name, outcome):
    assert rows_of(database, name) > 0
    expected = {each.removeprefix("note: ") for each in outcome.split("; ")}
    found = notes_of(database, name)
    assert expected <= set(found)
    # Nothing else is the matter with the file.
    assert [code for code in set(found) - expected if found[code] != "info"] == []


@pytest.mark.parametrize(("name", "slug"), REFUSED.items())
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name, slug):
    path = files("broken")[name]
    with pytest.raises(TraceqError) as caught:
        store.ingest([path], tmp_path / "broken.duckdb")
    assert caught.value.slug == slug
    assert is_told(caught.value, path)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_file_costs_the_others_nothing(tmp_path):
    """They are not ingested either, and a database that was there stays as it was."""
    target = tmp_path / "traces.duckdb"
    store.ingest([files("broken")["bom.json"]], target)
    before = target.read_bytes()
    for bad in ("html_page.json", "no_events.json"):
        with pytest.raises(TraceqError):
            store.ingest([files("broken")["trailing_comma.json"], files("broken")[bad]], target)
        assert target.read_bytes() == before
        assert list(tmp_path.iterdir()) == [target]


# ---- the same for files cut anywhere

CUT = {
    "trace.json": gzip.decompress(files("run")["kineto_2026.json.gz"].read_bytes()),
    "trace.json.gz": files("run")["kineto_2026.json.gz"].read_bytes(),
    "export.sqlite": files("run")["nsys_2026.2.sqlite"].read_bytes(),
}


def losses(path):
    """Codes of the notes of data loss that reading a file gives."""
    batches = [batch for table, batch in importers.find(path).read(path) if table == "import_note"]
    return {row["code"] for batch in batches for row in batch.to_pylist() if row["severity"] == "data_loss"}


def is_told(error, path):
    """Whether the message is one line and names the file."""
    return len(str(error).splitlines()) == 1 and str(path) in str(error)


@pytest.mark.parametrize("name", CUT)
def test_a_file_cut_at_any_percent_ends_in_a_note_or_an_error(tmp_path, name):
    """Only read, because a hundred databases take a minute; the next test stores some."""
    path = tmp_path / name
    refused = []
    for percent in range(100):
        path.write_bytes(CUT[name][: len(CUT[name]) * percent // 100])
        try:
            codes = losses(path)
        except TraceqError as error:
            assert is_told(error, path)  # noqa: PT017 - not every cut raises
            refused.append(percent)
        else:
            assert "truncated" in codes or (codes and name.endswith(".sqlite")), percent
    # A cut text has lost its end only, a cut database its structure.
    assert name.endswith(".sqlite") or refused == list(range(len(refused)))
    assert name.endswith(".sqlite") or len(refused) < 10


@pytest.mark.parametrize("name", CUT)
def test_a_cut_file_is_stored_or_leaves_nothing(tmp_path, name):
    for percent in (1, 50, 99):
        folder = tmp_path / str(percent)
        folder.mkdir()
        path, target = folder / name, folder / "traces.duckdb"
        path.write_bytes(CUT[name][: len(CUT[name]) * percent // 100])
        try:
            store.ingest([path], target)
        except TraceqError:
            assert list(folder.iterdir()) == [path]
        else:
            with closing(store.connect(target)) as connection:
                query = "select count(*) from import_note where severity = 'data_loss'"
                assert connection.execute(query).fetchone()[0] > 0
