"""The services for agents: the databases of a session, and answers of bounded length."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from traceq.app.agent_queries import AgentQueries
from traceq.app.compare import ComparisonView, compare
from traceq.app.read_options import ReadOptions, Which
from traceq.app.report import report
from traceq.app.source import database_of, is_trace
from traceq.app.whatif import whatif, whatif_choices
from traceq.app.whatif_request import WhatIfRequest
from traceq.dataset.manifest import NAME, is_dataset
from traceq.errors import QueryError, StoreError, WrongUse
from traceq.reports.mcp import report as report_answers
from traceq.reports.mcp.budget import MOST, AgentAnswer, clamp_budget
from traceq.reports.mcp.tables import answer_comparison, answer_rows, answer_whatif
from traceq.reports.model import Report
from traceq.reports.secretless import hide_in_rows, hide_secrets
from traceq.runs import baselines
from traceq.sharing.signs import hide_in_name

_MOST_ROWS = 200
_LONGEST_QUERY = 30  # seconds
# Rows of a table in the text of a comparison: as many as fit.
_ROWS_OF_TABLES = (5, 3, 1)

Part = Literal["all", "sql"]


class _Database(msgspec.Struct, frozen=True, dict=True):
    """A trace database of a session: its id there (db1), the `path` that was opened, and the database's `file`.

    `names_nobody` says whether its report is one that can be shown to strangers.
    """

    name: str
    path: str
    file: Path
    names_nobody: bool

    @cached_property
    def content(self) -> Report:
        """The report on the database, as plain data, made at the first use."""
        content = report(self.file, scope="document", ticket=self.names_nobody).content
        return content if self.names_nobody else hide_secrets(content)

    @cached_property
    def finding_ids(self) -> frozenset[str]:
        """The ids of findings that answers name."""
        return frozenset(found.finding_id for trace in self.content.traces for found in trace.every_finding)


class Session:
    """The trace databases that an agent has opened; a context manager that removes those it made itself.

    A question names one by its id (db1) or by a path, which is then opened. Answers have at most `max_chars` characters, text
    and data together, 8,000 at most. Raises TraceqError as the use cases do. One question is answered at a time. Public methods
    are the tools of `traceq mcp`, and their docstrings what agents read of them.

    With `names_nobody` answers hold what a ticket would: `sql` and `whatif`, which read anything, refuse then. Otherwise
    they hold names, but nothing that is secret by its sign.
    """

    def __init__(self, *, names_nobody: bool = False) -> None:
        self.names_nobody = names_nobody
        self._by_name: dict[str, _Database] = {}
        self._by_source: dict[object, _Database] = {}
        self._stack = ExitStack()
        self._queries = AgentQueries()
        self._stack.callback(self._queries.close)
        self._asking = threading.RLock()

    def open(
        self, path: str, *, step_range: str | None = None, window: str | None = None, max_chars: int = MOST
    ) -> AgentAnswer:
        """Open a trace or a traceq database: its id, traces, verdict, and findings in a line each. Call this first.

        path: an Nsight Systems .sqlite export, a PyTorch profiler .json or .json.gz, a directory of the traces of a job,
        or a .duckdb that `traceq ingest` made. step_range: a regular expression; annotations that match are the steps.
        window: what to judge, e.g. "3.2s..4s"; both for traces only. A trace of 100 MB takes about half a minute.
        """
        with self._asking:
            database = self._open(path, step_range, window)
            return report_answers.describe_database(
                database.content, database.name, database.path, clamp_budget(max_chars)
            )

    def report(self, source: str, *, max_chars: int = MOST) -> AgentAnswer:
        """Report in brief: verdict, where the time of a step goes, findings, what is unknown and what would show it.

        source: an id that `open` gave, or a path.
        """
        with self._asking:
            database = self._find(source)
            return report_answers.answer_report(database.content, database.name, database.path, clamp_budget(max_chars))

    def finding(
        self, source: str, finding: str = "F1", *, trace: int | None = None, part: Part = "all", max_chars: int = MOST
    ) -> AgentAnswer:
        """Show a finding: title, saving per step with bounds, what to do, call stack, evidence rows, and SQL of its numbers.

        source: an id or a path. finding: F1, F2, ... as `open` lists them, a finding's id, or the name of a rule; for a rule
        that found nothing or cannot tell, the answer says so and why. trace: a trace number, by default the one to look at
        first. part: "sql" for the queries alone, where they are too long to stand beside the rest.
        """
        with self._asking:
            return report_answers.answer_finding(
                self._find(source).content, finding, trace, part, clamp_budget(max_chars)
            )

    def sql(self, source: str, query: str, *, max_rows: int = 50, max_chars: int = MOST) -> AgentAnswer:
        """Ask the database in DuckDB's SQL, read-only: no file, no network, at most 30 s and 200 rows.

        source: an id or a path. Tables: finding, step, kernel, time_ledger, launch, memcpy and more; `select table_name, comment
        from duckdb_tables()` lists them, duckdb_views() the views, duckdb_columns() their columns. Times are ns, sizes bytes.
        """
        self._refuse_if_anonymous("sql")
        most = min(max(max_rows, 1), _MOST_ROWS)
        with self._asking, _hide_in_errors():
            database = self._find(source)
            columns, found = self._queries.run_query(database.file, query, most + 1, _LONGEST_QUERY)
            columns, found = hide_in_rows(columns, found, database.finding_ids)
        return answer_rows(columns, found, most, clamp_budget(max_chars))

    def whatif(
        self,
        source: str,
        *,
        remove: list[str] | None = None,
        scale: dict[str, float] | None = None,
        overlap: list[str] | None = None,
        move: dict[str, float] | None = None,
        graph: bool = False,
        transfer_only: bool = False,
        finding: str | None = None,
        trace: int | None = None,
        max_chars: int = MOST,
    ) -> AgentAnswer:
        """Predict how long a step would take with changes, by replaying it; without any change, list what can be changed.

        source: an id or a path. remove: categories ("idle_data", "compute"), "copies", "host:GLOB" or "kernel:GLOB" that take
        no time. scale: their time times a factor, {"kernel:*flash*": 0.5}. overlap: communication or copies that run beside
        kernels. move: host work done in so many other threads, {"idle_data": 4}. graph: kernels launched as one CUDA graph.
        transfer_only: no collective waits for other ranks. finding: F1, an id or a rule, instead: without what it owns.
        """
        self._refuse_if_anonymous("whatif")
        request = WhatIfRequest(remove or (), scale or {}, overlap or (), move or {}, graph, transfer_only, finding)
        with self._asking:
            file = self._find(source).file
            view = whatif(file, request, trace=trace) if request.is_given else whatif_choices(file, trace=trace)
            view.content = hide_secrets(view.content)
            return answer_whatif(view.to_text(), view.to_json(), clamp_budget(max_chars))

    def compare(self, base: str, new: str, *, rank: int | None = None, max_chars: int = MOST) -> AgentAnswer:
        """Compare one run with another: regression, improvement, no change, or cannot tell with the reason.

        base, new: ids, paths, or baselines by name. rank: which rank to compare, by default the lowest.
        """
        with self._asking:
            is_ticket = self.names_nobody
            view = compare(self._run_of(base), self._run_of(new), Which(rank), ticket=is_ticket)
            view.content = view.content if is_ticket else hide_secrets(view.content)
            texts = (ComparisonView(view.content, is_ticket=is_ticket, top=most).to_text() for most in _ROWS_OF_TABLES)
            return answer_comparison(texts, view.to_json(), clamp_budget(max_chars))

    def _refuse_if_anonymous(self, tool: str) -> None:
        """Raise WrongUse in a session whose answers name nobody: a question could spell out any name."""
        if self.names_nobody:
            raise WrongUse(f"{tool} can show any name of the trace: start `traceq mcp` without --anonymous to ask it.")

    def _run_of(self, source: str) -> Path | str:
        """Return the source for `compare`: the name or file of a baseline as given, else the path of the database."""
        is_baseline = baselines.find(source) is not None or baselines.is_baseline(Path(source))
        return source if is_baseline else self._find(source).file

    def _find(self, source: str) -> _Database:
        """Return the open database whose id (db1) or path is `source`; a path that is not open is opened."""
        return self._by_name.get(source) or self._open(source, None, None)

    def _open(self, path: str, step_range: str | None, window: str | None) -> _Database:
        """Return the database of a trace or database file, opened once for each path, content and pair of options."""
        if not path:
            raise WrongUse("The path is empty: name a trace, a trace database, or an id that `open` gave.")
        place = Path(path).expanduser()
        key = (place.absolute(), _stamp_of(place), step_range, window)
        if key not in self._by_source:
            file = self._file_of(place, step_range, window)
            database = _Database(f"db{len(self._by_name) + 1}", str(place), file, self.names_nobody)
            # What cannot be reported on gets no name.
            _ = database.content
            self._by_name[database.name] = self._by_source[key] = database
        return self._by_source[key]

    def _file_of(self, place: Path, step_range: str | None, window: str | None) -> Path:
        """Return the path of the database at `place`, or of one made of the traces there.

        Raises StoreError if there is neither.
        """
        if not place.exists() and not is_trace(place):
            known = ", ".join(self._by_name) or "none yet"
            raise StoreError(f"{place}: no such file, and no database is open by this name (open: {known})")
        return self._stack.enter_context(
            database_of(place, ReadOptions(step_range=step_range, window=window), judged=True)
        )

    def close(self) -> None:
        """Remove the temporary databases that were made of traces."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _hide_in_errors() -> Iterator[None]:
    """Hide secrets in the message of a query's error, which may quote a value."""
    try:
        yield
    except QueryError as error:
        raise QueryError(hide_in_name(str(error))) from error


def _stamp_of(place: Path) -> tuple[int, int] | None:
    """Return the modification time (ns) and size of the file or dataset, which change when it is rewritten; None for others."""
    file = place / NAME if is_dataset(place) else place
    if not file.is_file():
        return None
    found = file.stat()
    return found.st_mtime_ns, found.st_size
