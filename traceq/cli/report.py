"""traceq report: where the time of each step went, as text, Markdown or JSON."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli.ingest import check_regex, usable_cpus
from traceq.errors import StoreError

if TYPE_CHECKING:
    import duckdb

    from traceq.reports.report import Report

# The names of traceq.reports.RENDERERS and SUFFIXES, which are not imported for --help; a test compares them.
FORMATS = ("text", "md", "json")
_FORMAT_OF_SUFFIX = {".txt": "text", ".md": "md", ".json": "json"}

# A DuckDB file has this at offset 8, after the checksum of its header.
_DUCKDB_MAGIC = b"DUCK"
_MAGIC_OFFSET = 8


@click.command(short_help="Report where the time of each step went.")
@click.argument("source", metavar="SOURCE_OR_DB")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else text]")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Findings to show.")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
def report(source: str, output: Path | None, format_: str | None, top: int, step_range: str | None) -> None:
    """Report where the time of each step went.

    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts: a trace is then ingested into a
    temporary database, which is gone afterwards. The report says what was captured, how long steps take,
    where their time went on each GPU, and which of it could be won back, with the query behind each number.

    \b
    Examples:
      traceq report profile.duckdb
      traceq report profile.sqlite --step-range "^train_step" -o ticket.md
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or _format_of(output)
    check_regex(step_range)
    _check_output(output, Path(source))
    from traceq.reports import RENDERERS

    with _opened(source, output, step_range) as connection:
        content = _built(connection, source, top)
    _write(RENDERERS[name](content), output)


def _format_of(output: Path | None) -> str:
    if output is None:
        return "text"
    try:
        return _FORMAT_OF_SUFFIX[output.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMAT_OF_SUFFIX)
        raise click.UsageError(f"{output}: no format has this suffix ({known}); say --format.") from None


def _check_output(output: Path | None, source: Path) -> None:
    """Refuse to overwrite what is read, and refuse before reading it what cannot be written after."""
    if output is None:
        return
    if output.resolve() == source.resolve():
        raise click.UsageError("-o names the source itself: name another file.")
    if not output.resolve().parent.is_dir():
        raise StoreError(f"{output}: cannot be written: no such directory; create it or choose another -o")


@contextmanager
def _opened(source: str, output: Path | None, step_range: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database `source`, or a temporary one of the traces `source`; read-only."""
    from traceq import store

    if _is_database(Path(source)):
        if step_range is not None:
            raise click.UsageError(
                "The steps of a database are fixed when it is made: give the trace itself, or ingest it again"
                " with traceq ingest --force --step-range REGEX."
            )
        with closing(store.connect(source)) as connection:
            yield connection
        return
    with _scratch() as scratch:
        database = _ingest(source, scratch / "report.duckdb", output, step_range)
        with closing(store.connect(database)) as connection:
            yield connection


def _built(connection: duckdb.DuckDBPyConnection, source: str, top: int) -> Report:
    import duckdb

    from traceq.reports.build import build

    try:
        return build(connection, top)
    except duckdb.Error as error:
        message = " ".join(str(error).split())
        raise StoreError(f"{source}: cannot be reported: {message}; ingest the traces again") from error


def _is_database(path: Path) -> bool:
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


def _write(text: str, output: Path | None) -> None:
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
        return
    from traceq.cli.output import written

    with written(output) as file:
        file.write(text.encode())
