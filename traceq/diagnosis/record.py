"""The record of rules on real traces, by which their findings are called sure.

tests/truth/record.py writes diagnosis/rules/record.json from the labelled traces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from math import sqrt
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from traceq.common.units import some
from traceq.database.sql import package
from traceq.diagnosis.finding import Confidence

Said = Literal["right", "partly", "wrong"]

# The pack of rules of which no trace of the record has shown that they are right.
EXTRA = "extra"

# One-sided 80 %.
_Z = 0.8416


class Demand(NamedTuple):
    """The demands of a confidence on a rule's record: right findings, their programs, and a share (0..1) of right ones.

    The share is compared with Wilson's lower bound.
    """

    true: int
    programs: int
    bound: float


_DEMANDS: tuple[tuple[Confidence, Demand], ...] = (("high", Demand(5, 3, 0.8)), ("medium", Demand(3, 2, 0.6)))
_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


def wilson_low(true: int, said: int) -> float:
    """Return Wilson's lower bound (one-sided, 80 %) of the share (0..1) of right findings, if `true` of `said` were right.

    0 if `said` is 0.
    """
    if not said:
        return 0.0
    share, z2 = true / said, _Z * _Z
    return (share + z2 / (2 * said) - _Z * sqrt((share * (1 - share) + z2 / (4 * said)) / said)) / (1 + z2 / said)


class RuleRecord(msgspec.Struct, frozen=True):
    """For each rule, the program and the verdict (right, partly, wrong) of each of its findings in labelled real traces.

    `pairs` has those in recordings of programs that were measured before and after a fix, by traceq itself. They say how
    far a rule can be trusted in such recordings, and count where `counts_pairs`.
    """

    entries: Mapping[str, tuple[tuple[str, Said], ...]] = msgspec.field(default_factory=dict)
    pairs: Mapping[str, tuple[tuple[str, Said], ...]] = msgspec.field(default_factory=dict)
    counts_pairs: bool = False

    def without_program(self, program: str) -> RuleRecord:
        """Return the record without findings in traces of the program, so that the program is judged by others only."""
        return replace(
            self, entries=_without_program(self.entries, program), pairs=_without_program(self.pairs, program)
        )

    def for_recordings(self) -> RuleRecord:
        """Return the record by which recordings of traceq are judged: with pairs."""
        return replace(self, counts_pairs=True)

    def has_confirmed(self, rule: str) -> bool:
        """Return whether a finding of the rule was right in at least one labelled trace."""
        return any(verdict == "right" for _, verdict in self.entries.get(rule, ()))

    def is_confirmed_by_pairs(self, rule: str) -> bool:
        """Return whether a prediction of the rule came true in at least one pair."""
        return any(verdict == "right" for _, verdict in self.pairs.get(rule, ()))

    def confidence_of(self, rule: str) -> Confidence:
        """Return the confidence that the rule's record allows for its findings: high, medium or low; low without a record.

        Pairs allow medium at most: their programs are small, and were written for their flaws.
        """
        level = _confidence_by(self.entries.get(rule, ()))
        if level == "high" or not self.counts_pairs:
            return level
        both = _confidence_by((*self.entries.get(rule, ()), *self.pairs.get(rule, ())))
        return "low" if both == "low" else "medium"

    def describe_rule(self, rule: str) -> str:
        """Return sentences on how often, and in how many programs, the rule was right on labelled real traces, and in pairs."""
        said = self.entries.get(rule, ())
        known = "No labelled trace has shown yet whether this rule is right."
        if said:
            known = (
                f"On labelled real traces this rule found something {some(len(said), 'time')} and was right "
                f"{some(_count_right(said), 'time')}, in {some(len(_right_programs(said)), 'program')}."
            )
        if not self.counts_pairs or not (pairs := self.pairs.get(rule, ())):
            return known
        return (
            f"{known} In recordings of {some(len(pairs), 'program')} that were run before and after a fix, its prediction "
            f"came true {some(_count_right(pairs), 'time')}."
        )


_Statements = tuple[tuple[str, Said], ...]


def _without_program(entries: Mapping[str, _Statements], program: str) -> dict[str, _Statements]:
    return {rule: tuple(entry for entry in said if entry[0] != program) for rule, said in entries.items()}


def _right_programs(said: _Statements) -> set[str]:
    return {program for program, verdict in said if verdict == "right"}


def _count_right(said: _Statements) -> int:
    return sum(verdict == "right" for _, verdict in said)


def _confidence_by(said: _Statements) -> Confidence:
    """Return the highest confidence whose demands these statements meet; low if none."""
    true, bound = _count_right(said), wilson_low(_count_right(said), len(said))
    for level, demand in _DEMANDS:
        if true >= demand.true and len(_right_programs(said)) >= demand.programs and bound >= demand.bound:
            return level
    return "low"


def lowest_confidence(*levels: Confidence) -> Confidence:
    """Return the lowest of several confidences."""
    return min(levels, key=_ORDER.index)


@cache
def load_record() -> RuleRecord:
    """Return the record that comes with traceq, diagnosis/rules/record.json."""
    content = json.loads(package().joinpath("diagnosis/rules/record.json").read_text("utf-8"))
    entries, pairs = (
        {rule: tuple((entry["program"], entry["verdict"]) for entry in said) for rule, said in content[part].items()}
        for part in ("rules", "pairs")
    )
    return RuleRecord(entries, pairs)
