"""The subject of rules of jobs: one window of a job, its numbers, and queries on its tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from traceq.database.query import Setting, ask, literal
from traceq.database.sql import statement
from traceq.diagnosis.finding import Confidence, Evidence
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.needs import CannotTell

if TYPE_CHECKING:
    import duckdb


class JobSubject(msgspec.Struct, frozen=True, dict=True):
    """A time window of a job to judge; `facts` is its row of the table job, with further columns of facts.sql."""

    connection: duckdb.DuckDBPyConnection
    job: int
    time_window: int
    facts: Mapping[str, Any]
    _asked: dict[str, list[dict[str, Any]]] = msgspec.field(default_factory=dict)

    @cached_property
    def stragglers(self) -> list[dict[str, Any]]:
        """The rows of the table straggler with their ranks, in the order in which to fix them."""
        return self.ask("stragglers")

    @property
    def steps(self) -> int:
        """The number of steps by which the job's times are divided; at least 1."""
        return max(int(self.facts["steps"]), 1)

    @property
    def wanders(self) -> bool:
        """Whether a different rank is late each time, so that no rank is to blame."""
        return bool(self.facts["pattern"] == "wandering")

    def judged(self) -> None:
        """Raise CannotTell where the job was not judged: who waits for whom is not known then."""
        if self.facts["cannot_tell"] is not None or self.facts["dur"] is None:
            raise CannotTell(self.facts["cannot_tell"] or "its collectives have no usable times")

    def ask(self, name: str, **settings: Setting) -> list[dict[str, Any]]:
        """Return the rows of traceq/diagnosis/job/sql/`name`.sql for this window; the same query and `settings` run once."""
        key = f"{name} {settings}"
        if key not in self._asked:
            self._asked[key] = ask(self.connection, _query_text(name), **self._given(settings))
        return self._asked[key]

    def finding(
        self,
        rule: str,
        unit: str,
        proof: str,
        *,
        because: str,
        confidence: Confidence,
        reason: str,
        fix: str,
        ranks: tuple[int, ...] = (),
        saving: float | None = None,
        adds: float | None = None,
        place: int | None = None,
        **settings: Setting,
    ) -> JobFinding:
        """Return a finding of `rule` on `unit` (words for its ranks), which the rows of `proof`.sql prove.

        `saving` and `adds` are in ns over all steps. `place` is the straggler's, and is given to the query, as
        `settings` are.
        """
        if place is not None:
            settings = {"place": place, **settings}
        rows = self.ask(proof, **settings)
        columns = tuple(rows[0]) if rows else ()
        query = literal(_query_text(proof), **self._given(settings))
        return JobFinding(
            rule=rule,
            unit=unit,
            ranks=ranks,
            because=because,
            saving_ns=None if saving is None else saving / self.steps,
            adds_ns=None if adds is None else adds / self.steps,
            place=place,
            confidence=confidence,
            confidence_reason=reason,
            fix=fix,
            evidence=Evidence(columns, tuple(tuple(row.values()) for row in rows), query),
        )

    def _given(self, settings: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return the parameters of a query: the job, the window, and `settings`."""
        return {"job": self.job, "time_window": self.time_window, **settings}


def _query_text(name: str) -> str:
    """Return the SQL in traceq/diagnosis/job/sql/`name`.sql."""
    return statement(f"diagnosis/job/sql/{name}.sql")
