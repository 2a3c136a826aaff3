"""Budgets of the user's own: a query that returns one number. It runs while the database is open and is judged later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from traceq.common.text import printable
from traceq.database.query import literal
from traceq.database.user_sql import check_depth, one_line_errors, statements
from traceq.errors import QueryError
from traceq.runs.budgets.budget import Budget, Judged, Measured
from traceq.runs.budgets.verdict import cannot, judged
from traceq.runs.run import Run

if TYPE_CHECKING:
    import duckdb

_NO_DATABASE = "a baseline has no tables to query: give the trace or its database"
_LONGEST = 200


def ask(connection: duckdb.DuckDBPyConnection, query: str, run: Run, trace_id: int) -> Fraction | str:
    """The number that `query` returns, or why there is none.

    It may name $trace_id and $device, and get those of the run. The connection must be read-only and locked.
    """
    try:
        with one_line_errors(query):
            check_depth(query)
            if len(statements(query)) != 1:
                return "it is not one query"
            (parsed,) = connection.extract_statements(query)
            if parsed.type.name != "SELECT":
                return "it is not a query: it must begin with select, from or with"
            given = {name: value for name, value in _given(run, trace_id).items() if name in parsed.named_parameters}
            cursor = connection.execute(query, given or None)
            columns = len(cursor.description or ())
            rows = cursor.fetchmany(2)
    except QueryError as error:
        return f"the query fails: {error}"
    if columns != 1:
        return f"the query returns {columns} columns, not one number"
    if len(rows) != 1:
        return "the query returns several rows, not one number" if rows else "the query returns no row"
    return _number(rows[0][0])


def _given(run: Run, trace_id: int) -> dict[str, int]:
    return {"trace_id": trace_id, "device": -2 if run.device is None else run.device}


def _number(value: object) -> Fraction | str:
    if value is None:
        return "the query returns NULL: the trace does not have this value"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        shown = printable(str(value)[:_LONGEST])
        return (
            f"the query returns no number but {shown!r}"
            if isinstance(value, str)
            else f"the query returns {shown}, no number"
        )
    if isinstance(value, float) and not math.isfinite(value):
        return f"the query returns {value}, no number"
    # A double is taken as it is written: 0.1 keeps a limit of 0.1.
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def sql(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """The number; of several runs the one that is furthest from its limits, and all must have one."""
    query = _shown(budget, measured)
    answers: list[Fraction] = []
    for one in measured:
        answer = one.answers.get(budget.name, _NO_DATABASE)
        if isinstance(answer, str):
            return cannot(budget, f"{one.run.file}: {answer}" if len(measured) > 1 else answer, query=query)
        answers.append(answer)
    return judged(budget, max(answers, key=lambda answer: _excess(budget, answer)), query=query)


def _excess(budget: Budget, answer: Fraction) -> Fraction:
    """By how much the number misses the limit that it misses most; below 0 where it keeps them."""
    return max(answer - limit.amount if limit.bound == "at most" else limit.amount - answer for limit in budget.limits)


def _shown(budget: Budget, measured: Sequence[Measured]) -> str | None:
    """The query for one run; parameters are filled in, so that it can be run again."""
    if budget.query is None or len(measured) != 1 or measured[0].trace_id is None:
        return budget.query
    try:
        return literal(budget.query, **_given(measured[0].run, measured[0].trace_id))
    except KeyError:  # it names a parameter that there is not, of which its failure tells
        return budget.query
