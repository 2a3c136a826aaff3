"""Open a trace database, or a trace, to query and to report on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import duckdb

from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.report import ReportView
from traceq.app.source import database_of, is_trace
from traceq.app.whatif_request import Named, Numbered, WhatIfRequest
from traceq.database import user_sql
from traceq.database.connect import connect
from traceq.database.failures import one_line
from traceq.dataset.manifest import is_dataset
from traceq.dataset.place import is_address
from traceq.diagnosis import user_rules
from traceq.diagnosis.subject import Goal
from traceq.errors import StoreError

if TYPE_CHECKING:
    from traceq.app.whatif import WhatIfChoicesView, WhatIfView

_SECONDS_BETWEEN_TRIES = 0.02


class Traces:
    """A read-only trace database, or a temporary one made of traces; a context manager that closes it.

    Raises StoreError when there is no database at `path`, SchemaMismatch when another version of traceq made it, and
    the errors of `ingest` for traces.
    """

    def __init__(self, path: str | Path, read: ReadOptions = AS_FOUND) -> None:
        self.path: str | Path = str(path) if is_address(path) else Path(path)
        self._stack = ExitStack()
        with ExitStack() as stack:
            self._connection = connect(stack.enter_context(_find_database(path, read, judged=True)))
            stack.callback(self._connection.close)
            self._stack = stack.pop_all()
        # Otherwise a misspelt table name could find one of traceq's own variables.
        self._connection.execute("set python_enable_replacements = false")

    def sql(self, query: str, params: user_sql.Parameters | None = None) -> duckdb.DuckDBPyRelation:
        """Run the SQL `query` and return its result as a DuckDB relation: .df() for pandas, .arrow() for Arrow, .fetchall().

        `params` are the values of ? (a sequence) or $name (a mapping) in the query. Times are ns, sizes bytes. The
        relation is lazy: read it before the database is closed. Raises QueryError, with line and column, also for
        statements that would change DuckDB's settings.
        """
        with user_sql.one_line_errors():
            self._connection.execute(user_sql.ERRORS_WITH_POSITION)
            try:
                return user_sql.run(self._connection, query, params, is_locked=False)
            finally:
                self._connection.execute(user_sql.ERRORS_FOR_PEOPLE)

    def report(self, top: int = 10, *, goal: Goal = "throughput", rules: Sequence[str | Path] = ()) -> ReportView:
        """Report on every trace of the database, with at most `top` findings for each; the result no longer needs the database.

        `goal` is what the advice optimises for: "throughput" (samples per second) or "latency" (the time of a step).
        `rules` are files or directories of your own rules; the word "extra" adds those that no labelled trace has
        confirmed. Raises ValueError for a wrong `top` or `goal`, StoreError when the database is closed or damaged.
        """
        from traceq.app.report import ReportView, report_of

        chosen = user_rules.load_rules(rules)
        with self._store_errors("reported"):
            content, _ = report_of(self._connection, top, goal, chosen, scope="drawing")
            return ReportView(content, self.path)

    def whatif(
        self,
        *,
        remove: Named = (),
        scale: Numbered = (),
        overlap: Named = (),
        move: Numbered = (),
        graph: bool = False,
        transfer_only: bool = False,
        trace: int | None = None,
    ) -> WhatIfView:
        """Predict how long the steps would take with all changes together; traceq.whatif describes the changes."""
        from traceq.app.whatif import answer_of

        asked = WhatIfRequest(remove, scale, overlap, move, graph, transfer_only).changes()
        with self._store_errors("replayed"):
            return answer_of(self._connection, asked, trace)

    def whatif_choices(self, *, trace: int | None = None) -> WhatIfChoicesView:
        """List what `whatif` can change in a trace; `trace` is a trace_id, by default the first."""
        from traceq.app.whatif import choices_of

        with self._store_errors("replayed"):
            return choices_of(self._connection, trace)

    @contextmanager
    def _store_errors(self, done: str) -> Iterator[None]:
        """Turn DuckDB's errors inside the block into StoreError: the database is closed, or cannot be `done` (reported, ...)."""
        try:
            yield
        except duckdb.ConnectionException as error:
            raise StoreError(f"{self.path}: is closed; open it again with traceq.open") from error
        except duckdb.Error as error:
            raise StoreError(f"{self.path}: cannot be {done}: {one_line(error)}; ingest the traces again") from error

    def close(self) -> None:
        """Close the database; relations that `sql` returned can no longer be read."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Traces({str(self.path)!r})"


@contextmanager
def _find_database(source: str | Path, read: ReadOptions, *, judged: bool = False) -> Iterator[Path]:
    """Yield the path of the database `source`, or of one made of the traces `source`; a missing file counts as a database."""
    if Path(source).exists() or is_trace(source) or is_dataset(source):
        with database_of(source, read, judged=judged) as database:
            yield database
    else:
        yield Path(source)


@contextmanager
def open_locked(source: str | Path, read: ReadOptions = AS_FOUND) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection for SQL of untrusted users: read-only, without files, network, extensions or changed settings."""
    with ExitStack() as stack:
        connection = connect(stack.enter_context(_find_database(source, read)))
        stack.callback(_close, connection)
        connection.execute(user_sql.ERRORS_WITH_POSITION)
        connection.execute("set lock_configuration = true")
        yield connection


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Interrupt the connection's queries and close it, also when nobody reads their results any more (| head, Ctrl-C)."""
    while True:
        connection.interrupt()
        try:
            connection.close()
        except duckdb.ResourceInUseException:
            # Another thread is inside a call; it ends soon after an interrupt.
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return
