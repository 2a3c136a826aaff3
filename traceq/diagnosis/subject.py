"""The subject of a rule: one trace, its critical device, and the queries on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from traceq.database.query import Setting, ask, without_end
from traceq.database.sql import statement
from traceq.diagnosis.calibrated import shares_of_rule
from traceq.diagnosis.claim import WORST, Claim, check_pieces, summary_query
from traceq.diagnosis.culprits import Node, build_tree, group_by_claim
from traceq.diagnosis.needs import NEEDS, CannotTell, NothingThere
from traceq.diagnosis.program import Program
from traceq.diagnosis.query import RuleQuery, Workspace, rule_query
from traceq.diagnosis.record import RuleRecord
from traceq.diagnosis.triage import Triage
from traceq.formats.capabilities import format_of

if TYPE_CHECKING:
    import duckdb

Goal = Literal["throughput", "latency"]

# What would win less of the step is counted, not listed.
WORTH_LISTING = 0.01


# What profilers record of GPUs: no option brings it of another device.
_OF_DEVICES = frozenset(
    {
        "gpu",
        "launches",
        "calls",
        "host_alone",
        "synchronizations",
        "copy_memory",
        "kernel_geometry",
        "occupancy",
        "peaks",
    }
)


@dataclass(frozen=True)
class Subject:
    """A trace to judge. `device` is the one that is busy longest: a step cannot get shorter than that.

    `present` counts what the trace holds (diagnosis/sql/present.sql); `step_ns` is the mean of the counted steps; `place`
    completes the ids of findings. `ledger` is that of the device, without one the training thread's (host_ledger): ns per
    counted step by category; `ledgers` are those of all devices, in ns of all counted steps. `device` is None, and `step_ns`
    0, where there is none. Where idle time is only what the capture left out, or nothing was to run, `judges_idle` is False, and
    `ledger` has no idle categories. `triage`: what the capture is; None for a memory snapshot. `record`: how often rules
    were right.
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
    is_window: bool
    judges_idle: bool
    program: Program
    triage: Triage | None
    goal: Goal
    present: Mapping[str, int] = field(repr=False)
    ledger: Mapping[str, float] = field(repr=False)
    ledgers: Mapping[int, Mapping[str, int]] = field(repr=False)
    workspace: Workspace = field(repr=False)
    record: RuleRecord = field(repr=False)
    _worst: dict[int, list[dict[str, Any]]] = field(default_factory=dict, repr=False)
    _occurrences: dict[int, int] = field(default_factory=dict, repr=False)
    _culprits: dict[int, Node] = field(default_factory=dict, repr=False)
    _common: dict[int, dict[str, str]] = field(default_factory=dict, repr=False)

    def has(self, need: str) -> bool:
        """Return whether the trace holds an input of NEEDS."""
        return bool(self.present[NEEDS[need].column])

    def needs(self, *needs: str) -> None:
        """Raise CannotTell for the first of NEEDS that the trace lacks."""
        for name in needs:
            if not self.has(name):
                raise self.lacks(NEEDS[name].lacking, name)

    def only_for(self, *kinds: str) -> None:
        """Raise NothingThere for a program that is known to be of none of these kinds.

        "training" stands for all that train, "model" for all that train or run a model.
        """
        others = set(kinds) - {"training", "model"}
        if others and self.program.kind not in ("", *others):
            raise NothingThere(f"the program is {self.program.name}")
        if "training" in kinds and not self.program.trains:
            raise NothingThere("the program trains no model")
        if "model" in kinds and not self.program.runs_model:
            raise NothingThere("the program runs no model")

    def way(self, name: str, otherwise: str = "") -> str:
        """Return the words of Format.way for what the trace's profiler has to record; `otherwise` if it is not known."""
        words = self._way(name)
        return otherwise if words is None else words

    def _way(self, name: str) -> str | None:
        return format_of(self.format).way(name, of_pytorch=self.program.may_be_pytorch, of_amd=self.program.is_amd)

    def lacks(self, lacking: str, way: str, brings: str = "brings it") -> CannotTell:
        """Return the error for an input that is lacking, with what brings it."""
        if way in _OF_DEVICES and self.present.get("unmeasured"):
            return CannotTell(f"{lacking}; traceq measures no work of the device in it")
        form = format_of(self.format)
        words = self._way(way)
        if words is None:
            return CannotTell(f"{lacking}; its profiler would have to record it")
        return CannotTell(f"{lacking}; {words} {brings}" if words else f"{lacking}; {form.profiler} does not record it")

    def settings(self, query: RuleQuery) -> dict[str, Setting]:
        """Return the parameters that the header of a query gives: shares, thresholds and words."""
        return self.workspace.settings(query)

    def thresholds(self, place: str) -> dict[str, float]:
        """Return the thresholds in the header of `place`.sql in traceq/diagnosis/rules/, by name."""
        return {name: float(value) for name, value in rule_query(place).limits(self.workspace.scaled).items()}

    def threshold(self, place: str, name: str) -> float:
        """Return the threshold `name` in the header of `place`.sql in traceq/diagnosis/rules/."""
        return self.thresholds(place)[name]

    def ask(self, name: str, **settings: Setting) -> list[dict[str, Any]]:
        """Return the rows of `name`.sql in traceq/diagnosis/rules/, which gets trace_id, device and `settings`."""
        query = rule_query(name)
        return self.workspace.ask(query, {**self.workspace.given(), **self.settings(query), **settings})

    def ask_of(self, claim: Claim, name: str, /) -> list[dict[str, Any]]:
        """Return the rows of `name`.sql in traceq/diagnosis/rules/, in which rule_instances are the pieces of the claim."""
        query = rule_query(name)
        return self._ask_of(claim, query.text, self.settings(query))

    def _ask_of(self, claim: Claim, around: str, settings: Mapping[str, Setting]) -> list[dict[str, Any]]:
        if claim.number != self.workspace.latest:
            self.workspace.find(claim.query, claim.values, claim.number)
        return ask(self.connection, around, **{**settings, **claim.values})

    def claim(self, name: str, **settings: Setting) -> Claim | None:
        """Claim the time that `name`.sql in traceq/diagnosis/rules/ finds on the critical device; None for nothing.

        It gets trace_id, device, the shares that are fitted for such hardware, and the settings of its header, unless `settings`
        has others. Where the ledger holds less than
        WORTH_LISTING for all categories that the header names, it is not asked: it could find nothing to list. Nor is it where
        the trace lacks what it finds nothing without (`only-with`).
        """
        query = rule_query(name)
        categories = query.listed("categories")
        if categories and sum(self.ledger.get(category, 0.0) for category in categories) < WORTH_LISTING * self.step_ns:
            return None
        if not self.workspace.may_find(query):
            return None
        return self._claim(
            query, shares_of_rule(name.replace("_", "-"), "cpu" if self.device is None else "gpu") | settings
        )

    def claim_of(self, query: RuleQuery | str, **settings: Setting) -> Claim | None:
        """Claim the time that a query of anybody finds, given as a Query or as text; None for nothing.

        Raises ValueError when it claims what is not there, or a share is none.
        """
        return self._claim(
            query if isinstance(query, RuleQuery) else RuleQuery(without_end(query)), settings, is_own=False
        )

    def claim_host(self, query: RuleQuery) -> Claim | None:
        """Claim the training thread's time that an internal query (not a rule) finds; None for nothing."""
        return self._claim(query, {})

    def _claim(self, query: RuleQuery, settings: Mapping[str, Setting], *, is_own: bool = True) -> Claim | None:
        values = {**self.workspace.given(), **self.settings(query), **settings}
        if not all(0 <= float(values[share]) <= 1 for share in ("low", "likely", "high")):
            raise ValueError(
                f"low, likely and high are shares from 0 to 1, not {values['low']}, {values['likely']} and {values['high']}"
            )
        number = self.workspace.find(query, values)
        if number is None:
            return None
        if not is_own:
            check_pieces(self.connection, values)
        rows = ask(self.connection, summary_query(query), **values)
        if not rows or not rows[0]["claimed_ns"]:
            return None
        claim = Claim(query, values, rows[0], number)
        if claim.saving_ns >= WORTH_LISTING * self.step_ns:
            self.workspace.keep()
            self.worst(claim)
            self.occurrences(claim)
        return claim

    def worst(self, claim: Claim) -> list[dict[str, Any]]:
        """Return the largest pieces of a claim, with all columns of the rule's query."""
        if claim.number not in self._worst:
            self._worst[claim.number] = self._ask_of(claim, statement("diagnosis/sql/instances.sql"), WORST)
        return self._worst[claim.number]

    def occurrences(self, claim: Claim) -> int:
        """Return how many slices a claim is on: several of its pieces may be of one."""
        if claim.number not in self._occurrences:
            (found,) = self._ask_of(claim, statement("diagnosis/sql/occurrences.sql"), {})
            self._occurrences[claim.number] = int(found["occurrences"])
        return self._occurrences[claim.number]

    def culprits(self, claim: Claim) -> Node:
        """Return the host slices in the time of a claim as a tree; an empty one if the claim is too small to be listed."""
        self.locate([claim])
        return self._culprits.get(claim.number) or build_tree([])

    def common(self, claim: Claim) -> Mapping[str, str]:
        """Return the stream and the phase that at least half of a claim's time has in common, if any."""
        self.locate([claim])
        return self._common.get(claim.number, {})

    def locate(self, claims: Iterable[Claim]) -> None:
        """Find where the time of claims was spent, if it is not known yet: of several at once in the time of one."""
        numbers = [claim.number for claim in claims if claim.number in self.workspace.kept - self._culprits.keys()]
        if not numbers:
            return
        self.workspace.spend(numbers)
        tree, where = (statement(f"diagnosis/sql/{name}.sql") for name in ("culprit_tree", "where"))
        found = ask(self.connection, tree, trace_id=self.trace_id, claims=numbers)
        self._culprits.update({number: build_tree(rows) for number, rows in group_by_claim(found, numbers).items()})
        self._common.update({number: {} for number in numbers})
        for row in ask(self.connection, where, trace_id=self.trace_id, claims=numbers):
            self._common[row["claim"]][row["what"]] = row["value"]
