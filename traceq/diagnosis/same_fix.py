"""One cause is one finding: findings that the same fix would win become one, and the smaller ones stand under it.

So do findings that a much larger cause may have made. While a thread that launches stands still for half of the step, what is
left of slow Python or input cannot be told from shorter stretches of the same; and where the GPU runs dry for want of input or
because a call held the host, the host is late afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from traceq.diagnosis.finding import Finding, Part


def merge_same_fix(found: Iterable[tuple[str, Finding]]) -> list[Finding]:
    """Return the findings, those with the same fix merged into one: the largest, with the others as its parts.

    Before each finding stands the word for its fix; "" for a fix of its own. Savings and owned time are sums, as no
    piece of the ledger is in two findings; claimed time is the largest, as claims may be on the same time.
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
    """Return the findings, where one under a tenth of a finding that may have caused it is a part of that one.

    `larger` names for a rule the rules of its possible causes. A part adds to the highest saving of its cause, and to
    nothing else.
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
    """Return the finding with `small` and their parts as its parts, and with their highest savings added to its own."""
    if not small:
        return finding
    step_ns = finding.expected_step_ns + finding.saving_ns
    return replace(
        finding,
        saving_high_ns=min(finding.saving_high_ns + sum(each.saving_high_ns for each in small), step_ns),
        parts=(*finding.parts, *(_part_of(each) for each in small), *(part for each in small for part in each.parts)),
    )


def _merge_group(group: list[Finding]) -> Finding:
    """Merge findings with the same fix, the largest first, into that one; the others and all their parts become its parts."""
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
    """Return the sum of the times for each category, over all mappings."""
    added: dict[str, float] = {}
    for mapping in times:
        for category, ns in mapping.items():
            added[category] = added.get(category, 0.0) + ns
    return added


def _part_of(finding: Finding) -> Part:
    """Return the finding as a part of another one."""
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
