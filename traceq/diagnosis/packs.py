"""Select the rules to ask of a trace by their packs and its capture, and keep findings of the pack extra beside the others.

Rules without one true finding on a labelled real trace form the pack extra: asked on demand, they change nothing of what the
others say. Rules for hosts are asked where no GPU works.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from traceq.diagnosis.finding import NotApplicable
from traceq.diagnosis.rules.registry import all_rules, default_rules
from traceq.diagnosis.triage import EVERY, JUDGED

if TYPE_CHECKING:
    from traceq.diagnosis.finding import Finding
    from traceq.diagnosis.rules.registry import Rule
    from traceq.diagnosis.triage import Triage


# Fragments of which rules speak as far as they go.
_JUDGED_ALL_THE_SAME = ("cut", "sampled", "no_unit")
_OF_KIND = {
    "host_only": "no GPU worked",
    "one_off": "the work of this program is done once: there is no loop",
    "steps": "the capture holds steps",
    "window": "the capture holds no whole step",
}
_PLACE = re.compile(r"E\d+", re.IGNORECASE)


def is_of_extra(name: str) -> bool:
    """Return whether `name` (E1, a finding's id, or a rule) is of the pack extra: a user who gives it asks for the pack."""
    rule = name.partition("@")[0].partition(":")[0].lower().replace("_", "-")
    return bool(_PLACE.fullmatch(name)) or any(each.is_extra and each.name == rule for each in all_rules())


def rules_for(name: str) -> tuple[Rule, ...]:
    """Return the rules to ask where the finding `name` is wanted: with the pack extra if it is of that."""
    return all_rules() if is_of_extra(name) else default_rules()


def select_rules(rules: Sequence[Rule], *, has_gpu: bool) -> list[Rule]:
    """Return `rules` without those for hosts if a GPU works in the trace."""
    return [rule for rule in rules if not (has_gpu and rule.is_of_host)]


def count_left_out(asked: Sequence[Rule], *, has_gpu: bool) -> int:
    """Return how many rules of the pack extra apply to such a trace but are not among `asked`."""
    names = {rule.name for rule in asked}
    return sum(rule.is_extra and rule.name not in names for rule in select_rules(all_rules(), has_gpu=has_gpu))


def add_extra_parts(findings: Sequence[Finding], together: Sequence[Finding]) -> list[Finding]:
    """Return the findings with parts by rules of the pack extra that are about their time.

    `together` are the findings when rules of all packs share out the time.
    """
    parts = {finding.finding_id: tuple(part for part in finding.parts if part.is_extra) for finding in together}
    return [replace(finding, parts=(*finding.parts, *parts.get(finding.finding_id, ()))) for finding in findings]


def keep_extra(together: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the pack extra among `together`, with only parts by rules of that pack."""
    return [
        replace(finding, parts=tuple(part for part in finding.parts if part.is_extra))
        for finding in together
        if finding.is_extra
    ]


def split_by_capture(triage: Triage | None, rules: Sequence[Rule]) -> tuple[list[Rule], list[NotApplicable]]:
    """Return the rules to ask of a capture of this kind, and the others as not applicable, with the reason."""
    if triage is None:
        return list(rules), []
    asked = [rule for rule in rules if _is_asked_of(rule, triage)]
    why = triage.why_not or _OF_KIND.get(triage.kind, "")
    silent = [NotApplicable(rule.name, rule.manual.title, why) for rule in rules if rule not in asked]
    return asked, silent


def _is_asked_of(rule: Rule, triage: Triage) -> bool:
    """Return whether the rule applies to captures of this kind or reason."""
    if EVERY in rule.captures or triage.reason in rule.captures:
        return True
    if triage.why_not:
        return triage.kind in rule.captures and triage.kind not in JUDGED
    return triage.kind in rule.captures or triage.reason in _JUDGED_ALL_THE_SAME
