"""traceq shell: statements typed or piped in, answered one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli.ready import is_ready
from traceq.errors import QueryError
from traceq.printable import printable

if TYPE_CHECKING:
    import duckdb

HELP = """\
A statement ends with a semicolon and may take several lines.
.tables         list tables and views
.schema NAME    columns of a table or view
.help           this text
.quit           leave (or Ctrl-D)"""


@click.command(short_help="Ask a trace database in SQL, interactively.")
@click.argument("database", metavar="DB", type=click.Path(path_type=Path))
@click.pass_context
def shell(context: click.Context, database: Path) -> None:
    """Ask a trace database in SQL, interactively.

    With history, highlighting and completion of tables, columns and keywords; type .help for its commands.
    The database is opened read-only. Statements can be piped in as well; the exit status is then 1 when any
    of them failed.

    \b
    Examples:
      traceq shell profile.duckdb
      echo "select count(*) from kernel;" | traceq shell profile.duckdb
    """  # noqa: D301 - click wants the backspace itself
    from traceq.cli.database import locked

    with locked(database) as connection:
        session = Session(connection)
        if sys.stdin.isatty() and sys.stdout.isatty():
            from traceq.cli.prompt import prompt_for

            click.echo(f"{printable(str(database))}: type .help for help, .quit to leave")
            session.interact(prompt_for(connection))
        else:
            session.follow(line.decode("utf-8", "replace") for line in sys.stdin.buffer)
            if session.failures:
                context.exit(1)


class Session:
    """Answers statements and dot commands; an error is told in one line and counted in `failures`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.failures = 0
        self._connection = connection
        self._over = False
        self._commands: dict[str, Callable[[str], None]] = {
            ".tables": self._tables,
            ".schema": self._schema,
            ".help": lambda _: click.echo(HELP),
            ".quit": self._quit,
            ".exit": self._quit,
        }

    def interact(self, ask: Callable[[], str]) -> None:
        """Answer what `ask` returns until .quit or Ctrl-D; Ctrl-C drops the line or stops the query."""
        while not self._over:
            self._interact_once(ask)

    def follow(self, lines: Iterable[str]) -> None:
        """Answer each statement as soon as its semicolon has come, and what is left at the end."""
        pending = ""
        for line in lines:
            pending += line
            if is_ready(pending):
                self.answer(pending)
                pending = ""
            if self._over:
                return
        self.answer(pending)

    def answer(self, text: str) -> None:
        """Answer one dot command, or every statement of `text`."""
        from traceq.queries import statements

        if text.lstrip().startswith("."):
            self._try(self._dot, text.strip())
        else:
            for statement in statements(text):
                self._try(self._query, statement)

    def _try(self, answer: Callable[[str], None], text: str) -> None:
        try:
            answer(text)
        except QueryError as error:
            self.failures += 1
            click.echo(f"error: {printable(str(error))}", err=True)

    def _query(self, statement: str) -> None:
        from traceq.cli.result import result_of, write_table
        from traceq.cli.sql import terminal_width
        from traceq.queries import interruptible, one_line_errors, run

        with one_line_errors():
            relation = interruptible(self._connection, partial(run, self._connection, statement))
            write_table(result_of(self._connection, relation, terminal_width()), sys.stdout.buffer)
        sys.stdout.buffer.flush()

    def _dot(self, text: str) -> None:
        name, _, argument = text.rstrip("; ").partition(" ")
        if name not in self._commands:
            raise QueryError(f"no command {name}; there are: {', '.join(self._commands)}")
        self._commands[name](argument.strip())

    def _tables(self, _: str) -> None:
        from traceq import catalogue
        from traceq.cli.tables import write_overview

        write_overview(catalogue.tables(self._connection), sys.stdout.buffer, "table")

    def _schema(self, name: str) -> None:
        from traceq import catalogue
        from traceq.cli.tables import named, write_columns

        table = named(catalogue.tables(self._connection), name)
        write_columns(table, sys.stdout.buffer, "table")

    def _interact_once(self, ask: Callable[[], str]) -> None:
        try:
            self.answer(ask())
        except KeyboardInterrupt:
            self._connection.interrupt()
            click.echo("interrupted", err=True)
        except EOFError:
            self._over = True

    def _quit(self, _: str) -> None:
        self._over = True
