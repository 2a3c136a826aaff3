"""Counts of what a trace holds that rules stand on, read when the first is asked for: cached judgements ask for none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.needs import NEEDS

if TYPE_CHECKING:
    import duckdb

_SEVERAL_STEPS = 3


class Present(Mapping[str, int]):
    """The counts of a trace and its critical device (-2 for none) by name: those of diagnosis/sql/present.sql, and its steps.

    Reading them raises ValueError where present.sql lacks a column of NEEDS.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, trace_id: int, device: int, steps: int) -> None:
        self._connection = connection
        self._values = {"trace_id": trace_id, "device": device}
        self._steps = steps

    @cached_property
    def _counts(self) -> dict[str, int]:
        (found,) = ask(self._connection, statement("diagnosis/sql/present.sql"), **self._values)
        found |= {"steps": self._steps, "several_steps": int(self._steps >= _SEVERAL_STEPS)}
        unknown = {need.column for need in NEEDS.values()} - set(found)
        if unknown:
            raise ValueError(f"diagnosis/sql/present.sql does not count {', '.join(sorted(unknown))}")
        return found

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)
