"""A database becomes a dataset and a database again, with the same rows, digests and reports."""

from __future__ import annotations

import re
import shutil

import pytest

import traceq
from traceq.dataset.manifest import read_manifest
from traceq.dataset.place import Place


def tables(path):
    """The rows of every table, but for when they were ingested and what rules said."""
    with traceq.open(path) as traces:
        listed = "select table_name from duckdb_tables() where table_name not in ('judgement')"
        found = {}
        for (name,) in traces.sql(listed).fetchall():
            query = f"select * {'exclude (ingested_at)' if name == 'trace' else ''} from {name} order by all"
            found[name] = traces.sql(query).fetchall()
        return found


def digests(path):
    return [
        (each.trace_id, each.run, each.window, each.rank, each.digest)
        for each in read_manifest(Place(str(path))).pieces
    ]


@pytest.fixture(scope="module")
def converted(tmp_path_factory, job_made):
    """What the command makes of the database, and of that again."""
    folder = tmp_path_factory.mktemp("converted")
    traceq.convert(job_made / "database" / "job", f"{folder}/job/")
    traceq.convert(folder / "job", folder / "job.duckdb")
    return folder


@pytest.mark.slow
def test_a_database_becomes_the_dataset_that_an_ingest_makes(converted, job_made):
    assert digests(converted / "job") == digests(job_made / "dataset" / "job")
    assert [path.name for path in (converted / "job").iterdir() if path.is_file()] == ["dataset.json"]


@pytest.mark.slow
def test_a_dataset_becomes_the_database_that_an_ingest_makes(converted, job_made):
    assert tables(converted / "job.duckdb") == tables(job_made / "database" / "job")
    reports = [traceq.report(path) for path in (converted / "job.duckdb", job_made / "database" / "job")]
    assert reports[0].to_json() == reports[1].to_json()
    with traceq.open(converted / "job.duckdb") as traces:
        assert traces.sql("select count(*) from judgement").fetchall() == [(8,)]


@pytest.mark.slow
def test_traces_without_a_run_are_listed_under_a_folder_and_keep_that_they_have_none(tmp_path, job_traces):
    traceq.ingest(sorted((job_traces / "window0").glob("rank[01].json")), tmp_path / "two.duckdb")
    traceq.convert(tmp_path / "two.duckdb", tmp_path / "two")
    assert [each[1:4] for each in digests(tmp_path / "two")] == [("window0", 0, 0), ("window0", 0, 1)]
    with traceq.open(tmp_path / "two") as traces:
        assert traces.sql("select run from trace").fetchall() == [(None,), (None,)]
        assert traces.sql("select name, ranks from job").fetchall() == [("window0", 2)]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("database/job", "new.duckdb", "is a database and becomes a dataset: name a folder"),
        ("dataset/job", "new/", "is a dataset and becomes a database: name a file"),
        ("dataset/job", "database/job", "already exists: name a new file or folder"),
        ("database/job", "dataset/job", "holds 8 traces already; name a new dataset"),
        ("nothing", "new", "nothing: no such database or dataset"),
        ("dataset", "new", "is neither a database nor a dataset: traceq ingest makes either from traces"),
    ],
)
def test_what_cannot_be_converted(traceq_command, monkeypatch, tmp_path, job_made, source, target, message):
    folder = tmp_path / "made"
    shutil.copytree(job_made, folder)
    monkeypatch.chdir(folder)
    found = traceq_command("convert", source, "-o", target)
    assert found.exit_code in (1, 2)
    assert re.search(message, found.stderr)
    assert not (folder / "new").exists()
    assert not (folder / "new.duckdb").exists()


@pytest.mark.parametrize("words", [("job",), ("job", "new")])
def test_the_target_is_named_by_its_option(traceq_command, words):
    found = traceq_command("convert", *words)
    assert found.exit_code == 2
    assert "Missing option '-o' / '--output'." in found.stderr
