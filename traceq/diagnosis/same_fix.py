"""One cause is one finding: findings that the same fix would win become one, and the smaller ones stand under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from traceq.diagnosis.finding import Finding, Part


def merged(found: Iterable[tuple[str, Finding]]) -> list[Finding]:
    """The findings, of which those with the same fix (the word before each; "" for none of the kind) are one.

    The largest of them speaks for all. Its times and savings are the sums: no piece of the ledger is in two findings.
    """
    groups: dict[str, list[Finding]] = {}
    for number, (fix, finding) in enumerate(found):
        groups.setdefault(fix or f"finding {number}", []).append(finding)
    return [_one(sorted(group, key=lambda each: (-each.saving_ns, each.finding_id))) for group in groups.values()]


def _one(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    step_ns = first.expected_step_ns + first.saving_ns
    saving = sum(each.saving_ns for each in group)
    return replace(
        first,
        claimed_ns=sum(each.claimed_ns for each in group),
        owned_ns=sum(each.owned_ns for each in group),
        saving_ns=saving,
        saving_low_ns=sum(each.saving_low_ns for each in group),
        saving_high_ns=min(sum(each.saving_high_ns for each in group), step_ns),
        only_bounds=any(each.only_bounds for each in group),
        expected_step_ns=step_ns - saving,
        parts=(*(_part(each) for each in others), *(part for each in group for part in each.parts)),
    )


def _part(finding: Finding) -> Part:
    return Part(
        rule=finding.rule,
        finding_id=finding.finding_id,
        title=finding.title,
        saving_ns=finding.saving_ns,
        confidence=finding.confidence,
        fix=finding.fix,
        evidence=finding.summary,
    )
