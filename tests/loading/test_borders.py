"""Every number at the borders of its column: NULL and counted where it does not fit, never an error of Arrow or DuckDB."""

from __future__ import annotations

from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

from traceq.database import sql
from traceq.database.empty import create_database
from traceq.importers.rows import batches_of, fit_column
from traceq.loading.staging import COPIED, insert_fitting

INTEGERS = [0, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**63 - 1, -(2**63), None]
OTHERS = {
    pa.uint64(): [0, 2**31, 2**63 - 1, 2**63, 2**64 - 1],
    pa.float64(): [0.0, -1.0, 2147483647.0, 2147483648.0, 1e300, -1e300, float("nan"), float("inf")],
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    path = tmp_path_factory.mktemp("borders") / "t.duckdb"
    create_database(path)
    with closing(duckdb.connect(str(path))) as opened:
        opened.execute("attach ':memory:' as staging")
        sql.run(opened, "loading/staging.sql")
        for table in COPIED:
            opened.execute(f"create table if not exists staging.{table} as from {table} limit 0")
        yield opened


def list_columns(connection):
    """All columns of integers of staged tables that importers fill, by table."""
    return connection.execute(
        "select table_name, column_name, numeric_precision from duckdb_columns() where database_name = 'staging'"
        " and data_type in ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT') order by all"
    ).fetchall()


def count_lost(connection):
    ((lost,),) = connection.execute(
        "select coalesce(sum(count), 0) from staging.import_note where code = 'number_out_of_range'"
    ).fetchall()
    return lost


def fill_column(connection, table, column, bits, kind, values):
    """Insert the values into the column, and say what is wrong with what is there then."""
    connection.begin()
    try:
        needed = connection.execute(
            "select column_name, data_type from duckdb_columns() where database_name = 'staging' and table_name = ?"
            " and not is_nullable and column_name <> ?",
            [table, column],
        ).fetchall()
        rows = {name: pa.array(["x" if of == "VARCHAR" else 0] * len(values)) for name, of in needed}
        rows = {name: array.cast(pa.bool_()) if name == "on_cpu" else array for name, array in rows.items()}
        is_needed = not connection.execute(
            "select is_nullable from duckdb_columns() where database_name = 'staging' and table_name = ? and column_name = ?",
            [table, column],
        ).fetchone()[0]
        fits = [value is not None and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) for value in values]
        if is_needed:
            values, fits = [v for v, fit in zip(values, fits, strict=True) if fit], [True] * sum(fits)
            rows = {name: array.slice(0, len(values)) for name, array in rows.items()}
        before = count_lost(connection)
        insert_fitting(connection, table, pa.table({**rows, column: pa.array(values, kind)}))
        found = [row[0] for row in connection.execute(f"select {column} from staging.{table}").fetchall()]
        wanted = [int(value) if fit else None for value, fit in zip(values, fits, strict=True)]
        lost = sum(value is not None and not fit for value, fit in zip(values, fits, strict=True))
        if found[: len(wanted)] != wanted:
            return f"{table}.{column}: {found}"
        return None if count_lost(connection) - before == lost else f"{table}.{column}: {lost} lost, not counted"
    except (duckdb.Error, pa.ArrowException, OverflowError) as error:
        return f"{table}.{column} of {kind}: {error}"
    finally:
        connection.rollback()


@pytest.mark.parametrize("kind", [pa.int64(), *OTHERS], ids=str)
def test_every_column_of_integers_takes_every_number(connection, kind):
    columns = [row for row in list_columns(connection) if row[0] != "import_note"]
    assert {("gpu_slice", "grid_x", 32), ("device", "sm_count", 32), ("thread", "pid", 64)} <= set(columns)
    failures = [fill_column(connection, *row, kind, OTHERS.get(kind, INTEGERS)) for row in columns]
    assert [failure for failure in failures if failure] == []


@pytest.mark.parametrize(
    ("kind", "fitting", "lost"),
    [
        (pa.int32(), [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 2**64, 1e30, float("nan"), "x"]),
        (pa.int64(), [2**63 - 1, -(2**63), 1e3], [2**63, 2**64, 1e30, float("inf"), "x"]),
        (pa.string(), ["x"], [3, b"\xff"]),
        (pa.float64(), [1e300], ["x"]),
    ],
)
def test_values_that_do_not_fit_are_null_and_counted(kind, fitting, lost):
    column, count = fit_column([*fitting, None, *lost], kind)
    assert column.to_pylist() == [*fitting, None, *[None] * len(lost)]
    assert count == len(lost)


def test_rows_with_a_number_beyond_64_bits_keep_the_others():
    (table, rows), (_, notes) = batches_of("device", [{"device": 1, "name": "x"}, {"device": 2**64, "name": None}])
    assert (table, rows.to_pylist()) == ("device", [{"device": 1, "name": "x"}, {"device": None, "name": None}])
    assert [(note["code"], note["count"]) for note in notes.to_pylist()] == [("number_out_of_range", 1)]
