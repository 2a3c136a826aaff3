"""What `report` and `doctor` are given, a trace database or traces, opened; and what they say, written."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli.ingest import usable_cpus
from traceq.errors import StoreError

if TYPE_CHECKING:
    import duckdb

# A DuckDB file has this at offset 8, after the checksum of its header.
_DUCKDB_MAGIC = b"DUCK"
_MAGIC_OFFSET = 8


def check_output(output: Path | None, source: Path) -> None:
    """Refuse to overwrite what is read, and refuse before reading it what cannot be written after."""
    if output is None:
        return
    if output.resolve() == source.resolve():
        raise click.UsageError(f"{output} is what is read: name another file to write.")
    if not output.resolve().parent.is_dir():
        raise StoreError(f"{output}: cannot be written: no such directory; create it or choose another -o")


@contextmanager
def opened(source: str, output: Path | None, step_range: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database `source`, or a temporary one of the traces `source`; read-only."""
    from traceq import store

    if is_database(Path(source)):
        if step_range is not None:
            raise click.UsageError(
                "The steps of a database are fixed when it is made: give the trace itself, or ingest it again"
                " with traceq ingest --force --step-range REGEX."
            )
        with closing(store.connect(source)) as connection:
            _keep_traces(connection, Path(source), output)
            yield connection
        return
    with _scratch() as scratch:
        database = _ingest(source, scratch / "traces.duckdb", output, step_range)
        with closing(store.connect(database)) as connection:
            yield connection


def _keep_traces(connection: duckdb.DuckDBPyConnection, database: Path, output: Path | None) -> None:
    """Refuse to overwrite a trace that the database was made from; its path may be relative to either place."""
    if output is None:
        return
    for (path,) in connection.execute("select path from trace").fetchall():
        if output.resolve() in {Path(path).resolve(), (database.parent / path).resolve()}:
            raise click.UsageError(f"-o names the trace {path}, from which the database was made: name another file.")


@contextmanager
def unreadable(source: str, what: str) -> Iterator[None]:
    """Say of a database whose tables cannot be asked that the source cannot be `what` (reported, examined)."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        message = " ".join(str(error).split())
        raise StoreError(f"{source}: cannot be {what}: {message}; ingest the traces again") from error


def is_database(path: Path) -> bool:
    """Whether the file is DuckDB's, whatever its name. Raises StoreError when it cannot be read."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(_MAGIC_OFFSET + len(_DUCKDB_MAGIC)).endswith(_DUCKDB_MAGIC)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error


@contextmanager
def _scratch() -> Iterator[Path]:
    try:
        scratch = tempfile.TemporaryDirectory(prefix="traceq-")
    except OSError as error:
        raise StoreError(
            f"no temporary directory can be made: {error.strerror}; set TMPDIR to a place that can be written"
        ) from error
    with scratch as path:
        yield Path(path)


def _ingest(source: str, database: Path, output: Path | None, step_range: str | None) -> Path:
    from traceq import store
    from traceq.cli.progress import Bar

    result = store.ingest(
        [source],
        database,
        jobs=usable_cpus(),
        step_range=step_range,
        progress=Bar() if sys.stderr.isatty() else None,
    )
    sources = [*(each.path for each in result.ingested), *result.skipped]
    if output is not None and output.resolve() in {path.resolve() for path in sources}:
        raise click.UsageError("-o names one of the sources: name another file.")
    return result.database


def write(text: str, output: Path | None, *, colour: bool = False) -> None:
    """Write to `output` if it is given, else to stdout, with question marks for what the terminal cannot show.

    With `colour` its codes go to stdout even where that is no terminal.
    """
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False, color=colour or None)
        return
    from traceq.written import written

    with written(output) as file:
        file.write(text.encode())
