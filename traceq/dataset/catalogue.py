"""A dataset as a database: its tables are views of the Parquet files of pieces, its views are those of every database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import msgspec

from traceq.common.scratch import temporary_folder
from traceq.database.connect import CHECK, add_check, connect, trust_places
from traceq.database.empty import create_database
from traceq.database.failures import message_of_function, way_out
from traceq.database.remote import read_through
from traceq.database.tables import tables_of_traces
from traceq.dataset.intact import check_files
from traceq.dataset.manifest import DatasetWindow, Manifest, Piece
from traceq.dataset.place import Place
from traceq.errors import StoreError

# What the cross-rank stage makes of all ranks of a window, with the tables of jobs.
JOB_TABLES = (
    "job", "job_rank", "collective_match", "collective_member", "straggler", "job_group", "job_axis_rank", "job_pair",
    "job_path", "group_straggler",
)  # fmt: skip


@contextmanager
def open_catalogue(
    place: Place, manifest: Manifest, pieces: Collection[Piece], windows: Iterable[DatasetWindow] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a temporary database over these pieces of the dataset, and over the jobs of these windows."""
    with temporary_folder() as folder:
        bare = msgspec.structs.replace(manifest, windows=tuple(windows))
        create_catalogue(folder / "catalogue.duckdb", place, bare, pieces)
        with closing(connect(folder / "catalogue.duckdb")) as connection:
            yield connection


def create_catalogue(path: Path, place: Place, manifest: Manifest, pieces: Collection[Piece]) -> None:
    """Write the database `path`, whose views read the Parquet files of these pieces and of the jobs of the manifest's windows."""
    create_database(path)
    are_sound = check_files(place, manifest, pieces, manifest.windows)
    with explain_damage(place), closing(duckdb.connect(str(path))) as connection:
        connection.begin()
        name = "" if place.is_local else place.name
        found = _list_files(place, manifest, pieces, tables_of_traces(connection))
        if name:
            read_through(connection, name, [files[0] for files in found.values()])
        add_check(connection, are_sound)
        for table, files in found.items():
            try:
                _create_view(connection, table, files)
            except duckdb.Error:
                are_sound(table)  # which names the file
                raise
        for view in ("finding", "account"):
            _refuse_judgement(connection, place, view)
        connection.commit()
    trust_places(path, [(name, place.duckdb_path())], are_sound)


@contextmanager
def explain_damage(place: Place) -> Iterator[None]:
    """Turn DuckDB's errors about missing or damaged files inside the block into a StoreError with the way out."""
    try:
        yield
    except duckdb.Error as error:
        if fault := message_of_function(error):
            raise StoreError(fault) from error
        # without the excerpt of a query that nobody typed
        reason = str(error).partition("\n")[0]
        way = way_out(error) or "; traceq dataset verify says what is damaged"
        raise StoreError(f"{place.name}: {reason}{way}") from error


@contextmanager
def explain_damaged_files(place: Place) -> Iterator[None]:
    """Do as explain_damage does, for errors about Parquet files only: others are no matter of the dataset."""
    try:
        yield
    except duckdb.Error as error:
        if message_of_function(error) is None and ".parquet" not in str(error):
            raise
        with explain_damage(place):
            raise


def _list_files(
    place: Place, manifest: Manifest, pieces: Iterable[Piece], tables: Iterable[str]
) -> Mapping[str, list[str]]:
    """Return the paths (for DuckDB) of the Parquet files of each table: of the pieces, and of the manifest's windows.

    Tables without files are left out. Raises StoreError if one of them, or a folder, is a link.
    """
    found: dict[str, list[str]] = {table: [] for table in (*tables, *JOB_TABLES)}
    listed = [(piece.folder, manifest.tables_of(piece)) for piece in pieces]
    listed += [(window.folder, tuple(window.tables)) for window in manifest.windows]
    for folder, names in listed:
        place.refuse_links_in(folder, {f"{table}.parquet" for table in names})
        for table in names:
            found[table].append(place.duckdb_path(folder, f"{table}.parquet"))
    return {table: files for table, files in found.items() if files}


def _create_view(connection: duckdb.DuckDBPyConnection, table: str, files: list[str]) -> None:
    """Create a view of the files in place of the table, with the table's columns, types and comments."""
    columns = connection.execute(
        "select column_name, data_type, generation_expression, comment from duckdb_columns()"
        " where table_name = ? order by column_index",
        [table],
    ).fetchall()
    (comment,) = connection.execute("select comment from duckdb_tables() where table_name = ?", [table]).fetchall()[0]
    # what is computed from other columns is in no file
    shown = ", ".join(f"""{made or f'"{name}"::{kind}'} as "{name}\"""" for name, kind, made, _ in columns)
    listed = ", ".join(map(_quote_text, files))
    connection.execute(f"drop table {table}")
    connection.execute(
        f"create view {table} as select {shown} from read_parquet([{listed}], hive_partitioning = false)"
        f" where {CHECK}({_quote_text(table)})"  # DuckDB asks when it plans a query, not for each row
    )
    connection.execute(f"comment on view {table} is {_quote_text(comment)}")
    for name, _, _, said in columns:
        if said:
            connection.execute(f'comment on column {table}."{name}" is {_quote_text(said)}')


def _refuse_judgement(connection: duckdb.DuckDBPyConnection, place: Place, view: str) -> None:
    """Replace a view on findings by one that raises an error until the rules have run: empty, it would look like good news."""
    columns = connection.execute(
        "select column_name, data_type, comment from duckdb_columns() where table_name = ? order by column_index",
        [view],
    ).fetchall()
    (made, comment) = connection.execute(
        "select sql, comment from duckdb_views() where view_name = ?", [view]
    ).fetchall()[0]
    why = (
        f"a dataset keeps no findings: traceq report {place.name} tells them,"
        f" traceq export {place.name} --table {view} -o {view}.csv writes them"
    )
    refused = ", ".join(f'error(why)::{kind} as "{name}"' for name, kind, _ in columns)
    connection.execute(
        f"create or replace view {view} as with found as ({made.partition(' AS ')[2].rstrip().rstrip(';')}) from found"
        f" union all select {refused} from (values ({_quote_text(why)})) as v (why)"
        " where case when (select count(*) from judgement) = 0 then error(why) else false end"
    )
    connection.execute(f"comment on view {view} is {_quote_text(comment)}")
    for name, _, said in columns:
        connection.execute(f'comment on column {view}."{name}" is {_quote_text(said)}')


def _quote_text(value: str | None) -> str:
    """Return the text as an SQL literal; "null" for None."""
    return "null" if value is None else "'" + value.replace("'", "''") + "'"
