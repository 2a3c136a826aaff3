"""What the use cases read: trace databases, traces that are ingested into a temporary one, and baselines."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Unpack

import duckdb

from traceq.analysis.steps.choice import StepOptions
from traceq.app import cache
from traceq.app.cache import Note
from traceq.app.chosen import chosen_traces
from traceq.app.judge import judge_traces
from traceq.common.cache_folder import is_wanted
from traceq.common.process import usable_cpus
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect, is_database
from traceq.database.failures import one_line
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.database.user_sql import interruptible
from traceq.dataset.catalogue import create_catalogue
from traceq.dataset.look import Look, create_copy, look
from traceq.dataset.manifest import existing, is_dataset
from traceq.dataset.place import is_address
from traceq.errors import StoreError, WrongUse
from traceq.loading.progress import Progress
from traceq.loading.sources import Paths, capture_sources, paths_of
from traceq.runs.read import read_runs
from traceq.runs.run import Run
from traceq.runs.sources import baseline_runs, chosen_ranks, file_of, of_rank

Source = str | Path
Sources = Source | Sequence[Source]
Complete = Callable[[duckdb.DuckDBPyConnection], None]


class Reading(StepOptions, total=False):
    """How a use case reads its sources.

    What is said about steps, and what tells of graphs (`capture`) and compiled kernels (`inductor`), is for traces only:
    a database is fixed. DuckDB holds at most `memory_limit` bytes, by default a quarter of the memory at hand. `writes` are the
    files that are going to be written, none of which may be one that is read. `progress` follows the ingest of a trace. Without
    `cache` a trace is ingested into a temporary database; `note` gets a sentence where the cache cannot be used. `trace` is the
    trace_id to take where runs are compared.
    """

    capture: Paths
    inductor: Paths
    memory_limit: int | None
    writes: Sequence[Path]
    progress: Progress | None
    cache: bool
    note: Note
    trace: int | None


def is_trace(source: Source) -> bool:
    """Whether the source is to be ingested: a file that is no database, a directory that is no dataset, or a pattern."""
    path = Path(source)
    if is_address(source) or is_dataset(source):
        return False
    return not is_database(path) if path.exists() else glob.has_magic(str(source))


def check_is_trace(source: Source) -> None:
    """Raise WrongUse for what was made of traces."""
    if is_dataset(source):
        raise WrongUse(f"{source} is a dataset: name the trace that it was made from.")
    if not is_trace(source) and Path(source).exists():
        raise WrongUse(f"{source} is a trace database: name the trace that it was made from.")


@contextmanager
def opened(
    source: Source, done: str, complete: Complete | None = None, **reading: Unpack[Reading]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database `source`, or a temporary one of the traces `source`, into which `complete` may write; read-only.

    When its tables cannot be queried, the error says that it cannot be `done` (reported, examined).
    """
    if not str(source):
        raise WrongUse("A source is empty: name a trace, a trace database or a baseline.")
    writes = reading.get("writes", ())
    check_writes(writes, [source, *several(reading.get("capture", ()))])
    with (
        _database(source, complete, reading) as database,
        closing(connect(database, memory_limit=reading.get("memory_limit"))) as connection,
    ):
        try:
            _spare_traces(connection, database, writes)
            yield connection
        except duckdb.Error as error:
            way_out = f"traceq dataset verify {source} says why" if is_dataset(source) else "ingest the traces again"
            raise StoreError(f"{source}: cannot be {done}: {one_line(error)}; {way_out}") from error


@contextmanager
def looked_at(
    source: Source, traces: Sequence[int], rank: int | None, *, whole: bool, **reading: Unpack[Reading]
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Look | None]]:
    """The database `source` to report on, as `opened` gives it, and what is looked at of a dataset; None where all of it is.

    Only what is looked at is in the database then, unless the `whole` is wanted.
    """
    found = None
    if is_dataset(source):
        place, manifest = existing(source)
        if not manifest.pieces:
            raise StoreError(f"{source}: holds no traces; ingest some: traceq ingest SOURCE -o {source}")
        found = look(place, manifest, traces, rank, reading.get("memory_limit"))
    if found is None:
        with opened(source, "reported", **reading) as connection:
            yield connection, None
        return
    _refuse_options(reading)
    with temporary_folder() as folder:
        pieces = manifest.pieces if whole else found.pieces
        create_copy(folder / "looked.duckdb", place, manifest, pieces, reading.get("memory_limit"))
        with opened(folder / "looked.duckdb", "reported", **reading) as connection:
            yield connection, found


@contextmanager
def database_of(
    source: Source, complete: Complete | None = None, *, judged: bool = False, **reading: Unpack[Reading]
) -> Iterator[Path]:
    """The trace database `source`, or a temporary one of the traces `source`, into which `complete` may write.

    With `judged` the temporary one holds the findings, as what is in the cache always does.
    """
    with _database(source, complete, reading, judged=judged) as database:
        yield database


@contextmanager
def _database(source: Source, complete: Complete | None, reading: Reading, *, judged: bool = False) -> Iterator[Path]:
    is_stored = is_dataset(source)
    if is_stored or (not is_trace(source) and Path(source).exists()):
        _refuse_options(reading)
        if is_stored:
            with temporary_folder() as folder:
                place, manifest = existing(source)
                catalogue = folder / "catalogue.duckdb"
                create_catalogue(catalogue, place, manifest, manifest.pieces)
                if complete is not None:
                    with closing(
                        connect(catalogue, read_only=False, memory_limit=reading.get("memory_limit"))
                    ) as connection:
                        complete(connection)
                yield catalogue
        else:
            yield Path(source)
        return
    cached = _cached(source, reading)
    if cached is not None and complete is None:
        yield cached
        return
    with temporary_folder() as folder:
        temporary = folder / "traces.duckdb"
        if cached is None:
            _load(source, temporary, reading, partial(_judge, reading=reading) if judged else complete)
        elif complete is not None:
            shutil.copyfile(cached, temporary)
            with closing(connect(temporary, read_only=False, memory_limit=reading.get("memory_limit"))) as connection:
                complete(connection)
        yield temporary


def _refuse_options(reading: Reading) -> None:
    """Refuse what is said about traces that are ingested: a database is fixed."""
    if any(step_options(reading).values()):
        raise WrongUse(
            "The steps of a database are fixed when it is made: give the trace itself, or ingest it again"
            " with traceq ingest --force and --step-range, --steps-per or --window."
        )
    if reading.get("capture") or reading.get("inductor"):
        raise WrongUse(
            "--capture and --inductor are for traces: ingest the trace again with traceq ingest --force and these."
        )


def _cached(source: Source, reading: Reading) -> Path | None:
    """The database of the traces in the cache; None where there is to be none, or can be none."""
    if not (reading.get("cache", True) and is_wanted()):
        return None

    def make(path: Path) -> None:
        _load(source, path, reading, partial(_judge, reading=reading))

    beside = cache.Beside(capture_sources(reading.get("capture", ())), paths_of(reading.get("inductor", ())))
    return cache.entry_for(source, step_options(reading), make, reading.get("note", cache.warn), beside)


def _judge(connection: duckdb.DuckDBPyConnection, reading: Reading) -> None:
    """Run the rules once, so that no report on this entry has to."""
    progress = reading.get("progress")
    if progress is not None:
        progress.judge()
    judge_traces(connection)


def _load(source: Source, path: Path, reading: Reading, complete: Complete | None) -> None:
    # What reads and analyses traces takes 0.15 s to import, which a report on a database should not have to wait for.
    from traceq.loading.ingest import ingest as load

    load(
        source,
        path,
        jobs=usable_cpus(),
        memory_limit=reading.get("memory_limit"),
        progress=reading.get("progress"),
        complete=complete,
        capture=reading.get("capture", ()),
        inductor=reading.get("inductor", ()),
        **step_options(reading),
    )


def step_options(reading: Reading) -> StepOptions:
    """What is said about steps."""
    return {
        "step_range": reading.get("step_range"),
        "steps_per": reading.get("steps_per"),
        "window": reading.get("window"),
    }


def check_writes(writes: Sequence[Path], reads: Sequence[Source]) -> None:
    """Refuse to write what is read, baselines by name included, or one file twice; and what cannot be written.

    All this before anything is read, which may take an hour.
    """
    files = {file_of(str(source)).resolve() for source in reads}
    for path in writes:
        if path.resolve() in files:
            raise WrongUse(f"{path} is what is read: name another file to write.")
        if not path.resolve().parent.is_dir():
            raise StoreError(f"{path}: cannot be written: no such directory; create it or choose another -o")
    if len({path.resolve() for path in writes}) < len(writes):
        raise WrongUse("Two options name the same file to write: name another.")


def _spare_traces(connection: duckdb.DuckDBPyConnection, database: Path, writes: Sequence[Path]) -> None:
    """Refuse to write a trace that the database was made from; its path may be relative to either place."""
    if not writes:
        return
    written = {path.resolve() for path in writes}
    for (path,) in connection.execute("select path from trace").fetchall():
        if written & {Path(path).resolve(), (database.parent / path).resolve()}:
            raise WrongUse(f"{path} is a trace that is read, or that the database was made from: name another file.")


@contextmanager
def opened_runs(
    source: Source, rank: int | None = None, *, all_ranks: bool = False, **reading: Unpack[Reading]
) -> Iterator[tuple[duckdb.DuckDBPyConnection | None, dict[int, Run]]]:
    """The runs of one rank (the lowest when it is None), or of all, by trace_id, and the connection to their database.

    A baseline has no database: None, and numbers from 0.
    """
    stored = baseline_runs(source)
    if stored is not None:
        if reading.get("trace") is not None:
            raise WrongUse(f"--trace is for trace databases; {source} is a baseline: choose by --rank.")
        yield None, dict(enumerate(stored if all_ranks else of_rank(stored, rank, str(source))))
        return
    with opened(source, "compared", **reading) as connection:
        trace = reading.get("trace")
        wanted = chosen_traces(connection, () if trace is None else (trace,))
        if not all_ranks:
            ranks = {row["trace_id"]: row["rank"] for row in ask(connection, statement("database/trace.sql"))}
            chosen = chosen_ranks([ranks[each] for each in wanted], rank, str(source))
            wanted = [each for each in wanted if ranks[each] in chosen]
        yield connection, interruptible(connection, lambda: read_runs(connection, str(source), wanted))


def runs_of(sources: Sources, rank: int | None = None, **reading: Unpack[Reading]) -> list[Run]:
    """The runs of all sources, one rank of each. Raises WrongUse when a source lacks the rank."""
    found: list[Run] = []
    for source in several(sources):
        with opened_runs(source, rank, **reading) as (_, runs):
            found += runs.values()
    return found


def several(sources: Sources) -> list[Source]:
    """The sources as a list, also when there is one."""
    return [sources] if isinstance(sources, str | Path) else list(sources)
