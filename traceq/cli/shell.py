"""traceq shell: statements typed or piped in, answered one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import read_options_with_logs
from traceq.common import signals
from traceq.common.extras import install_command
from traceq.common.text import printable
from traceq.errors import MissingTool, QueryError

if TYPE_CHECKING:
    import duckdb

    from traceq.app.read_options import ReadOptions

HELP = """\
A statement ends with a semicolon and may take several lines.
.tables         list tables and views
.schema NAME    columns of a table or view
.task NAME      run the query for a task; without NAME list the tasks
.vertical       switch between a line for each value and columns
.wide           switch between whole and shortened names
.help           this text
.quit           leave (or Ctrl-D)"""


@click.command(short_help="Query a trace database in SQL, interactively.")
@click.argument("database", metavar="SOURCE_OR_DB", shell_complete=completion.complete_files)
@read_options_with_logs
@click.pass_context
def shell(context: click.Context, /, *, database: str, read: ReadOptions) -> None:
    """Query a trace database in SQL, interactively.

    With history, highlighting and completion of tables, columns and keywords; type .help for its commands.
    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts; it is opened read-only. Statements can be piped in
    as well; the exit status is then 1 when any of them failed.

    \b
    Examples:
      traceq shell profile.duckdb
      echo "select count(*) from kernel;" | traceq shell profile.duckdb
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.open import open_locked

    with open_locked(database, read) as connection:
        session = ShellSession(connection)
        if sys.stdin.isatty() and sys.stdout.isatty():
            prompt = line_editor(connection)
            click.echo(f"{printable(database)}: type .help for help, .quit to leave")
            with signals.raise_signals():
                session.interact(prompt)
        else:
            session.follow(line.decode("utf-8", "replace") for line in sys.stdin.buffer)
            if session.failures:
                context.exit(1)


def line_editor(connection: duckdb.DuckDBPyConnection) -> Callable[[], str]:
    """Return a function that reads the next statement from the user. Raises MissingTool without the extra `shell`."""
    try:
        from traceq.cli._prompt import prompt_for
    except ModuleNotFoundError as error:
        raise MissingTool(
            f"traceq shell needs {error.name}, which is not installed here: {install_command('shell')};"
            " statements can be piped in without it"
        ) from error
    return prompt_for(connection, is_ready)


def is_ready(text: str) -> bool:
    """Return whether `text` can be run: it is empty, a dot command, or ends with a statement's semicolon."""
    from traceq.database.user_sql import is_complete

    stripped = text.strip()
    return not stripped or stripped.startswith(".") or is_complete(text)


class ShellSession:
    """Runs statements and dot commands of a shell; each error is printed on one line and counted in `failures`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.failures = 0
        self._connection = connection
        self._over = False
        self._vertical = False
        self._wide = False
        self._commands: dict[str, Callable[[str], None]] = {
            ".tables": self._show_tables,
            ".schema": self._show_schema,
            ".task": self._run_task,
            ".help": lambda _: click.echo(HELP),
            ".vertical": self._toggle_vertical,
            ".wide": self._toggle_wide,
            ".quit": self._stop,
            ".exit": self._stop,
        }

    def interact(self, ask: Callable[[], str]) -> None:
        """Run each text that `ask` returns until .quit or Ctrl-D; Ctrl-C drops the line or stops the query."""
        while not self._over:
            try:
                self.answer(ask())
            except KeyboardInterrupt:
                self._connection.interrupt()
                click.echo("interrupted", err=True)
            except EOFError:
                self._over = True

    def follow(self, lines: Iterable[str]) -> None:
        """Run each statement of the lines as soon as it is complete (its semicolon came), and the rest at the end."""
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
        """Run a dot command, or every SQL statement of `text`."""
        from traceq.database.user_sql import split_statements

        if text.lstrip().startswith("."):
            self._try(self._run_dot_command, text.strip())
        else:
            for statement in split_statements(text):
                self._try(self._run_query, statement)

    def _try(self, answer: Callable[[str], None], text: str) -> None:
        """Call `answer` with the text; an error in the query is printed and counted."""
        try:
            answer(text)
        except QueryError as error:
            self.failures += 1
            click.echo(f"error: {printable(str(error))}", err=True)

    def _run_query(self, statement: str) -> None:
        """Run one SQL statement and print its result."""
        from traceq.cli._table import write_result
        from traceq.cli.sql import terminal_width
        from traceq.database.user_sql import one_line_errors, run, run_interruptibly
        from traceq.exports.result import result_of

        with one_line_errors():
            relation = run_interruptibly(self._connection, partial(run, self._connection, statement))
            result = result_of(self._connection, relation, width=terminal_width())
            write_result(result, sys.stdout.buffer, vertical=self._vertical, wide=self._wide)
        sys.stdout.buffer.flush()

    def _run_dot_command(self, text: str) -> None:
        """Run a dot command with its argument. Raises QueryError for an unknown one."""
        name, _, argument = text.rstrip("; ").partition(" ")
        if name not in self._commands:
            raise QueryError(f"no command {name}; the commands are {', '.join(self._commands)}")
        self._commands[name](argument.strip())

    def _show_tables(self, _: str) -> None:
        """Print a line for each table, view and macro."""
        from traceq.cli.sql import terminal_width
        from traceq.cli.tables import write_overview
        from traceq.database import catalogue

        write_overview(catalogue.list_all(self._connection), sys.stdout.buffer, "table", terminal_width())

    def _show_schema(self, name: str) -> None:
        """Print the columns of the table or view `name`."""
        from traceq.cli.sql import terminal_width
        from traceq.cli.tables import write_columns
        from traceq.database import catalogue

        table = catalogue.find(catalogue.list_all(self._connection), name)
        write_columns(table, sys.stdout.buffer, "table", terminal_width())

    def _run_task(self, name: str) -> None:
        """Run the query for the task `name`; list the tasks if it is empty."""
        from traceq.cli.tables import write_tasks
        from traceq.database.questions import find_question, list_questions

        if name:
            self._run_query(find_question(name).query)
        else:
            write_tasks(list_questions(), sys.stdout.buffer)

    def _toggle_vertical(self, _: str) -> None:
        """Switch between a line for each value and columns."""
        self._vertical = not self._vertical

    def _toggle_wide(self, _: str) -> None:
        """Switch between whole texts and those that are cut."""
        self._wide = not self._wide

    def _stop(self, _: str) -> None:
        """End the session."""
        self._over = True
