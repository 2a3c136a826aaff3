"""Logs of torch.compile without a trace: compile time, graph breaks, recompilations and caches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from traceq.app.source import check_writes
from traceq.app.view import View
from traceq.common.limits import limits
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect
from traceq.database.empty import create_database
from traceq.database.publish import database_state, publish, scratch_beside
from traceq.database.user_sql import run_interruptibly
from traceq.reports.compile_log.compose import SCREENS, compose_compile_log
from traceq.reports.document import Block
from traceq.reports.renderers.compile_log_to_json import compile_log_to_json
from traceq.reports.renderers.to_text import WIDTH, blocks_to_text
from traceq.runs.compile_log.summarise import summarise_logs
from traceq.runs.compile_log.summary import CompileSummary

_SCREEN_LINES = 40


class CompileLogView(View[CompileSummary]):
    """Summary of logs of torch.compile, as a document; `content` is plain data."""

    def blocks(self) -> Iterable[Block]:
        """Return the document as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_compile_log(self.content)

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks of the document for HTML."""
        return compose_compile_log(self.content, is_page=True)

    def to_text(self, width: int = WIDTH, *, colour: bool = False) -> str:
        """Return the result as plain text for a screen of 40 lines; long tables are cut, as far as that is needed."""
        for room in SCREENS:
            text = blocks_to_text(compose_compile_log(self.content, room), width, colour=colour)
            if text.count("\n") < _SCREEN_LINES:
                break
        return text

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return compile_log_to_json(self.content)


def summarise_compile_logs(
    given: Sequence[Path], *, save: Path | None = None, writes: Sequence[Path] = ()
) -> CompileLogView:
    """Read the logs, which are files or folders, and say what they come to; `save` is a database that keeps their tables.

    `writes` are other files that will be written. Raises UnusableTrace or NoTraces for other files.
    """
    from traceq.loading.compile_logs import list_compile_logs

    logs = list_compile_logs(given)
    check_writes([*writes, *([save] if save else [])], logs)
    if save is None:
        with temporary_folder() as folder:
            return _read_and_summarise(folder / "compile.duckdb", logs)
    before = database_state(save)
    with scratch_beside(save) as folder:
        view = _read_and_summarise(folder / "compile.duckdb", logs)
        publish(folder / "compile.duckdb", save, before)
    return view


def _read_and_summarise(path: Path, logs: Sequence[Path]) -> CompileLogView:
    """Make the database `path` from the logs, and say what they come to."""
    from traceq.loading.compile_logs import insert_compile_logs

    create_database(path)
    with closing(connect(path, read_only=False)) as connection:

        def summarise_read() -> CompileSummary:
            for note in insert_compile_logs(connection, logs):
                limits().note(note)
            return summarise_logs(connection)

        found = run_interruptibly(connection, summarise_read)
        connection.execute("checkpoint")
    return CompileLogView(found)
