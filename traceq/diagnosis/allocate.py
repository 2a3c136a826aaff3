"""Serves the claims of rules: no piece of the ledger is counted twice, and who comes late is shown under who came first."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

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


class SavedShares(NamedTuple):
    """Shares (0..1) of a claim's low, likely and high saving that come from the part of the claimed time that it owns."""

    low: float
    likely: float
    high: float


class Allocated(msgspec.Struct, frozen=True):
    """Advice with the part of its claimed time that it owns, after all claims are served.

    `share` (0..1) is the owned part of the claimed time, and `owned` that time by category of the ledger, ns over the
    counted steps. `goes` are the shares of the savings; they differ from `share` where pieces owned by others have
    larger or smaller savings. `parts` is other advice, of which most of the time belongs to this one.
    """

    proposal: Proposal
    share: float
    goes: SavedShares
    owned: Mapping[str, float]
    parts: list[Proposal] = msgspec.field(default_factory=list)

    @property
    def saving_ns(self) -> float:
        """The likely saving of the owned part, ns per counted step."""
        return self.proposal.advice.claim.saving_ns * self.goes.likely


def allocate(
    subject: Subject, proposals: Sequence[Proposal], held: Mapping[str, float], least: float = 0.0
) -> list[Allocated]:
    """Serve the claims of `proposals` in this order: each gets the time that none before it owns.

    Return the advice that owns enough to save at least `least` ns per step, in the order of `proposals`; advice that
    saves less gives its time back for others to claim. `held` is the time in each category of the ledger over the
    counted steps, ns. Makes the temp table owned_piece.
    """
    if not proposals:
        subject.workspace.make_table("owned_piece", statement("diagnosis/account/nothing_owned.sql"), {})
        return []
    connection = subject.connection
    claims = [
        {"number": number, "claim": claim.number, "is_down_to_limit": claim.is_down_to_limit}
        for number, claim in enumerate(each.advice.claim for each in proposals)
    ]
    run(connection, "diagnosis/sql/ordered_claim.sql", claims=json.dumps(claims))
    try:
        while True:
            allocated = _attach_parts(proposals, *_share_out(subject, held))
            smallest = min(allocated, key=lambda number: (allocated[number].saving_ns, -number), default=None)
            if smallest is None or allocated[smallest].saving_ns >= least:
                subject.workspace.make_table("owned_piece", statement("diagnosis/sql/owned_piece.sql"), {})
                return list(allocated.values())
            connection.execute("delete from ordered_claim where claim = ?", [smallest])
    finally:
        connection.execute("drop table ordered_claim")


def _attach_parts(
    proposals: Sequence[Proposal],
    owned: Mapping[int, Mapping[str, float]],
    first: dict[int, dict[int, float]],
    going: Mapping[int, Mapping[str, float]],
) -> dict[int, Allocated]:
    """Return by claim number the advice that stands for itself; other advice becomes a part of the finding that owns it.

    It stands for itself where it owns at least half of its claimed time, shares none, or claims the rest of a category.
    The mappings are those of _share_out.
    """
    allocated: dict[int, Allocated] = {}
    for number in sorted(first):
        each = proposals[number]
        claimed = sum(first[number].values())
        share = sum(owned[number].values()) / claimed if claimed else 0.0
        if share >= 1 - _MOST_TAKEN or first[number].keys() == {number} or each.advice.is_rest:
            allocated[number] = Allocated(each, share, _saved_shares(going[number], share), owned[number])
        else:
            owner = _find_owner(first, number)
            while owner not in allocated:
                owner = _find_owner(first, owner)
            allocated[owner].parts.append(each)
    return allocated


def _saved_shares(going: Mapping[str, float], share: float) -> SavedShares:
    """Return the shares (0..1) of a claim's low, likely and high saving in its owned part; `share` where a saving is 0."""
    of = {name: (going[f"owned_{name}"], going[f"claimed_{name}"]) for name in SavedShares._fields}
    return SavedShares(
        **{name: min(max(owned / claimed, 0.0), 1.0) if claimed else share for name, (owned, claimed) in of.items()}
    )


def _find_owner(first: dict[int, dict[int, float]], number: int) -> int:
    """Return the number of the other claim that was first on most of the claimed time of claim `number`."""
    others = {other: ns for other, ns in first[number].items() if other != number}
    return max(others, key=lambda other: (others[other], -other))


def _share_out(
    subject: Subject, held: Mapping[str, float]
) -> tuple[dict[int, dict[str, float]], dict[int, dict[int, float]], dict[int, dict[str, float]]]:
    """Return by claim number: owned time by category, claimed time by the claim that was first on it, and savings.

    All are in ns over the counted steps. Savings have the keys claimed_X and owned_X, where X is low, likely or high.
    No category gets more than `held` of it: work launched in a counted step may run after it, and this excess belongs
    to no claim.
    """
    left = dict(held)
    owned: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    first: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    going: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in ask(subject.connection, statement("diagnosis/sql/owned.sql")):
        gets = min(row["owned"], left.get(row["cause"], 0.0))
        left[row["cause"]] = left.get(row["cause"], 0.0) - gets
        owned[row["claim"]][row["cause"]] += gets
        first[row["claim"]][row["first_claim"]] += row["claimed"]
        for name in SavedShares._fields:
            going[row["claim"]][f"claimed_{name}"] += row[f"claimed_{name}"]
            going[row["claim"]][f"owned_{name}"] += row[f"owned_{name}"] * (
                gets / row["owned"] if row["owned"] else 0.0
            )
    return owned, first, going
