"""What a rule is given: one trace, its critical device, and the ways to ask about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from traceq.claims.at_hand import AtHand, whole
from traceq.claims.claim import Claim, categories, check, instances, summary, summary_text
from traceq.claims.needs import NEEDS, CannotTell
from traceq.sql import statement
from traceq.sql.facts import Setting, ask, without_end

if TYPE_CHECKING:
    import duckdb

Goal = Literal["throughput", "latency"]

# What would win less of the step is counted, not listed.
WORTH_LISTING = 0.01


@dataclass(frozen=True)
class Subject:
    """A trace to judge. `device` is the one that is busy longest: a step cannot get shorter than that.

    `present` counts what the trace holds (judge/present.sql); `step_ns` is the mean of the counted steps; `place`
    completes the ids of findings. `ledger` is that of the device: ns per counted step by category. `device` is None, and
    `step_ns` 0, where there is none.
    """

    connection: duckdb.DuckDBPyConnection = field(repr=False)
    trace_id: int
    rank: int | None
    world_size: int | None
    place: str
    format: str
    device: int | None
    device_name: str | None
    devices: int
    compute_capability: float | None
    steps: int
    step_ns: float
    is_whole_trace: bool
    goal: Goal
    present: Mapping[str, int] = field(repr=False)
    ledger: Mapping[str, float] = field(repr=False)
    at_hand: AtHand = field(repr=False)
    _worst: dict[int, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    def has(self, need: str) -> bool:
        """Whether the trace holds an input of NEEDS."""
        return bool(self.present[NEEDS[need].column])

    def needs(self, *needs: str) -> None:
        """Raise CannotTell for the first of NEEDS that the trace lacks."""
        for name in needs:
            if not self.has(name):
                need = NEEDS[name]
                raise CannotTell(f"{need.lacking}; {need.nsys if self.format == 'nsys' else need.chrome} brings it")

    def ask(self, name: str, **settings: Setting) -> list[dict[str, Any]]:
        """The rows of traceq/sql/rules/`name`.sql, which gets trace_id, device and `settings`."""
        return ask(self.connection, self.at_hand.quick(statement(f"rules/{name}.sql")), **self.given(settings))

    def ask_of(self, claim: Claim, around: str, /, **settings: Setting) -> list[dict[str, Any]]:
        """The rows of the query `around`, in which rule_instances stands for what the claim's query finds."""
        found = f"({self.at_hand.quick(claim.query)}\n)"
        if claim.number is None:
            found = f"({without_end(claim.query)}\n)"
        elif claim.number == self.at_hand.latest:
            found = self.at_hand.found
        return ask(self.connection, around.replace("rule_instances", found), **claim.values, **settings)

    def ask_of_kept(self, claim: Claim, around: str, /, **settings: Setting) -> list[dict[str, Any]]:
        """The same for a query that needs the columns of judge/kept.sql only."""
        kept = self.at_hand.kept.get(claim.number)
        if kept is None:
            return self.ask_of(claim, around, **settings)
        return ask(self.connection, around.replace("rule_instances", kept), **claim.values, **settings)

    def claim(
        self, name: str, *, low: float = 0.5, likely: float = 1.0, high: float = 1.0, **settings: Setting
    ) -> Claim | None:
        """What traceq/sql/rules/`name`.sql finds on the critical device, or None for nothing.

        `low`, `likely` and `high` are the shares (0..1) of the claimed time that the fix takes away. Where the ledger holds
        less than WORTH_LISTING for all categories that the query names, it is not asked: it could find nothing to list.
        """
        query = statement(f"rules/{name}.sql")
        named = categories(whole(query))
        if named and sum(self.ledger.get(each, 0.0) for each in named) < WORTH_LISTING * self.step_ns:
            return None
        values = self.given({**settings, "low": low, "likely": likely, "high": high})
        number = self.at_hand.find(query, values)
        claim = None if number is None else self._claim(whole(query), self.at_hand.found, values, number)
        if claim is not None and claim.saving_ns >= WORTH_LISTING * self.step_ns:
            self.at_hand.keep()
            self.worst(claim)
        return claim

    def claim_of(self, query: str, *, low: float, likely: float, high: float, **settings: Setting) -> Claim | None:
        """The same for the text of a query, which may be anybody's.

        Raises ValueError when it claims what is not there, or a share is none.
        """
        if not all(0 <= share <= 1 for share in (low, likely, high)):
            raise ValueError(f"low, likely and high are shares from 0 to 1, not {low}, {likely} and {high}")
        values = self.given({**settings, "low": low, "likely": likely, "high": high})
        check(self.connection, query, values)
        return self._claim(query, f"({without_end(query)}\n)", values, None)

    def _claim(self, query: str, found: str, values: Mapping[str, Setting], number: int | None) -> Claim | None:
        row = summary(self.connection, found, values)
        return Claim(query, values, row, summary_text(query, values), number) if row else None

    def worst(self, claim: Claim) -> list[dict[str, Any]]:
        """The largest pieces of a claim, with all columns of the rule's query."""
        if claim.number is None:
            return self.ask_of(claim, instances())
        if claim.number not in self._worst:
            self._worst[claim.number] = self.ask_of(claim, instances())
        return self._worst[claim.number]

    def given(self, settings: Mapping[str, Setting] | None = None) -> dict[str, Setting]:
        """What every query of a rule gets: trace_id, device (-2 for none), and `settings`."""
        return {"trace_id": self.trace_id, "device": -2 if self.device is None else self.device, **(settings or {})}
