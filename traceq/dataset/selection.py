"""A report on a dataset reads few of its pieces: those of ranks that it looks at, and what the cross-rank stage wrote of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import msgspec
from msgspec.structs import replace

from traceq.common.limits import limits
from traceq.common.process import usable_cpus
from traceq.common.ranks import select_ranks
from traceq.database.connect import writer_config
from traceq.database.empty import create_database
from traceq.database.remote import read_through
from traceq.database.tables import columns_of, stored_columns
from traceq.dataset.catalogue import JOB_TABLES, explain_damage
from traceq.dataset.intact import check_files, check_traces
from traceq.dataset.jobs import read_summary
from traceq.dataset.manifest import DatasetWindow, Manifest, Piece
from traceq.dataset.place import Place
from traceq.reports.model import Job

# So many pieces are copied into a database, which is then read much faster; more would not fit.
_MOST_COPIED = 64

# Of the tables of jobs these are small, whatever the size of a job.
_SMALL = ("job", "job_rank", "job_path", "straggler", "group_straggler")


class Selection(msgspec.Struct, frozen=True):
    """The pieces that a report reads, the jobs it shows, and trace_ids (`spared`) on which no rules run."""

    pieces: tuple[Piece, ...]
    jobs: tuple[Job, ...]
    spared: frozenset[int] = frozenset()


def select_pieces(
    place: Place, manifest: Manifest, traces: Collection[int] = (), rank: int | None = None
) -> Selection | None:
    """Return what a report on these traces, or this rank, reads; by default the ranks that stand for the others of their job.

    None if the report needs the whole dataset: ranks were not judged together, or too many pieces are wanted.
    """
    windows = {(window.run, window.window): read_summary(place, manifest, window) for window in manifest.windows}
    if not all(told.is_judged for told in windows.values()):
        return None
    unasked: frozenset[int] = frozenset()
    if traces or rank is not None:
        named = {piece: piece.rank for piece in manifest.pieces if not traces or piece.trace_id in traces}
        pieces = select_ranks(named, [] if rank is None else [rank])
    else:
        spared = {trace for told in windows.values() for trace in told.spared}
        pieces = [piece for piece in manifest.pieces if piece.trace_id not in spared]
        if len(pieces) == 1:
            # a report on a single trace is about that one, not about its job
            others = [piece for piece in manifest.pieces if piece.trace_id in spared][:1]
            pieces, unasked = [*pieces, *others], frozenset(other.trace_id for other in others)
    if not pieces or len(pieces) > _MOST_COPIED:
        return None
    jobs = [job for told in windows.values() for job in told.jobs]
    counts = Counter(job.job for job in jobs)
    ordered = sorted(jobs, key=lambda job: (job.job, job.time_window))
    return Selection(tuple(pieces), tuple(replace(job, windows=counts[job.job]) for job in ordered), unasked)


def create_copy(path: Path, place: Place, manifest: Manifest, pieces: Sequence[Piece]) -> None:
    """Write the database `path` with the rows of these pieces, the jobs of all windows, and the trace row of every rank.

    With all pieces it equals a database of the same traces.
    """
    create_database(path)
    are_sound = check_files(place, manifest, pieces, manifest.windows)
    files: dict[str, list[str]] = {}
    for piece in pieces:
        for table in manifest.tables_of(piece):
            files.setdefault(table, []).append(place.duckdb_path(piece.folder, f"{table}.parquet"))
    files["trace"] = [place.duckdb_path(window.folder, "trace.parquet") for window in manifest.windows]
    is_whole = len(pieces) == len(manifest.pieces)
    for table in JOB_TABLES if is_whole else _SMALL:
        files[table] = _of_windows(place, manifest.windows, table)
    check_traces(place, manifest.windows)
    for table in (*files, "collective_member"):
        are_sound(table)
    config = writer_config(limits().memory_bytes, path.parent, usable_cpus())
    with explain_damage(place), closing(duckdb.connect(str(path), config=config)) as connection:
        if not place.is_local:
            read_through(connection, place.name)
        connection.begin()
        for table, listed in files.items():
            _copy(connection, table, listed)
        if not is_whole:
            # what is said of collectives of all ranks is in the jobs
            members = _of_windows(place, manifest.windows, "collective_member")
            _copy(connection, "collective_member", members, [piece.trace_id for piece in pieces])
        connection.commit()


def _of_windows(place: Place, windows: Iterable[DatasetWindow], table: str) -> list[str]:
    """Return the paths (for DuckDB) of the windows' files of the table."""
    return [place.duckdb_path(window.folder, f"{table}.parquet") for window in windows if table in window.tables]


def _copy(
    connection: duckdb.DuckDBPyConnection, table: str, files: Sequence[str], traces: Sequence[int] | None = None
) -> None:
    """Insert the rows of the files into the table: those of these trace_ids, or all."""
    if not files:
        return
    columns = stored_columns(columns_of(connection, table))
    of_traces = "" if traces is None else "where trace_id in (select unnest($traces))"
    connection.execute(
        f"insert into {table} by name select {columns} from read_parquet($files, hive_partitioning = false) {of_traces}",
        {"files": list(files), **({} if traces is None else {"traces": list(traces)})},
    )
