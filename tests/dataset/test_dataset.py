"""A dataset is read like a database of the same traces."""

from __future__ import annotations

import traceq


def test_every_table_and_view_has_the_same_rows(job_made):
    with traceq.open(job_made / "database" / "job") as database, traceq.open(job_made / "dataset" / "job") as dataset:
        listed = (
            "select table_name from information_schema.tables"
            " where table_name not in ('judgement', 'finding') order by all"
        )
        names = [name for (name,) in database.sql(listed).fetchall()]
        assert names == [name for (name,) in dataset.sql(listed).fetchall()]
        for name in names:
            query = f"select * {'exclude (ingested_at)' if name == 'trace' else ''} from {name} order by all"
            assert database.sql(query).fetchall() == dataset.sql(query).fetchall(), name
