"""The SQL of agents, run in a process of its own.

DuckDB neither stops nor counts memory while it binds a query, and brackets nested 25 deep in a macro keep it there for hours: a
process can be ended, the server goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import duckdb

from traceq.app.open import open_locked
from traceq.common.child import Child
from traceq.common.limits import LEAST_OF_QUERIES, Limits, limits, within
from traceq.database.connect import find_check, list_trusted_places, trust_places
from traceq.database.user_sql import one_line_errors, run, run_interruptibly
from traceq.errors import QueryError
from traceq.exports.result import bound_values, read_records, result_of

# How long a process may take to start, or a query to notice that its time is over, seconds.
_GRACE = 10.0
# Address space beside what DuckDB may hold: libraries, stacks of threads and the result take some 2 GiB.
_BESIDE = 4 << 30
# Nothing longer is shown.
_LONGEST_VALUE = 8_000

_TOO_LARGE = "the query needs more memory than there is: query less at a time"

Rows = tuple[list[str], list[list[Any]]]


class AgentQueries:
    """Queries of agents, each run in a child process that is started for the first and ended where a query does not stop."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def run_query(self, file: Path, query: str, most: int, seconds: float) -> Rows:
        """Return the column names and the first `most` rows of the SQL `query` on the database `file`.

        Texts are cut to 8,000 characters. Raises QueryError where the query fails, takes longer than `seconds`, or ends its
        process.
        """
        child = self._child = self._child or Child("traceq.dataset.worker")
        memory, places = max(limits().memory_bytes, LEAST_OF_QUERIES), list_trusted_places(file)
        late, began = Timer(seconds + _GRACE, child.stop), time.monotonic()
        late.start()
        try:
            child.send((_answer_query, (file, places, find_check(file), query, most, seconds, memory)))
            found = next(child.answers, None)
        except OSError:
            found = None
        finally:
            late.cancel()
        if found is None or isinstance(found, MemoryError):
            self.close()
            is_late = time.monotonic() - began >= seconds + _GRACE
            raise QueryError(_say_stopped(seconds) if is_late else _TOO_LARGE)
        if isinstance(found, BaseException):
            raise found
        answer: Rows = found
        return answer

    def close(self) -> None:
        """End the child process."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()
            child.close()


def _say_stopped(seconds: float) -> str:
    return f"the query was stopped after {seconds:g} s: query less at a time"


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
    if places and are_sound:
        trust_places(file, places, are_sound)
    with within(Limits(memory=memory)), open_locked(file) as connection:
        return run_interruptibly(
            connection, partial(_read_rows, connection, query, most), seconds, _say_stopped(seconds)
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
