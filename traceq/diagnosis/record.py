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
    """For each rule, the program and the verdict (right, partly, wrong) of each of its findings in labelled real traces."""

    entries: Mapping[str, tuple[tuple[str, Said], ...]] = msgspec.field(default_factory=dict)

    def without_program(self, program: str) -> RuleRecord:
        """Return the record without findings in traces of the program, so that the program is judged by others only."""
        return RuleRecord(
            {
                rule: tuple(statement for statement in said if statement[0] != program)
                for rule, said in self.entries.items()
            }
        )

    def has_confirmed(self, rule: str) -> bool:
        """Return whether a finding of the rule was right in at least one labelled trace."""
        return any(verdict == "right" for _, verdict in self.entries.get(rule, ()))

    def confidence_of(self, rule: str) -> Confidence:
        """Return the confidence that the rule's record allows for its findings: high, medium or low; low without a record."""
        said = self.entries.get(rule, ())
        true = [program for program, verdict in said if verdict == "right"]
        bound = wilson_low(len(true), len(said))
        for level, demand in _DEMANDS:
            if len(true) >= demand.true and len(set(true)) >= demand.programs and bound >= demand.bound:
                return level
        return "low"

    def describe_rule(self, rule: str) -> str:
        """Return a sentence on how often, and in how many programs, the rule was right on labelled real traces."""
        said = self.entries.get(rule, ())
        if not said:
            return "No labelled trace has shown yet whether this rule is right."
        true = [program for program, verdict in said if verdict == "right"]
        times, programs = some(len(said), "time"), some(len(set(true)), "program")
        return (
            f"On labelled real traces this rule found something {times} and was right "
            f"{some(len(true), 'time')}, in {programs}."
        )


def lowest_confidence(*levels: Confidence) -> Confidence:
    """Return the lowest of several confidences."""
    return min(levels, key=_ORDER.index)


@cache
def load_record() -> RuleRecord:
    """Return the record that comes with traceq, diagnosis/rules/record.json."""
    content = json.loads(package().joinpath("diagnosis/rules/record.json").read_text("utf-8"))
    return RuleRecord(
        {
            rule: tuple((statement["program"], statement["verdict"]) for statement in said)
            for rule, said in content["rules"].items()
        }
    )
