"""The SQL of agents, run in a process of its own.

DuckDB neither stops nor counts memory while it binds a query, and brackets nested 25 deep in a macro keep it there for hours: a
process can be ended, the server goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import duckdb

from traceq.app.open import open_locked
from traceq.common.child import Child, send_answer
from traceq.common.limits import LEAST_OF_QUERIES, Limits, limits, within
from traceq.database.connect import find_check, list_trusted_places, trust_places
from traceq.database.user_sql import one_line_errors, run, run_interruptibly
from traceq.errors import QueryError
from traceq.exports.result import bound_values, read_records, result_of

# How long a query may take to notice that its time is over, a process to start, and the files of a table to be checked, seconds.
_GRACE = 10.0
_LONGEST_START = 120.0
_LONGEST_CHECK = 600.0
# Address space beside what DuckDB may hold: libraries, stacks of threads and the result take some 2 GiB.
_BESIDE = 4 << 30
# Nothing longer is shown.
_LONGEST_VALUE = 8_000

_TOO_LARGE = "the query needs more memory than there is: query less at a time"
_SLOW_START = f"the process of the query did not start in {_LONGEST_START:g} s: is the machine busy? Ask again"
_SLOW_CHECK = f"the files of a table were not checked in {_LONGEST_CHECK:g} s: use traceq sql, which has no such limit"

# What the process says before and after it checks the files of a table.
_CHECKS, _CHECKED = "checks files", "checked files"

Rows = tuple[list[str], list[list[Any]]]


class AgentQueries:
    """Queries of agents, each run in a child process that is started for the first and ended where a query does not stop."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def run_query(self, file: Path, query: str, most: int, seconds: float) -> Rows:
        """Return the column names and the first `most` rows of the SQL `query` on the database `file`.

        Texts are cut to 8,000 characters. Raises QueryError where the query fails, takes longer than `seconds` (without the
        time in which files of a dataset are checked), or ends its process.
        """
        if self._child is None:
            self._start_child()
        memory, places = max(limits().memory_bytes, LEAST_OF_QUERIES), list_trusted_places(file)
        self._send_call(_answer_query, (file, places, find_check(file), query, most, seconds, memory))
        while (found := self._receive_message(seconds + _GRACE, _say_stopped(seconds))) in (_CHECKS, _CHECKED):
            if found == _CHECKS:
                self._receive_message(_LONGEST_CHECK, _SLOW_CHECK)
        answer: Rows = found
        return answer

    def _start_child(self) -> None:
        """Start the child process, and wait until it has imported what it needs. Raises QueryError where it cannot start."""
        try:
            self._child = Child("traceq.dataset.worker")
        except OSError as error:
            raise QueryError(f"the process of the query cannot be started: {error.strerror or error}") from error
        self._send_call(_be_ready, ())
        self._receive_message(_LONGEST_START, _SLOW_START)

    def _send_call(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        """Let the child call the function; if it has ended, `_receive_message` says how."""
        assert self._child is not None  # noqa: S101
        with suppress(OSError):
            self._child.send((function, arguments))

    def _receive_message(self, seconds: float, late: str) -> Any:
        """Return the next message of the child, or raise it if it is an exception.

        Raises QueryError where it has ended, `late` where it says nothing for `seconds` and is killed.
        """
        child = self._child
        assert child is not None  # noqa: S101
        began = time.monotonic()
        with _call_late(seconds, child.stop):
            found = next(child.answers, None)
        if found is None:
            is_late = time.monotonic() - began >= seconds
            self._child = None
            # not at once, which would hide how it ends itself
            with _call_late(_GRACE, child.stop):
                child.close()
            raise QueryError(late if is_late else _say_ended(child.exit_code or 0))
        if isinstance(found, MemoryError):
            self.close()
            raise QueryError(_TOO_LARGE)
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """End the child process."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()
            child.close()


@contextmanager
def _call_late(seconds: float, call: Callable[[], object]) -> Iterator[None]:
    """Call the function if the block takes longer than `seconds`."""
    timer = Timer(seconds, call)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say_ended(code: int) -> str:
    """Return the message for a process with this exit code, negative for a signal."""
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the process of the query ended ({how}): ask again, and for less at a time if it ends again"


def _say_stopped(seconds: float) -> str:
    return f"the query was stopped after {seconds:g} s: query less at a time"


def _be_ready() -> str:
    """Return a word, in the child process, which has imported this module to call it."""
    return "ready"


class _TimedCheck:
    """The check of a table's files, in the child process, which tells its parent of it and measures how long it takes."""

    def __init__(self, are_sound: Callable[[str], bool]) -> None:
        self._are_sound = are_sound
        self._checked: set[str] = set()
        self._began: float | None = None
        self._passed = 0.0

    def are_sound(self, table: str) -> bool:
        """Return what the check says of the table."""
        if table in self._checked:
            return self._are_sound(table)
        self._checked.add(table)
        send_answer(_CHECKS)
        self._began = began = time.monotonic()
        try:
            return self._are_sound(table)
        finally:
            self._began, self._passed = None, self._passed + time.monotonic() - began
            send_answer(_CHECKED)

    def sum_seconds(self) -> float:
        """Return how long checks have taken until now, seconds."""
        began = self._began
        return self._passed + (0.0 if began is None else time.monotonic() - began)


def _answer_query(
    file: Path,
    places: Sequence[tuple[str, str]],
    are_sound: Callable[[str], bool] | None,
    query: str,
    most: int,
    seconds: float,
    memory: int,
) -> Rows:
    """Return what AgentQueries.run_query does, in the child process."""
    _limit_address_space(memory + _BESIDE)
    spared: Callable[[], float] = float
    if places and are_sound:
        check = _TimedCheck(are_sound)
        trust_places(file, places, check.are_sound)
        spared = check.sum_seconds
    with within(Limits(memory=memory)), open_locked(file) as connection:
        return run_interruptibly(
            connection, partial(_read_rows, connection, query, most), seconds, _say_stopped(seconds), spared
        )


def _read_rows(connection: duckdb.DuckDBPyConnection, query: str, most: int) -> Rows:
    """Return the column names and the first `most` rows of the SQL `query`."""
    relation = run(connection, query)
    with one_line_errors():
        result = result_of(connection, bound_values(relation, most, _LONGEST_VALUE), "json")
        return result.schema.names, read_records(result, most)


def _limit_address_space(most: int) -> None:
    """Limit this process to `most` bytes of address space, where the system can."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        bounds = [bound for bound in (soft, hard, most) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
