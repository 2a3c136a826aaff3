"""Open the sources of use cases: trace databases, traces that are ingested into a temporary one, and baselines."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from traceq.app.pipeline import ensure_cached, make_database
from traceq.app.read_options import AS_FOUND, LOWEST, ReadOptions, Which
from traceq.app.trace_selection import select_traces
from traceq.common.ranks import select_rank
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect, is_database
from traceq.database.failures import message_of_function, one_line
from traceq.database.user_sql import run_interruptibly
from traceq.dataset.manifest import check_windows, is_dataset, open_existing
from traceq.dataset.place import is_address
from traceq.diagnosis.cache import fill
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Goal
from traceq.errors import StoreError, WrongUse
from traceq.runs.read import read_runs
from traceq.runs.run import Run
from traceq.runs.sources import baseline_runs, file_of, runs_of_rank

if TYPE_CHECKING:
    from traceq.dataset.selection import Selection

Source = str | Path
Sources = Source | Sequence[Source]
Judging = tuple[Goal, Sequence[Rule]]


def is_trace(source: Source) -> bool:
    """Return whether the source has to be ingested: a file or directory that is no database or dataset, or a glob pattern."""
    path = Path(source)
    if is_address(source) or is_dataset(source):
        return False
    return not is_database(path) if path.exists() else glob.has_magic(str(source))


def check_is_trace(source: Source) -> None:
    """Raise WrongUse if the source is a database or dataset instead of a trace."""
    if is_dataset(source):
        raise WrongUse(f"{source} is a dataset: name the trace that it was made from.")
    if not is_trace(source) and Path(source).exists():
        raise WrongUse(f"{source} is a trace database: name the trace that it was made from.")


@contextmanager
def open_source(
    source: Source, done: str, read: ReadOptions = AS_FOUND, judging: Judging | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the database `source`, or to one made of the traces `source`.

    `judging` is as in `database_of`. Raises StoreError, saying that it cannot be `done` (reported, examined), for
    DuckDB's errors inside the block.
    """
    with database_of(source, read, judging=judging) as database, closing(connect(database)) as connection:
        try:
            _spare_traces(connection, database, read.writes)
            yield connection
        except duckdb.Error as error:
            if fault := message_of_function(error):
                raise StoreError(fault) from error
            way_out = f"traceq dataset verify {source} shows why" if is_dataset(source) else "ingest the traces again"
            raise StoreError(f"{source}: cannot be {done}: {one_line(error)}; {way_out}") from error


@contextmanager
def open_selection(
    source: Source, traces: Sequence[int], rank: int | None, read: ReadOptions, *, whole: bool
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Selection | None]]:
    """Yield a connection to a database to report on, and the pieces of a dataset that the report needs, if these are few.

    The database then holds only these (or all with `whole`). Otherwise it is the whole source, and the second value
    None.
    """
    found = None
    if is_dataset(source):
        from traceq.dataset.selection import create_copy, select_pieces

        place, manifest = open_existing(source)
        if not manifest.pieces:
            raise StoreError(f"{source}: holds no traces; ingest some: traceq ingest SOURCE -o {source}")
        check_windows(place, manifest)
        found = select_pieces(place, manifest, traces, rank)
    if found is None:
        with open_source(source, "reported", read) as connection:
            yield connection, None
        return
    _refuse_options(read)
    with temporary_folder() as folder:
        pieces = manifest.pieces if whole else found.pieces
        create_copy(folder / "looked.duckdb", place, manifest, pieces)
        with open_source(folder / "looked.duckdb", "reported", read) as connection:
            yield connection, found


@contextmanager
def database_of(
    source: Source, read: ReadOptions = AS_FOUND, *, judged: bool = False, judging: Judging | None = None
) -> Iterator[Path]:
    """Yield the path of the trace database `source`, or of one made of the traces `source`, cached or temporary.

    With `judged` the rules have run on it, as on every cached one. With `judging` (a goal and rules) it holds the
    findings of these rules instead, unless the source is a trace database.
    """
    if not str(source):
        raise WrongUse("A source is empty: name a trace, a trace database or a baseline.")
    check_writes(read.writes, [source, *as_list(read.capture)], beside=as_list(read.logs))
    is_stored = is_dataset(source)
    if is_stored or (not is_trace(source) and Path(source).exists()):
        _refuse_options(read)
    if not is_stored and not is_trace(source) and Path(source).exists():
        yield Path(source)
        return
    cached = None if is_stored else ensure_cached(source, read)
    if cached is not None and judging is None:
        yield cached
        return
    with temporary_folder() as folder:
        database = folder / "traces.duckdb"
        if is_stored:
            from traceq.dataset.catalogue import create_catalogue, explain_damaged_files

            place, manifest = open_existing(source)
            check_windows(place, manifest)
            create_catalogue(database, place, manifest, manifest.pieces)
        elif cached is None:
            make_database(source, database, read, judged=judged and judging is None)
        else:
            shutil.copyfile(cached, database)
        with explain_damaged_files(place) if is_stored else nullcontext():
            if judging is not None:
                with closing(connect(database, read_only=False)) as connection:
                    run_interruptibly(connection, partial(fill, connection, *judging))
            yield database


@contextmanager
def ingest_together(sources: Sequence[Source], read: ReadOptions = AS_FOUND) -> Iterator[Path]:
    """Yield the path of a temporary database of several traces, judged by the rules."""
    check_writes(read.writes, [*sources, *as_list(read.capture)], beside=as_list(read.logs))
    with temporary_folder() as folder:
        make_database(sources, folder / "traces.duckdb", read)
        yield folder / "traces.duckdb"


def _refuse_options(read: ReadOptions) -> None:
    """Raise WrongUse for options that only apply to traces being ingested, because a database is fixed."""
    if read.choice_texts:
        raise WrongUse(
            "The steps of a database are fixed when it is made, and so are its axes: give the trace itself, or ingest it"
            " again with traceq ingest --force and --step-range, --steps-per, --window or --axes."
        )
    if read.capture or read.inductor:
        raise WrongUse(
            "--capture and --inductor are for traces: ingest the trace again with traceq ingest --force and these options."
        )
    if read.logs or read.log_formats or read.offset is not None:
        raise WrongUse(
            "--with is for traces: ingest the trace again with traceq ingest --force and --with, or report on the trace itself."
        )


def check_writes(writes: Sequence[Path], reads: Sequence[Source], beside: Sequence[Source] = ()) -> None:
    """Raise WrongUse if a file to write is among those read, or is given twice; StoreError if its directory is missing.

    `beside` are the logs of --with: what is written into a folder of these would be read the next time. This is checked
    first, because reading may take an hour.
    """
    spare_folders(writes, beside)
    files = {file_of(str(source)).resolve() for source in (*reads, *beside)}
    for path in writes:
        if path.resolve() in files:
            raise WrongUse(f"{path} is the input: name another file to write.")
        if not path.resolve().parent.is_dir():
            raise StoreError(f"{path}: cannot be written: no such directory; create it or choose another -o")
    if len({path.resolve() for path in writes}) < len(writes):
        raise WrongUse("Two options write to the same file: name another.")


def spare_folders(writes: Sequence[Path], beside: Sequence[Source]) -> None:
    """Raise WrongUse if a file to write is, or lies in, one of the folders of `beside`, whose files --with reads."""
    folders = [folder.resolve() for folder in map(Path, beside) if folder.is_dir()]
    for path in writes:
        for folder in folders:
            if path.resolve().is_relative_to(folder):
                raise WrongUse(
                    f"{path} is in {folder.name}/, whose files --with reads: name a file elsewhere to write."
                )


def _spare_traces(connection: duckdb.DuckDBPyConnection, database: Path, writes: Sequence[Path]) -> None:
    """Raise WrongUse if a file to write is a trace that the database was made from."""
    if not writes:
        return
    written = {path.resolve() for path in writes}
    for (path,) in connection.execute("select path from trace").fetchall():
        if written & {Path(path).resolve(), (database.parent / path).resolve()}:
            raise WrongUse(f"{path} is a trace that is read, or that the database was made from: name another file.")


@contextmanager
def open_runs(
    source: Source,
    which: Which,
    read: ReadOptions = AS_FOUND,
    *,
    all_ranks: bool = False,
    rules: Sequence[Rule] | None = None,
) -> Iterator[tuple[duckdb.DuckDBPyConnection | None, dict[int, Run]]]:
    """Yield a connection to the source's database and its runs by trace_id: of one rank (by default the lowest), or of all.

    A baseline has no database: the connection is None, and runs are numbered from 0. `rules` are judged, None for the
    default.
    """
    stored = baseline_runs(source)
    if stored is not None:
        if which.trace is not None:
            raise WrongUse(f"--trace is for trace databases; {source} is a baseline: choose with --rank.")
        yield None, dict(enumerate(stored if all_ranks else runs_of_rank(stored, which.rank, str(source))))
        return
    with open_source(source, "compared", read) as connection:
        ranks = select_traces(connection, () if which.trace is None else (which.trace,))
        wanted = list(ranks) if all_ranks else select_rank(ranks, which.rank, str(source))
        yield connection, run_interruptibly(connection, lambda: read_runs(connection, str(source), wanted, rules))


def read_runs_of(
    sources: Sources,
    which: Which = LOWEST,
    read: ReadOptions = AS_FOUND,
    rules: Sequence[Rule] | None = None,
) -> list[Run]:
    """Return the runs of all sources, one rank of each, judged by `rules`. Raises WrongUse when a source lacks the rank."""
    found: list[Run] = []
    for source in as_list(sources):
        with open_runs(source, which, read, rules=rules) as (_, runs):
            found += runs.values()
    return found


def as_list(sources: Sources) -> list[Source]:
    """Return the sources as a list; a single source becomes a list of one."""
    return [sources] if isinstance(sources, str | Path) else list(sources)
