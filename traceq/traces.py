"""What `traceq.open` returns: a trace database, opened to be asked."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, get_args

import duckdb

from traceq import queries, store
from traceq.claims.subject import Goal
from traceq.errors import StoreError

if TYPE_CHECKING:
    from typing import Self

    from traceq.report_view import ReportView


class Traces:
    """A trace database, opened read-only; a context manager that closes it.

    Raises StoreError when there is no database at `path`, SchemaMismatch when another version of traceq
    made it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._connection = store.connect(self.path)
        # Otherwise a misspelt table name could find one of traceq's own variables.
        self._connection.execute("set python_enable_replacements = false")

    def sql(self, query: str, params: queries.Parameters | None = None) -> duckdb.DuckDBPyRelation:
        """The result of `query` as a DuckDB relation: .df() for pandas, .arrow() for Arrow, .fetchall().

        `params` are the values of ? (a sequence) or $name (a mapping) in the query. Times are ns, sizes
        bytes. The relation is lazy: read it before the database is closed. Raises QueryError, with line and
        column.
        """
        with queries.one_line_errors():
            self._connection.execute(queries.ERRORS_WITH_POSITION)
            try:
                return queries.run(self._connection, query, params)
            finally:
                self._connection.execute(queries.ERRORS_FOR_PEOPLE)

    def report(self, top: int = 10, *, goal: Goal = "throughput") -> ReportView:
        """The report on every trace of the database, with at most `top` findings for each; it needs no database any more.

        `goal` is what the advice is to serve: "throughput" (samples per second) or "latency" (the time of a step).
        Raises ValueError when `top` or `goal` is none of these, StoreError when the database is closed or damaged.
        """
        from traceq.report_view import ReportView
        from traceq.reports.build import build

        if top < 1:
            raise ValueError(f"top is the number of findings to show, at least 1, not {top}")
        if goal not in get_args(Goal):
            raise ValueError(f"goal is one of {', '.join(get_args(Goal))}, not {goal!r}")
        try:
            return ReportView(
                queries.interruptible(self._connection, lambda: build(self._connection, top, goal, drawn=True))
            )
        except duckdb.ConnectionException as error:
            raise StoreError(f"{self.path}: is closed; open it again with traceq.open") from error
        except duckdb.Error as error:
            message = " ".join(str(error).split())
            raise StoreError(f"{self.path}: cannot be reported: {message}; ingest the traces again") from error

    def close(self) -> None:
        """Close the database; what `sql` returned cannot be read any more."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Traces({str(self.path)!r})"


def open_traces(path: str | Path) -> Traces:
    """Open the trace database at `path`, which `traceq.ingest` made, read-only."""
    return Traces(path)
