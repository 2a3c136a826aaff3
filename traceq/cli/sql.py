"""traceq sql: one query, one result, in the chosen format."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from traceq.cli import completion
from traceq.cli._options import finding_option, format_option, output_option, read_options_with_logs, timeout_option
from traceq.common.limits import limits
from traceq.diagnosis.record import EXTRA
from traceq.errors import QueryError

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions
    from traceq.exports.result import Result

# Findings of a trace: more than any has.
_EVERY = 1_000

# A comment of SQL, and no option with a value (--step-range="a b").
_COMMENT = re.compile(r"--[^=]*\s")

# Suffix of a file -> name of the format.
FORMATS = {".txt": "text", ".csv": "csv", ".json": "json", ".parquet": "parquet", ".md": "md"}


class _WithQuery(click.Command):
    """A command that takes an SQL query as argument, which may begin with a comment (--)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with a blank before SQL comments, so that none is taken for an option."""
        return super().parse_args(ctx, [f" {word}" if _COMMENT.match(word) else word for word in args])


@click.command(cls=_WithQuery, short_help="Query a trace database in SQL.")
@click.argument("database", metavar="SOURCE_OR_DB", shell_complete=completion.complete_files)
@click.argument("query", required=False)
@finding_option("--of", "Run the query of a finding")
@click.option(
    "--task",
    metavar="NAME",
    shell_complete=completion.complete_tasks,
    help="Run the query for a task: gaps, kernels, ...; traceq tables --task lists them.",
)
@format_option(FORMATS, "text")
@output_option
@click.option("--vertical", is_flag=True, help="As text: a line for each value.")
@click.option("--wide", is_flag=True, help="As text: whole names, however long.")
@timeout_option("the query")
@read_options_with_logs
def sql(
    database: str,
    query: str | None,
    finding: str | None,
    task: str | None,
    vertical: bool,
    wide: bool,
    format_: str,
    output: Path | None,
    read: ReadOptions,
) -> None:
    """Query a trace database in SQL.

    SOURCE_OR_DB is a trace database or a file that `traceq ingest` accepts. QUERY is DuckDB's SQL; - reads it from standard
    input. With several statements, all results are printed one after the other; Parquet holds only one. The database is
    opened read-only, and the query has no access to files or the network. `traceq tables` lists tables and views. Times
    are nanoseconds (ms(dur) makes milliseconds), sizes bytes. Text output cuts names longer than 80 characters; on a
    terminal, columns that do not fit are left out or shown row by row. --wide, --vertical and the other formats show all.

    \b
    Examples:
      traceq sql profile.duckdb "select name, dur from kernel order by dur desc limit 10"
      traceq sql profile.duckdb --of F1
      traceq sql profile.duckdb --task gaps
      traceq sql profile.duckdb "from time_ledger" -o ledger.parquet
      traceq sql profile.duckdb - --format json < query.sql
    """  # noqa: D301 - click wants the backspace itself
    if format_ == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is binary: name a file with -o, or pipe the output.")
    if output is not None and output.resolve() == Path(database).resolve():
        raise click.UsageError("-o names the database itself: name another file.")
    if [query, finding, task].count(None) != 2:  # noqa: PLR2004 - one of the three is given
        raise click.UsageError(
            "Give a query, --of F1 for the query of a finding, or --task NAME for the query for a task."
        )
    if finding is not None:
        from traceq.app.report import report
        from traceq.diagnosis.packs import is_of_extra

        rules = (EXTRA,) if is_of_extra(finding) else ()
        # The largest occurrences, which `traceq report --finding F1` shows.
        text = report(database, _EVERY, read, rules=rules, scope="document").finding(finding).instances.query
    elif task is not None:
        from traceq.database.questions import find_question

        text = find_question(task).query
    else:
        text = _read_query() if query == "-" else str(query)
    from traceq.app.open import open_locked
    from traceq.cli._table import write_markdown_result, write_result
    from traceq.common.files import atomic_write
    from traceq.database.user_sql import one_line_errors, run_interruptibly, too_long, yield_results
    from traceq.exports.result import WRITERS, result_of

    if (vertical or wide) and format_ != "text":
        raise click.UsageError(f"{'--vertical' if vertical else '--wide'} is for text.")
    writers: dict[str, Callable[[Result, BinaryIO], None]]
    writers = {"text": partial(write_result, vertical=vertical, wide=wide), "md": write_markdown_result, **WRITERS}
    write_rows = writers[format_]
    timeout = limits().timeout
    width = None if output is not None else terminal_width()
    opened: AbstractContextManager[BinaryIO] = (
        nullcontext(sys.stdout.buffer) if output is None else atomic_write(output)
    )
    with open_locked(database, read.with_writes(output)) as connection, opened as file:
        found = yield_results(connection, text, only_one=format_ == "parquet")
        stopped = too_long("the query", timeout)
        separator = b""
        while (relation := run_interruptibly(connection, lambda: next(found, None), timeout, stopped)) is not None:
            file.write(separator)
            with one_line_errors():
                write_rows(result_of(connection, relation, format_, width, timeout), file)
            separator = b"" if format_ == "json" else b"\n"


def terminal_width() -> int | None:
    """Return the number of columns of the terminal; None when the output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _read_query() -> str:
    """Return the query from standard input. Raises QueryError if it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(f"standard input is not UTF-8 (byte {error.start}); save the query as UTF-8") from error
