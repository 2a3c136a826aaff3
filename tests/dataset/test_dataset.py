"""A dataset is read like a database of the same traces."""

from __future__ import annotations

import pytest
from handmade_job import rank_trace

import traceq


def tables_of(path):
    """The rows of every table and view, but for when they were ingested and what rules said."""
    listed = (
        "select table_name from information_schema.tables"
        " where table_name not in ('judgement', 'finding', 'account') order by all"
    )
    with traceq.open(path) as traces:
        return {
            name: traces.sql(
                f"select * {'exclude (ingested_at)' if name == 'trace' else ''} from {name} order by all"
            ).fetchall()
            for (name,) in traces.sql(listed).fetchall()
        }


def assert_alike(database, dataset):
    expected, found = tables_of(database), tables_of(dataset)
    assert list(expected) == list(found)
    for name, rows in expected.items():
        assert found[name] == rows, name


def test_every_table_and_view_has_the_same_rows(job_made):
    assert_alike(job_made / "database" / "job", job_made / "dataset" / "job")


@pytest.mark.slow
def test_so_they_have_where_no_run_is_named(tmp_path):
    for window, (late, begins) in enumerate((({1: 300}, 10**18), ({}, 10**18 + 600 * 10**9))):
        for rank in range(3):
            path = tmp_path / "traces" / f"window{window}" / f"rank{rank}" / "trace.json"
            path.parent.mkdir(parents=True)
            path.write_text(rank_trace(rank, late, begins, ranks=3))
    traceq.ingest(tmp_path / "traces", tmp_path / "job.duckdb")
    traceq.ingest(tmp_path / "traces", f"{tmp_path}/job/")
    assert_alike(tmp_path / "job.duckdb", tmp_path / "job")
    assert [path.name for path in (tmp_path / "job").glob("run=*/*")] == ["window=0", "window=1"]
    with traceq.open(tmp_path / "job") as traces:
        assert traces.sql("select job, time_window, ranks from job order by all").fetchall() == [(0, 0, 3), (0, 1, 3)]
