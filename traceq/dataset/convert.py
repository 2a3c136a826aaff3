"""A database becomes a dataset, or a dataset a database: the same rows, with the same trace_ids."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import msgspec

from traceq.common.limits import limits
from traceq.database.connect import add_check, writer_config
from traceq.database.empty import create_database
from traceq.database.query import ask
from traceq.database.remote import read_through
from traceq.database.tables import columns_of, stored_columns, tables_of_traces
from traceq.dataset.catalogue import create_catalogue, explain_damaged_files
from traceq.dataset.ingest import STAGING, piece_of, refill_windows, replace_pieces
from traceq.dataset.intact import check_files
from traceq.dataset.lock import lock_for_writing
from traceq.dataset.manifest import adopt_numbering, commit, read_manifest
from traceq.dataset.piece import NAME, OF_JOBS, MadePiece, write_tables
from traceq.dataset.place import Place
from traceq.dataset.placement import check_run, place_pieces
from traceq.errors import StoreError

# Copying is no faster with more.
_THREADS = 2


def to_dataset(connection: duckdb.DuckDBPyConnection, place: Place, scratch: Path, wait: float) -> int:
    """Write the traces of a trace database as a new dataset, judge their windows, and return the number of traces.

    `scratch` is a folder that the connection may write; `wait` is how many seconds to wait for another writer. Raises
    StoreError where the dataset holds traces already.
    """
    with lock_for_writing(place, wait) as check:
        known = read_manifest(place)
        if known.pieces:
            raise StoreError(f"{place.name}: holds {len(known.pieces):,} traces already; name a new dataset")
        known = adopt_numbering(place, known, ())
        traces = ask(connection, "select trace_id, run, path as source, sha256 from trace order by trace_id")
        for run in {trace["run"] for trace in traces} - {None}:
            check_run(run)
        made = [_write_piece(connection, place, trace, scratch) for trace in traces]
        shapes: list[tuple[str, ...]] = []
        pieces = []
        for made_piece, where in zip(made, place_pieces([], made, {}), strict=True):
            piece = piece_of(made_piece, where, shapes)
            place.remove(piece.folder)
            place.move(_staging_folder(made_piece.trace_id), piece.folder)
            pieces.append(piece)
        touched = {(piece.run, piece.window) for piece in pieces}
        windows = refill_windows(place, replace_pieces(known, pieces, shapes), touched)
        check()
        commit(place, known, pieces, windows, shapes)
    return len(pieces)


def _staging_folder(trace_id: int) -> str:
    """Return the folder, in the dataset, in which the trace's piece is made."""
    return f"{STAGING}/convert-{trace_id}"


def _write_piece(
    connection: duckdb.DuckDBPyConnection, place: Place, trace: Mapping[str, Any], scratch: Path
) -> MadePiece:
    """Write the piece of a trace into the staging folder, and return its record."""
    (database,) = connection.execute("select current_database()").fetchall()[0]
    trace_id = trace["trace_id"]
    for table in tables_of_traces(connection):
        # stands in front of the table of the database
        connection.execute(
            f'create or replace temp view {table} as from "{database}".main.{table} where trace_id = {trace_id:d}'
        )
    with TemporaryDirectory(dir=scratch) as name:
        facts = write_tables(connection, Path(name))
        made = MadePiece(**trace, asked="", cost={}, **facts)
        place.remove(_staging_folder(trace_id))
        place.put(Path(name), _staging_folder(trace_id))
    place.write(msgspec.json.format(msgspec.json.encode(made)), _staging_folder(trace_id), NAME)
    return made


def to_database(place: Place, path: Path) -> int:
    """Write the traces of the dataset into a new trace database, without jobs and findings; return the number of traces."""
    manifest = read_manifest(place)
    adopt_numbering(place, manifest, manifest.pieces)  # a database would not say how they are numbered
    create_database(path)
    with TemporaryDirectory(prefix="traceq-convert-", dir=path.parent) as name:
        catalogue = Path(name) / "catalogue.duckdb"
        create_catalogue(catalogue, place, msgspec.structs.replace(manifest, windows=()), manifest.pieces)
        config = writer_config(limits().memory_bytes, Path(name), _THREADS)
        with explain_damaged_files(place), closing(duckdb.connect(str(path), config=config)) as connection:
            if not place.is_local:
                read_through(connection, place.name)
            check = check_files(place, manifest, manifest.pieces, ())
            add_check(connection, check)
            connection.execute(f"attach '{str(catalogue).replace(chr(39), chr(39) * 2)}' as dataset (read_only)")
            for table in tables_of_traces(connection):
                if table not in OF_JOBS:
                    check(table)  # before DuckDB unpacks what may be damaged, in threads of its own
                    columns = stored_columns(columns_of(connection, table))
                    connection.execute(f"insert into {table} by name select {columns} from dataset.{table}")
            connection.execute("detach dataset")
            connection.execute("checkpoint")
    return len(manifest.pieces)
