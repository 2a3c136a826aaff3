"""The subject of a rule: one trace, its critical device, and the queries on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from traceq.database.query import Setting, ask, without_end
from traceq.database.sql import statement
from traceq.diagnosis.calibrated import shares_of_rule
from traceq.diagnosis.claim import WORST, AskedQuery, Claim, check_pieces, claim_query
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


class Subject(msgspec.Struct, frozen=True):
    """A trace to judge. `device` is the critical device, the one that is busy longest: no step gets shorter than its work.

    `present` counts what the trace holds. `step_ns` is the mean of the `steps` counted
    steps, 0 without any. `place` is the ending of findings' ids. `ledger` is the critical device's, or without a device
    the training thread's (host_ledger): ns per counted step by category; `ledgers` are those of all devices, in ns over
    all counted steps. `device` is None without GPU work. Where idle time is only what the capture left out, or nothing
    was to run, `judges_idle` is False, and `ledger` has no idle categories. `triage`: what the capture is; None for a
    memory snapshot. `is_recording`: traceq itself recorded the trace. `has_compile_log`: a log beside it tells what
    torch.compile did. `record`: how often rules were right.
    """

    connection: duckdb.DuckDBPyConnection
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
    is_recording: bool
    has_compile_log: bool
    program: Program
    triage: Triage | None
    goal: Goal
    present: Mapping[str, int]
    ledger: Mapping[str, float]
    ledgers: Mapping[int, Mapping[str, int]]
    workspace: Workspace
    record: RuleRecord
    _of_claims: dict[tuple[int, str], list[dict[str, Any]]] = msgspec.field(default_factory=dict)
    _culprits: dict[int, Node] = msgspec.field(default_factory=dict)
    _common: dict[int, dict[str, str]] = msgspec.field(default_factory=dict)
    _asked: list[AskedQuery] = msgspec.field(default_factory=list)

    def has(self, need: str) -> bool:
        """Return whether the trace holds the input `need`, a key of NEEDS."""
        return bool(self.present[NEEDS[need].column])

    def needs(self, *needs: str) -> None:
        """Raise CannotTell for the first of these inputs (keys of NEEDS) that the trace lacks."""
        for name in needs:
            if not self.has(name):
                raise self.lacks(NEEDS[name].lacking, name)

    def only_for(self, *kinds: str) -> None:
        """Raise NothingThere unless the program is of one of these kinds ("pytorch", ...), or of an unknown one.

        "training" and "model" demand besides that the program trains, or trains or runs, a model.
        """
        others = set(kinds) - {"training", "model"}
        if others and self.program.kind not in ("", *others):
            raise NothingThere(f"the program is {self.program.name}")
        if "training" in kinds and not self.program.trains:
            raise NothingThere("the program trains no model")
        if "model" in kinds and not self.program.runs_model:
            raise NothingThere("the program runs no model")

    def way(self, name: str, otherwise: str = "") -> str:
        """Return the words that say how the trace's profiler records the input `name`, as Format.way does.

        `otherwise` is returned if that is not known.
        """
        words = self._way(name)
        return otherwise if words is None else words

    def _way(self, name: str) -> str | None:
        """Return the words of Format.way on how the trace's profiler records the input `name`; None if that is not known."""
        return format_of(self.format).way(name, of_pytorch=self.program.may_be_pytorch, of_amd=self.program.is_amd)

    def lacks(self, lacking: str, way: str, brings: str = "brings it") -> CannotTell:
        """Return the error CannotTell for an input that the trace lacks: the words `lacking`, and how to record it.

        `way` is the input's name for Format.way; `brings` ends the sentence on it.
        """
        if way in _OF_DEVICES and self.present.get("unmeasured"):
            return CannotTell(f"{lacking}; traceq does not analyse the device's work in it")
        form = format_of(self.format)
        words = self._way(way)
        if words is None:
            return CannotTell(f"{lacking}; its profiler would have to record it")
        return CannotTell(f"{lacking}; {words} {brings}" if words else f"{lacking}; {form.profiler} does not record it")

    def settings(self, query: RuleQuery) -> dict[str, Setting]:
        """Return the parameters that the header of a query gives, by name: shares, thresholds and settings."""
        return self.workspace.settings(query)

    def thresholds(self, place: str) -> dict[str, float]:
        """Return the thresholds of `place`.sql in traceq/diagnosis/rules/ and the shared queries it uses: values by name."""
        return {name: float(value) for name, value in rule_query(place).limits(self.workspace.scaled).items()}

    def threshold(self, place: str, name: str) -> float:
        """Return the value of the threshold `name` of `place`.sql in traceq/diagnosis/rules/."""
        return self.thresholds(place)[name]

    def ask(self, name: str, **settings: Setting) -> list[dict[str, Any]]:
        """Return the rows of `name`.sql in traceq/diagnosis/rules/.

        Its parameters are trace_id, device, those of its header, and `settings`, which go before the others.
        """
        query = rule_query(name)
        values = {**self.workspace.given(), **self.settings(query), **settings}
        self._asked.append(AskedQuery(query, values, None))
        return self.workspace.ask(query, values)

    def ask_of(self, claim: Claim, name: str, /) -> list[dict[str, Any]]:
        """Return the rows of `name`.sql in traceq/diagnosis/rules/, which reads the pieces of the claim as rule_instances."""
        key = claim.number, name
        query = rule_query(name)
        values = {**self.settings(query), **claim.values}
        self._asked.append(AskedQuery(query, values, claim))
        if key not in self._of_claims:
            if claim.number != self.workspace.latest:
                self.workspace.find(claim.query, claim.values, claim.number)
            self._of_claims[key] = ask(self.connection, query.text, **values)
        return [dict(row) for row in self._of_claims[key]]

    def take_asked(self) -> tuple[AskedQuery, ...]:
        """Return the queries asked since the last call of this."""
        asked = tuple(self._asked)
        self._asked.clear()
        return asked

    def claim(self, name: str, **settings: Setting) -> Claim | None:
        """Claim the time that `name`.sql in traceq/diagnosis/rules/ finds on the critical device; None if it finds none.

        Its parameters are trace_id, device, those of its header, shares fitted for such hardware, and `settings`; later
        ones go first. The query is not run, and the claim is None, where the ledger holds less than WORTH_LISTING of
        the step in all categories that the header names, or where the trace does not fulfil its conditions
        (`only-with`).
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
        """Claim the time that a user's query finds; None if it finds none. `query` may be an SQL text.

        Raises ValueError where it claims time that the ledger does not hold, or a share is not 0..1.
        """
        return self._claim(
            query if isinstance(query, RuleQuery) else RuleQuery(without_end(query)), settings, is_own=False
        )

    def claim_host(self, query: RuleQuery) -> Claim | None:
        """Claim the training thread's time that an internal query (not a rule) finds; None if it finds none."""
        return self._claim(query, {})

    def _claim(self, query: RuleQuery, settings: Mapping[str, Setting], *, is_own: bool = True) -> Claim | None:
        """Run the query and return its claim, None if it finds no time; keep the pieces of a claim that is worth listing.

        The pieces of a query that is not traceq's own are checked against the ledger. Raises ValueError for a share
        that is not 0..1.
        """
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
        rows = ask(self.connection, claim_query(query), **values, **WORST)
        if not rows or not rows[0]["claimed_ns"]:
            return None
        worst, occurrences = rows[0].pop("worst"), rows[0].pop("occurrences")
        claim = Claim(query, values, rows[0], number, worst, occurrences)
        if claim.saving_ns >= WORTH_LISTING * self.step_ns:
            self.workspace.keep()
        return claim

    def culprits(self, claim: Claim) -> Node:
        """Return the tree of host slices in the time of a claim; an empty tree if the claim is too small to be listed."""
        self._find_culprits([claim])
        return self._culprits.get(claim.number) or build_tree([])

    def common(self, claim: Claim) -> Mapping[str, str]:
        """Return the stream and the phase (keys "stream", "phase") that at least half of a claim's time shares, if any."""
        self.locate([claim])
        return self._common.get(claim.number, {})

    def locate(self, claims: Iterable[Claim]) -> None:
        """Find the host slices, stream and phase of these claims, where not known yet, for culprits() and common().

        Asking for several claims at once takes the time of one. Claims too small to be listed are left out.
        """
        wanted = self._find_culprits(claims)
        numbers = [number for number in wanted if number not in self._common]
        if not numbers:
            return
        self._common.update({number: {} for number in numbers})
        where = statement("diagnosis/sql/where.sql")
        for row in ask(self.connection, where, trace_id=self.trace_id, claims=numbers):
            self._common[row["claim"]][row["what"]] = row["value"]

    def _find_culprits(self, claims: Iterable[Claim]) -> list[int]:
        """Find the host slices of these claims, where not known yet; return the numbers of those large enough to be listed."""
        wanted = [claim.number for claim in claims if claim.number in self.workspace.kept]
        numbers = [number for number in wanted if number not in self._culprits]
        if numbers:
            self.workspace.spend(numbers)
            tree = statement("diagnosis/sql/culprit_tree.sql")
            found = ask(self.connection, tree, trace_id=self.trace_id, claims=numbers)
            self._culprits.update({number: build_tree(rows) for number, rows in group_by_claim(found, numbers).items()})
        return wanted
