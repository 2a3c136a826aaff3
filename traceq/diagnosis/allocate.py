"""Serves the claims of rules: no piece of the ledger is counted twice, and who comes late is shown under who came first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from traceq.database.query import ask
from traceq.database.sql import run, statement
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Subject

# A claim of which others own more than this is a part of the finding that owns most of it.
_MOST_TAKEN = 0.5


class Proposal(NamedTuple):
    """Advice and the rule that gives it."""

    rule: Rule
    advice: Advice


@dataclass(frozen=True)
class Allocated:
    """Advice with the share (0..1) of its claim that it owns, and what others say of time that it owns."""

    said: Proposal
    share: float
    parts: list[Proposal] = field(default_factory=list)

    @property
    def saving_ns(self) -> float:
        """What a fix would likely win of the owned part, ns per counted step."""
        return self.said.advice.claim.saving_ns * self.share


def allocate(
    subject: Subject, said: Sequence[Proposal], held: Mapping[str, float], least: float = 0.0
) -> list[Allocated]:
    """The advice that wins at least `least` (ns per step) of what it owns, in the order given, which is that of service.

    `held` is what there is of each category of the ledger over the counted steps. Who wins less gives back what it owns:
    time that stands under nobody is there for others to claim.
    """
    connection = subject.connection
    _number_claims(subject, said)
    try:
        while True:
            served = _allocated(said, *_share_out(subject, held))
            smallest = min(served, key=lambda number: (served[number].saving_ns, -number), default=None)
            if smallest is None or served[smallest].saving_ns >= least:
                return list(served.values())
            connection.execute("delete from ordered_claim where claim = ?", [smallest])
    finally:
        connection.execute("drop table ordered_claim")


def _allocated(
    said: Sequence[Proposal], owned: Mapping[int, float], first: dict[int, dict[int, float]]
) -> dict[int, Allocated]:
    served: dict[int, Allocated] = {}
    for number in sorted(first):
        each = said[number]
        claimed = sum(first[number].values())
        share = owned[number] / claimed if claimed else 0.0
        others = {other: ns for other, ns in first[number].items() if other != number}
        if share >= 1 - _MOST_TAKEN or not others or each.advice.is_rest:
            served[number] = Allocated(each, share)
        else:
            owner = max(others, key=lambda other: (others[other], -other))
            _parent(served, first, owner).parts.append(each)
    return served


def _parent(served: dict[int, Allocated], first: dict[int, dict[int, float]], owner: int) -> Allocated:
    """The finding that shows what `owner` owns: itself, or the one under which it stands."""
    while owner not in served:
        others = {other: ns for other, ns in first[owner].items() if other != owner}
        owner = max(others, key=lambda other: (others[other], -other))
    return served[owner]


def _number_claims(subject: Subject, said: Sequence[Proposal]) -> None:
    run(subject.connection, "diagnosis/sql/ordered_claim.sql")
    for number, each in enumerate(said):
        run(subject.connection, "diagnosis/sql/insert_ordered_claim.sql", number=number, claim=each.advice.claim.number)


def _share_out(subject: Subject, held: Mapping[str, float]) -> tuple[dict[int, float], dict[int, dict[int, float]]]:
    """Per claim what it owns, and by who was first on them its pieces' claimed time, ns.

    Work that was launched in a counted step may run after it, so that pieces add up to more than the ledger holds; what is
    more belongs to nobody.
    """
    left = dict(held)
    owned: dict[int, float] = defaultdict(float)
    first: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in ask(subject.connection, statement("diagnosis/sql/owned.sql")):
        gets = min(row["owned"], left.get(row["cause"], 0.0))
        left[row["cause"]] = left.get(row["cause"], 0.0) - gets
        owned[row["claim"]] += gets
        first[row["claim"]][row["first_claim"]] += row["claimed"]
    return owned, first
