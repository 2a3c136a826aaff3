"""A dataset is read like a database of the same traces."""

from __future__ import annotations

import pytest

import traceq


@pytest.fixture(scope="module")
def both(tmp_path_factory, job_traces):
    """The same traces as a database and as a dataset."""
    folder = tmp_path_factory.mktemp("both")
    traceq.ingest(job_traces, folder / "job.duckdb", run="small")
    traceq.ingest(job_traces, f"{folder}/job/", run="small")
    return folder / "job.duckdb", folder / "job"


def test_every_table_and_view_has_the_same_rows(both):
    with traceq.open(both[0]) as database, traceq.open(both[1]) as dataset:
        listed = (
            "select table_name from information_schema.tables"
            " where table_name not in ('traceq_place', 'judgement', 'finding') order by all"
        )
        names = [name for (name,) in database.sql(listed).fetchall()]
        assert names == [name for (name,) in dataset.sql(listed).fetchall()]
        for name in names:
            query = f"select * {'exclude (ingested_at)' if name == 'trace' else ''} from {name} order by all"
            assert database.sql(query).fetchall() == dataset.sql(query).fetchall(), name
