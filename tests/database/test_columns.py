"""The columns that are read from the schema's text are those that DuckDB makes of it."""

from __future__ import annotations

from traceq.database import catalogue
from traceq.database.connect import SCHEMA, table_names
from traceq.database.sql import SchemaColumn, read_columns
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
            made[table].append(SchemaColumn(name, kind, not is_nullable, (table, name) in generated))
    assert read_columns(tuple(SCHEMA)) == made
    assert generated


def test_comments_and_what_follows_a_type_are_no_columns():
    of_slices = read_columns(("database/schema.sql",))["cpu_slice"]
    assert of_slices[0] == SchemaColumn("trace_id", "integer", is_required=True, is_generated=False)
    assert SchemaColumn("ts_end", "bigint", is_required=False, is_generated=True) in of_slices
    assert SchemaColumn("args", "varchar", is_required=False, is_generated=False) in of_slices
