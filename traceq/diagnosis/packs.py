"""Select the rules to ask of a trace by their packs and its capture, and keep findings of the pack extra beside the others.

Rules without one true finding on a labelled real trace form the pack extra: asked on demand, they change nothing of what the
others say. Rules for hosts are asked where no GPU works.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

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
    "one_off": "this program does its work once: there is no loop",
    "steps": "the capture contains steps",
    "window": "the capture contains no complete step",
}
_PLACE = re.compile(r"E\d+", re.IGNORECASE)


def is_of_extra(name: str) -> bool:
    """Return whether `name` (a place such as E1, a finding's id, or a rule) is of the pack extra, asked on demand only."""
    rule = name.partition("@")[0].partition(":")[0].lower().replace("_", "-")
    return bool(_PLACE.fullmatch(name)) or any(each.is_extra and each.name == rule for each in all_rules())


def rules_for(name: str) -> tuple[Rule, ...]:
    """Return the rules to ask where the finding `name` is wanted: all for one of the pack extra, else the default rules."""
    return all_rules() if is_of_extra(name) else default_rules()


def select_rules(
    rules: Sequence[Rule], *, has_gpu: bool, is_recording: bool = False, has_compile_log: bool = False
) -> list[Rule]:
    """Return the rules to ask of a trace, where traceq's default rules are among `rules`, or else these.

    Where a GPU works, rules that are for hosts only are left out. Of a recording of traceq rules that pairs have confirmed
    are asked, too, and are then not of the pack extra; so are those about torch.compile where its log is beside the trace.
    """
    chosen = list(rules)
    if (is_recording or has_compile_log) and {rule.name for rule in default_rules()} <= {rule.name for rule in rules}:
        own = {rule.name for rule in all_rules()}
        asked = {rule.name for rule in rules}
        chosen = [rule for rule in rules if rule.name not in own]
        backed = {
            rule.name
            for rule in all_rules()
            if (is_recording and rule.is_for_recordings) or (has_compile_log and rule.is_for_compile_logs)
        }
        chosen += [
            rule._replace(is_extra=rule.is_extra and rule.name not in backed)
            for rule in all_rules()
            if rule.name in asked or rule.name in backed
        ]
    return [rule for rule in chosen if not (has_gpu and rule.is_of_host)]


def count_left_out(asked: Sequence[Rule], *, has_gpu: bool) -> int:
    """Return how many rules of the pack extra apply to a trace with or without a GPU, but are not among `asked`.

    `asked` is what select_rules returned.
    """
    names = {rule.name for rule in asked}
    return sum(rule.is_extra and rule.name not in names for rule in select_rules(all_rules(), has_gpu=has_gpu))


def add_extra_parts(findings: Sequence[Finding], together: Sequence[Finding]) -> list[Finding]:
    """Return the findings, each with the parts added that rules of the pack extra say of its time.

    These are the parts of the findings of the same id in `together`, which come out when rules of all packs share out
    the time.
    """
    parts = {finding.finding_id: tuple(part for part in finding.parts if part.is_extra) for finding in together}
    return [replace(finding, parts=(*finding.parts, *parts.get(finding.finding_id, ()))) for finding in findings]


def keep_extra(together: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the pack extra among `together`, and of their parts only those by rules of that pack."""
    return [
        replace(finding, parts=tuple(part for part in finding.parts if part.is_extra))
        for finding in together
        if finding.is_extra
    ]


def split_by_capture(triage: Triage | None, rules: Sequence[Rule]) -> tuple[list[Rule], list[NotApplicable]]:
    """Return the rules to ask of a capture of this kind (all for None), and the others as not applicable, with the reason."""
    if triage is None:
        return list(rules), []
    asked = [rule for rule in rules if _is_asked_of(rule, triage)]
    why = triage.why_not or _OF_KIND.get(triage.kind, "")
    silent = [NotApplicable(rule.name, rule.manual.title, why) for rule in rules if rule not in asked]
    return asked, silent


def _is_asked_of(rule: Rule, triage: Triage) -> bool:
    """Return whether the rule is to be asked of captures of this kind and reason, by the `captures` in its header."""
    if EVERY in rule.captures or triage.reason in rule.captures:
        return True
    if triage.why_not:
        return triage.kind in rule.captures and triage.kind not in JUDGED
    return triage.kind in rule.captures or triage.reason in _JUDGED_ALL_THE_SAME
