"""One cause is one finding: findings that the same fix would win become one, and the smaller ones stand under it.

So do findings that a much larger cause may have made. While a thread that launches stands still for half of the step, what is
left of slow Python or input cannot be told from shorter stretches of the same; and where the GPU runs dry for want of input or
because a call held the host, the host is late afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from traceq.diagnosis.finding import Finding, Part


def merge_same_fix(found: Iterable[tuple[str, Finding]]) -> list[Finding]:
    """Merge findings with the same fix: the word before each; "" for a fix of its own.

    The largest of them speaks for all. Its savings, and what it owns, are the sums: no piece of the ledger is in two findings.
    What they lay claim to may be the same time.
    """
    groups: dict[str, list[Finding]] = {}
    for number, (fix, finding) in enumerate(found):
        groups.setdefault(fix or f"finding {number}", []).append(finding)
    return [
        _merge_group(sorted(group, key=lambda each: (-each.saving_ns, each.finding_id))) for group in groups.values()
    ]


# A finding smaller than this share of the cause that may have made it is not told apart from it.
_LITTLE = 0.1


def attach_small_effects(findings: Sequence[Finding], larger: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Make each finding that is a tenth or less of one by a rule that `larger` names for it a part of that one.

    Parts add to what may be won at most, and to nothing else.
    """
    under: dict[str, list[Finding]] = {}
    for small in sorted(findings, key=lambda finding: (-finding.saving_ns, finding.finding_id)):
        causes = larger.get(small.rule, ())
        makers = [
            other.finding_id
            for other in findings
            if other.rule in causes and small.saving_ns < _LITTLE * other.saving_ns and other.finding_id in under
        ]
        if makers:
            under[makers[0]].append(small)
        else:
            under[small.finding_id] = []
    return [_attach_findings(finding, under[finding.finding_id]) for finding in findings if finding.finding_id in under]


def _attach_findings(finding: Finding, small: Sequence[Finding]) -> Finding:
    if not small:
        return finding
    step_ns = finding.expected_step_ns + finding.saving_ns
    return replace(
        finding,
        saving_high_ns=min(finding.saving_high_ns + sum(each.saving_high_ns for each in small), step_ns),
        parts=(*finding.parts, *(_part_of(each) for each in small), *(part for each in small for part in each.parts)),
    )


def _merge_group(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    step_ns = first.expected_step_ns + first.saving_ns
    saving = sum(finding.saving_ns for finding in group)
    owned = sum(finding.owned_ns for finding in group)
    return replace(
        first,
        claimed_ns=max(owned, *(finding.claimed_ns for finding in group)),
        owned_ns=owned,
        saving_ns=saving,
        saving_low_ns=sum(finding.saving_low_ns for finding in group),
        saving_high_ns=min(sum(finding.saving_high_ns for finding in group), step_ns),
        only_bounds=any(finding.only_bounds for finding in group),
        assumed_share=sum(finding.assumed_share * finding.owned_ns for finding in group) / owned
        if owned
        else first.assumed_share,
        rule_share=first.rule_share if len({finding.rule_share for finding in group}) == 1 else None,
        expected_step_ns=step_ns - saving,
        parts=(*(_part_of(finding) for finding in others), *(part for finding in group for part in finding.parts)),
        owned_by_category=_sum_times(finding.owned_by_category for finding in group),
    )


def _sum_times(times: Iterable[Mapping[str, float]]) -> dict[str, float]:
    added: dict[str, float] = {}
    for mapping in times:
        for category, ns in mapping.items():
            added[category] = added.get(category, 0.0) + ns
    return added


def _part_of(finding: Finding) -> Part:
    return Part(
        rule=finding.rule,
        finding_id=finding.finding_id,
        title=finding.title,
        saving_ns=finding.saving_ns,
        confidence=finding.confidence,
        fix=finding.fix,
        evidence=finding.summary,
        is_extra=finding.is_extra,
    )
