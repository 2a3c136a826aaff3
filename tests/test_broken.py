"""Broken files end as fixtures/README.md says: in one line that tells what is wrong, or in a database with a note."""

from __future__ import annotations

import gzip
from contextlib import closing

import pytest
from tables import filled
from test_fixtures import described, files

from traceq import importers
from traceq.database.connect import connect
from traceq.errors import TraceqError
from traceq.loading.ingest import ingest

OUTCOMES = {name: cells[1] for name, cells in described("broken").items()}
ENTIRE = [name for name, outcome in OUTCOMES.items() if outcome == "ok"]
NOTED = {name: outcome for name, outcome in OUTCOMES.items() if outcome.startswith("note: ")}
REFUSED = {name: outcome.removeprefix("error: ") for name, outcome in OUTCOMES.items() if outcome.startswith("error: ")}
STRANGE = (
    "deep_stack.json.gz",
    "nsys_missing_strings.sqlite",
    "nsys_negative_duration.sqlite",
    "nsys_unclosed_ranges.sqlite",
)


def read(name):
    """(how many slices a file gives, code -> severity of the notes on it), of what is read and joined up."""
    path = files("broken")[name]
    importer = importers.find(path)
    with closing(filled(importer.read(path), "missing_input", "notes", format_=importer.NAME)) as tables:
        rows = tables.execute("select (select count(*) from cpu_slice) + (select count(*) from gpu_slice)").fetchone()
        return rows[0], dict(tables.execute("select code, severity from import_note").fetchall())


@pytest.mark.parametrize("name", ENTIRE)
def test_what_only_looks_broken_is_read_whole(name):
    rows, notes = read(name)
    assert rows > 0
    assert set(notes.values()) <= {"info"}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "outcome"), NOTED.items())
def test_what_can_be_read_is_read_and_the_rest_is_noted(name, outcome):
    rows, found = read(name)
    assert rows > 0
    expected = {each.removeprefix("note: ") for each in outcome.split("; ")}
    assert expected <= set(found)
    # Nothing else is the matter with the file.
    assert [code for code in set(found) - expected if found[code] != "info"] == []


@pytest.mark.slow
def test_the_strangest_are_analysed_to_the_end(tmp_path):
    ingest([files("broken")[name] for name in STRANGE], tmp_path / "broken.duckdb")
    with closing(connect(tmp_path / "broken.duckdb")) as connection:
        assert connection.execute("select count(distinct trace_id) from step_stats").fetchone() == (len(STRANGE),)


@pytest.mark.parametrize(("name", "slug"), REFUSED.items())
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name, slug):
    path = files("broken")[name]
    with pytest.raises(TraceqError) as caught:
        ingest([path], tmp_path / "broken.duckdb")
    assert caught.value.slug == slug
    assert is_told(caught.value, path)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_file_costs_the_others_nothing(tmp_path):
    """They are not ingested either, and a database that was there stays as it was."""
    target = tmp_path / "traces.duckdb"
    ingest([files("broken")["bom.json"]], target)
    before = target.read_bytes()
    for bad in ("html_page.json", "no_events.json"):
        with pytest.raises(TraceqError):
            ingest([files("broken")["trailing_comma.json"], files("broken")[bad]], target)
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


@pytest.mark.slow
@pytest.mark.parametrize("percents", [range(0, 100, 3), pytest.param(range(100), marks=pytest.mark.slow)], ids=len)
@pytest.mark.parametrize("name", CUT)
def test_a_file_cut_at_any_percent_ends_in_a_note_or_an_error(tmp_path, name, percents):
    """Only read, because a hundred databases take a minute; the next test stores some."""
    path = tmp_path / name
    refused = []
    for percent in percents:
        path.write_bytes(CUT[name][: len(CUT[name]) * percent // 100])
        try:
            codes = losses(path)
        except TraceqError as error:
            assert is_told(error, path)  # noqa: PT017 - not every cut raises
            refused.append(percent)
        else:
            assert "truncated" in codes or (codes and name.endswith(".sqlite")), percent
    # A cut text has lost its end only, a cut database its structure.
    assert name.endswith(".sqlite") or refused == list(percents[: len(refused)])
    assert name.endswith(".sqlite") or len(refused) < len(percents) / 10


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CUT)
def test_a_cut_file_is_stored_or_leaves_nothing(tmp_path, name):
    for percent in (1, 50, 99):
        folder = tmp_path / str(percent)
        folder.mkdir()
        path, target = folder / name, folder / "traces.duckdb"
        path.write_bytes(CUT[name][: len(CUT[name]) * percent // 100])
        try:
            ingest([path], target)
        except TraceqError:
            assert list(folder.iterdir()) == [path]
        else:
            with closing(connect(target)) as connection:
                query = "select count(*) from import_note where severity = 'data_loss'"
                assert connection.execute(query).fetchone()[0] > 0
