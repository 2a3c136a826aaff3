"""Bound findings of one rank by what the job wins when that rank is like the usual one, or by the usual work that they own.

Where ranks wait for others, most of a rank's step is theirs: a shorter own time of one rank only lets it wait longer. Usual work
is done by all: a change of the program takes it from every rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from traceq.common.units import duration
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.finding import NotApplicable
from traceq.diagnosis.subject import WORTH_LISTING

if TYPE_CHECKING:
    from traceq.diagnosis.finding import Finding
    from traceq.diagnosis.rules.registry import Rule
    from traceq.diagnosis.subject import Subject

_OF_OTHERS = ("communication", "idle_communication")

# These say of one rank what the job's own rules say of all (traceq/diagnosis/job/), and are not asked beside them.
LEFT_TO_JOB = ("late-rank", "rank-imbalance", "waiting-not-network")
WHY_LEFT = "the ranks are judged together: see the findings of the job"


class JobBound(msgspec.Struct, frozen=True):
    """Bounds of a rank's savings for its job, all in ns per step.

    `win` is the job's saving if the rank were like the usual rank, `late` how much later than the usual rank it is,
    `transfer` its time in transfers of collectives.
    """

    win: float
    late: float
    transfer: float

    def of(self, finding: Finding) -> float:
        """Return the most that the finding, of this rank, saves for the job, ns per step.

        It is the larger of `win` and the finding's own work without `late`, as all ranks have that; a finding on
        communication only has its time in transfers in place of own work.
        """
        own = sum(ns for category, ns in finding.owned_by_category.items() if category not in _OF_OTHERS)
        as_usual = max(own - self.late, 0.0) if own else min(finding.owned_ns, self.transfer)
        return max(self.win, as_usual)


def leave_to_job(subject: Subject, rules: Sequence[Rule]) -> tuple[Sequence[Rule], list[NotApplicable]]:
    """Return the rules to ask of the trace, and as not applicable those that rules of jobs replace.

    Nothing is replaced where the trace's job was not judged.
    """
    if not ask(subject.connection, statement("diagnosis/sql/judged_job.sql"), trace_id=subject.trace_id):
        return rules, []
    left = [rule for rule in rules if rule.name in LEFT_TO_JOB]
    asked = [rule for rule in rules if rule.name not in LEFT_TO_JOB]
    return asked, [NotApplicable(rule.name, rule.manual.title, WHY_LEFT) for rule in left]


def bound_by_job(subject: Subject, findings: Sequence[Finding]) -> list[Finding]:
    """Return the rank's findings with savings lowered to what its job saves, without those then under 1 % of a step.

    They stay as they are where the trace is of no judged job.
    """
    bound = _read_bound(subject)
    if bound is None:
        return list(findings)
    bounded = [_bound_finding(finding, bound.of(finding), subject.step_ns) for finding in findings]
    return [finding for finding in bounded if finding.saving_ns >= WORTH_LISTING * subject.step_ns]


def _read_bound(subject: Subject) -> JobBound | None:
    """Return what bounds the savings of the trace's rank for its job; None without a GPU or a judged job."""
    if subject.device is None:
        return None
    query = statement("diagnosis/sql/job_bound.sql")
    found = ask(subject.connection, query, trace_id=subject.trace_id, device=subject.device)
    return JobBound(**found[0]) if found else None


def _bound_finding(finding: Finding, most: float, step_ns: float) -> Finding:
    """Return the finding with savings of at most `most` ns per step; where the likely one is lowered, its reason says so."""
    if finding.saving_ns <= most:
        return replace(finding, saving_high_ns=max(finding.saving_ns, min(finding.saving_high_ns, most)))
    told = (
        f"On its own this rank would save {duration(finding.saving_ns)}, but it waits for others, so the job "
        f"saves {duration(most)}."
    )
    return replace(
        finding,
        saving_ns=most,
        saving_low_ns=min(finding.saving_low_ns, most),
        saving_high_ns=most,
        expected_step_ns=step_ns - most,
        confidence_reason=f"{finding.confidence_reason} {told}",
    )
