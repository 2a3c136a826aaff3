"""The line editor of traceq shell: history, highlighting, completion, lines until the semicolon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import duckdb
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from traceq.database.catalogue import list_all


def prompt_for(connection: duckdb.DuckDBPyConnection, is_ready: Callable[[str], bool]) -> Callable[[], str]:
    """Return a function that reads the next statement or dot command from the user; it raises EOFError on Ctrl-D.

    `is_ready` decides whether Enter ends the input or starts a new line.
    """
    session: PromptSession[str] = PromptSession(
        "traceq> ",
        prompt_continuation="   ...> ",
        # Enter ends the input when it can be answered, and starts a line when not.
        multiline=Condition(lambda: not is_ready(get_app().current_buffer.text)),
        history=read_history(Path(click.get_app_dir("traceq"))),
        auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(SqlLexer),
        completer=make_completer(connection),
        complete_while_typing=False,
    )
    return session.prompt


def make_completer(connection: duckdb.DuckDBPyConnection) -> WordCompleter:
    """Return a completer for names of tables, views, macros and columns, then SQL keywords."""
    known = list_all(connection)
    names = dict.fromkeys(
        [table.name for table in known] + [column.name for table in known for column in table.columns]
    )
    keywords = connection.execute("select keyword_name from duckdb_keywords() order by 1").fetchall()
    return WordCompleter([*names, *(word for (word,) in keywords if word not in names)], ignore_case=True)


def read_history(directory: Path) -> History:
    """Return the history of earlier sessions, kept in `directory`; only in memory if that is not writable."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "history"
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))
