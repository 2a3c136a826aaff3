"""traceq sql: one query, one result, in the format asked for."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from traceq.errors import QueryError

# The names of traceq.cli.result.FORMATS, which is not imported for --help; a test compares them.
FORMATS = ("table", "csv", "json", "parquet", "md")
_FORMAT_OF_SUFFIX = {".txt": "table", **{f".{name}": name for name in FORMATS[1:]}}


@click.command(short_help="Ask a trace database in SQL.")
@click.argument("database", metavar="DB", type=click.Path(path_type=Path))
@click.argument("query")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else table]")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
def sql(database: Path, query: str, format_: str | None, output: Path | None) -> None:
    """Ask a trace database in SQL.

    QUERY is DuckDB's SQL; - reads it from standard input. Of several statements the last one's result is
    printed. The database is opened read-only, and the query can reach no file and no network. `traceq tables`
    lists what there is. Times are nanoseconds, sizes bytes. On a terminal long text in a table is cut to fit;
    with -o or a pipe it is not.

    \b
    Examples:
      traceq sql profile.duckdb "select name, dur from kernel order by dur desc limit 10"
      traceq sql profile.duckdb "from time_ledger" -o ledger.parquet
      traceq sql profile.duckdb - --format json < query.sql
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or _format_of(output)
    if name == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is binary: name a file with -o, or pipe the output.")
    if output is not None and output.resolve() == database.resolve():
        raise click.UsageError("-o names the database itself: name another file.")
    answer(database, _read_query() if query == "-" else query, name, output)


def answer(database: Path, query: str, name: str, output: Path | None) -> None:
    """Run `query` and write its result in the format `name` to `output`, or to standard output."""
    from traceq.cli.database import locked
    from traceq.cli.result import FORMATS as WRITERS
    from traceq.cli.result import result_of
    from traceq.queries import interruptible, one_line_errors, run
    from traceq.written import written

    with locked(database) as connection:
        relation = interruptible(connection, lambda: run(connection, query))
        with one_line_errors():
            if output is not None:
                with written(output) as file:
                    WRITERS[name](result_of(connection, relation), file)
            else:
                WRITERS[name](result_of(connection, relation, terminal_width()), sys.stdout.buffer)


def terminal_width() -> int | None:
    """Cells of a line of the terminal, None when the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _format_of(output: Path | None) -> str:
    if output is None:
        return "table"
    try:
        return _FORMAT_OF_SUFFIX[output.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMAT_OF_SUFFIX)
        raise click.UsageError(f"{output}: no format has this suffix ({known}); say --format.") from None


def _read_query() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(f"standard input is not UTF-8 (byte {error.start}); save the query as UTF-8") from error
