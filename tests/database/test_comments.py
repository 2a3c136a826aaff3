"""Comments stand above what they are about in the SQL of the schema, and DuckDB's catalogue has them."""

from __future__ import annotations

import duckdb
import pytest

from traceq.database.comments import comment_statements

SQL = """
--: One row per trip,
--: whoever's it is.
create table if not exists trip (
    --: Key.
    trip_id integer not null,
    length integer, -- not a comment of the catalogue
    --: The driver's name; NULL when (as in 'x, y') nobody drives.
    driver varchar
);

-- Why it is a view.
--: One row per driver.
create or replace view driver as
with
known as (select driver, length from trip where driver is not null)

select
    driver,
    --: Km, or 0.
    coalesce(sum(if(length > 0, length, 0)), 0)::bigint as total, -- of all trips
    --: Trips.
    count(*) as trips
from known
group by driver;

--: Colours.
create or replace table colour as
select
    --: Its name.
    t.name
from (values ('red')) as t (name);
"""


def test_comments_of_tables_views_and_columns():
    with duckdb.connect() as connection:
        for statement in (SQL, *comment_statements(SQL)):
            connection.execute(statement)
        tables = connection.execute(
            "select table_name, comment from duckdb_tables() union all select view_name, comment from duckdb_views()"
            " where not internal order by all"
        ).fetchall()
        columns = connection.execute(
            "select table_name, column_name, comment from duckdb_columns() where not internal order by all"
        ).fetchall()
    assert tables == [
        ("colour", "Colours."),
        ("driver", "One row per driver."),
        ("trip", "One row per trip, whoever's it is."),
    ]
    assert columns == [
        ("colour", "name", "Its name."),
        ("driver", "driver", None),
        ("driver", "total", "Km, or 0."),
        ("driver", "trips", "Trips."),
        ("trip", "driver", "The driver's name; NULL when (as in 'x, y') nobody drives."),
        ("trip", "length", None),
        ("trip", "trip_id", "Key."),
    ]


def test_a_comment_of_no_column_is_an_error():
    text = "--: T.\ncreate table t (\n    a integer\n    --: Of nothing.\n);"
    with duckdb.connect() as connection:
        connection.execute(text)
        with pytest.raises(duckdb.Error, match="syntax error"):
            connection.execute(";".join(comment_statements(text)))
