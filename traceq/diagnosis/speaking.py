"""Select the rules that speak of a kind of capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.diagnosis.finding import NotApplicable
from traceq.diagnosis.triage import EVERY, JUDGED

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def split_by_capture(triage: Triage | None, rules: Sequence[Rule]) -> tuple[list[Rule], list[NotApplicable]]:
    """Split `rules` into those to ask of such a capture, and those that do not speak of it, with the reason."""
    if triage is None:
        return list(rules), []
    asked = [rule for rule in rules if _is_asked_of(rule, triage)]
    why = triage.why_not or _OF_KIND.get(triage.kind, "")
    silent = [NotApplicable(rule.name, rule.manual.title, why) for rule in rules if rule not in asked]
    return asked, silent


def _is_asked_of(rule: Rule, triage: Triage) -> bool:
    """Return whether the rule is to be asked of such a capture."""
    if EVERY in rule.captures or triage.reason in rule.captures:
        return True
    if triage.why_not:
        return triage.kind in rule.captures and triage.kind not in JUDGED
    return triage.kind in rule.captures or triage.reason in _JUDGED_ALL_THE_SAME
