"""The SQL that gives a number of a budget again."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.database.query import Setting, literal
from traceq.database.sql import statement
from traceq.runs.budgets.budget import Measured


def reproduced(measured: Sequence[Measured], name: str, **values: Setting) -> str | None:
    """The query traceq/`name` for the one run; None where several are pooled, or the run has no database."""
    if len(measured) != 1 or measured[0].trace_id is None:
        return None
    return literal(statement(name), trace_id=measured[0].trace_id, **values)
