"""The queries of a report, by name: run, or printed for the reader to run again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from traceq.database.query import Setting, ask, literal
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

T = TypeVar("T")

# Asked for by others as well, and kept where what they ask for is made.
_ELSEWHERE = {
    "ledger": "analysis/ledger/ledger.sql",
    "note": "database/note.sql",
    "step_stats": "analysis/steps/statistics.sql",
    "throughput": "analysis/steps/throughput.sql",
    "trace": "database/trace.sql",
}


def rows(connection: duckdb.DuckDBPyConnection, name: str, **values: Setting) -> list[dict[str, Any]]:
    """The rows of the query `name`, as dictionaries by column name."""
    return ask(connection, _text(name), **values)


def records(
    made: Callable[..., T], connection: duckdb.DuckDBPyConnection, name: str, **values: Setting
) -> tuple[T, ...]:
    """Return `made` of each row of the query `name`; its columns are the first fields, in their order."""
    return tuple(made(*row.values()) for row in rows(connection, name, **values))


def columns(connection: duckdb.DuckDBPyConnection, name: str, **values: Setting) -> dict[str, npt.NDArray[Any]]:
    """The rows of the query `name`, a NumPy array for each column; none of them may hold NULL."""
    import numpy as np

    read = run(connection, _path(name), **values).fetchnumpy()
    return {column: np.asarray(numbers) for column, numbers in read.items()}


def standalone(name: str, **values: Setting) -> str:
    """The query `name` on one line, with `values` in place of its parameters."""
    return literal(_text(name), **values)


def _text(name: str) -> str:
    return statement(_path(name))


def _path(name: str) -> str:
    return _ELSEWHERE.get(name, f"reports/sql/{name}.sql")
