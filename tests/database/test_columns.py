"""The columns that are read from the schema's text are those that DuckDB makes of it."""

from __future__ import annotations

from traceq.database import catalogue
from traceq.database.connect import SCHEMA, table_names
from traceq.database.sql import read_columns
from traceq.database.tables import columns_of


def test_the_columns_of_all_tables_are_those_that_duckdb_makes():
    with catalogue.empty_database() as connection:
        generated = {
            (table, each.name) for table in table_names() for each in columns_of(connection, table) if each.is_generated
        }
        made = {table: [] for table in table_names()}
        for table, name, kind, is_nullable in connection.execute(
            "select table_name, column_name, lower(data_type), is_nullable from duckdb_columns()"
            " where list_contains(?, table_name) order by table_oid, column_index",
            [table_names()],
        ).fetchall():
            made[table].append((name, kind, not is_nullable, (table, name) in generated))
    read = {
        table: [
            (name, definition.split()[0], "not null" in definition, "generated" in definition)
            for name, definition in columns.items()
        ]
        for table, columns in read_columns(tuple(SCHEMA)).items()
    }
    assert read == made
    assert generated


def test_what_follows_a_type_belongs_to_the_definition():
    of_slices = read_columns(("database/schema.sql",))["cpu_slice"]
    assert of_slices["trace_id"] == "integer not null"
    assert of_slices["ts_end"] == "bigint generated always as (ts + dur)"
    assert of_slices["args"] == "varchar using compression zstd"
