"""A dataset as a database: its tables are views of the Parquet files of pieces, its views are those of every database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from pathlib import Path

import duckdb

from traceq.database.empty import create_database
from traceq.database.remote import read_through
from traceq.database.tables import tables_of_traces
from traceq.dataset.manifest import Manifest, Piece
from traceq.dataset.place import Place

# What the cross-rank stage makes of all ranks of a window, with the tables of jobs.
JOB_TABLES = ("job", "job_rank", "collective_match", "collective_member", "straggler")


def create_catalogue(path: Path, place: Place, manifest: Manifest, pieces: Collection[Piece]) -> None:
    """Write the database `path`, which reads these pieces of the dataset, and the jobs of all windows, as they are asked for."""
    create_database(path)
    with closing(duckdb.connect(str(path))) as connection:
        connection.begin()
        # traceq.database.connect looks here for what queries may read
        connection.execute("create table traceq_place (address varchar, folder varchar)")
        name = "" if place.is_local else place.name
        connection.execute("insert into traceq_place values (?, ?)", [name, place.address()])
        found = _files(place, manifest, pieces, tables_of_traces(connection))
        if name:
            read_through(connection, name, [files[0] for files in found.values()])
        for table, files in found.items():
            _view(connection, table, files)
        connection.commit()


def _files(place: Place, manifest: Manifest, pieces: Iterable[Piece], tables: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {table: [] for table in (*tables, *JOB_TABLES)}
    for piece in pieces:
        for table in manifest.tables(piece):
            found[table].append(place.address(piece.folder, f"{table}.parquet"))
    for window in manifest.windows:
        for table in window.tables:
            found[table].append(place.address(window.folder, f"{table}.parquet"))
    return {table: files for table, files in found.items() if files}


def _view(connection: duckdb.DuckDBPyConnection, table: str, files: list[str]) -> None:
    """Put a view of the files in the place of the table, with its columns, their types and its comments."""
    columns = connection.execute(
        "select column_name, data_type, generation_expression, comment from duckdb_columns()"
        " where table_name = ? order by column_index",
        [table],
    ).fetchall()
    (comment,) = connection.execute("select comment from duckdb_tables() where table_name = ?", [table]).fetchall()[0]
    # what is computed from other columns is in no file
    shown = ", ".join(f"""{made or f'"{name}"::{kind}'} as "{name}\"""" for name, kind, made, _ in columns)
    listed = ", ".join(map(_text, files))
    connection.execute(f"drop table {table}")
    connection.execute(
        f"create view {table} as select {shown} from read_parquet([{listed}], hive_partitioning = false)"
    )
    connection.execute(f"comment on view {table} is {_text(comment)}")
    for name, _, _, said in columns:
        if said:
            connection.execute(f'comment on column {table}."{name}" is {_text(said)}')


def _text(value: str | None) -> str:
    return "null" if value is None else "'" + value.replace("'", "''") + "'"
