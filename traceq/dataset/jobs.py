"""The cross-rank stage of one window: what is true of its ranks together, from what the pieces tell of communication."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from traceq.analysis.job.job import fill_jobs
from traceq.database.connect import connect
from traceq.dataset.catalogue import JOB_TABLES, create_catalogue, of_damage
from traceq.dataset.manifest import Manifest, Piece, Window, digest_of
from traceq.dataset.piece import copy_table
from traceq.dataset.place import Place


def fill_window(
    place: Place, manifest: Manifest, pieces: Sequence[Piece], window: Window, memory_limit: int | None
) -> Window:
    """Write the tables of the window's job into its folder, made of `pieces`; the window with what it holds."""
    bare = msgspec.structs.replace(manifest, windows=())
    with TemporaryDirectory(prefix="traceq-job-") as name:
        catalogue, files = Path(name) / "catalogue.duckdb", Path(name) / "files"
        files.mkdir()
        create_catalogue(catalogue, place, bare, pieces)
        with (
            of_damage(place),
            closing(connect(catalogue, read_only=False, memory_limit=memory_limit)) as connection,
        ):
            fill_jobs(connection)
            tables = []
            for table in JOB_TABLES:
                connection.execute(f"update {table} set job = $1, time_window = $2", [window.job, window.window])
                if connection.execute(f"from {table} limit 1").fetchall():
                    copy_table(connection, table, files)
                    tables.append(table)
        place.remove(window.folder)
        place.put(files, window.folder)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.structs.replace(window, tables=tuple(tables), made_of=digest_of(pieces), made_at=now)
