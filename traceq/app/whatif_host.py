"""What-if of a trace without GPU work: what goes from the training thread goes from the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from traceq.analysis.categories import HOST_LABELS
from traceq.app.whatif_request import HOST, HOST_MOVABLE, HOST_OF
from traceq.diagnosis.host_change import HostChange, HostWon, host_changes
from traceq.diagnosis.needs import NEEDS
from traceq.reports.whatif.answer import Answer, Asked, Choice, Part, Saved

if TYPE_CHECKING:
    from traceq.diagnosis.finding import Finding
    from traceq.diagnosis.subject import Subject

# The training thread has to do, or to wait for, so much of what other threads do, or nothing is known of what it costs.
_LEAST_SEEN = 0.5


def host_answer(subject: Subject, facts: Answer) -> Answer | None:
    """What becomes of the steps; None where the training thread, and those it waits for, have nothing of what is asked."""
    if not subject.steps:
        return replace(facts, reason="the trace has no steps that count: nothing can be predicted")
    if not subject.has("host_alone"):
        return replace(facts, reason=NEEDS["host_alone"].lacking)
    won = host_changes(subject, [_host_change(each) for each in facts.asked])
    if any(not held + elsewhere for held, elsewhere in zip(won.held_ns, won.elsewhere_ns, strict=True)):
        return None
    reason = _doubt_of(facts.asked, won)
    if reason is not None and not any(won.held_ns):
        return replace(facts, reason=reason)
    step = facts.recorded_ns or 0.0
    low = min(won.low_ns, 0.0) if reason else won.low_ns
    return replace(
        facts,
        replayed_ns=step,
        after_ns=step - won.likely_ns,
        saved=Saved(low, None if reason else won.likely_ns, won.high_ns),
        reason=reason,
        limits=_scale_parts(won.left_ns, step - won.likely_ns),
    )


def without_finding(facts: Answer, finding: Finding) -> Answer:
    """The steps without what a finding would save: no more than it says, of the categories that it owns."""
    step = facts.recorded_ns or 0.0
    owned = sum(finding.owned_by_category.values())
    left = {
        part.name: part.dur_ns - finding.saving_ns * finding.owned_by_category.get(part.name, 0.0) / owned
        for part in facts.ledger
    }
    return replace(
        facts,
        replayed_ns=step,
        after_ns=step - finding.saving_ns,
        saved=Saved(finding.saving_low_ns, finding.saving_ns, finding.saving_high_ns),
        limits=_scale_parts(left, step - finding.saving_ns),
    )


def host_choices(ledger: Mapping[str, float]) -> list[Choice]:
    """The categories of the training thread's time that can be changed, longest first."""
    found = sorted(((name, dur) for name, dur in ledger.items() if name in HOST and dur), key=lambda each: -each[1])
    return [Choice(_options_for(name), name, HOST_LABELS[name], dur) for name, dur in found]


def _options_for(name: str) -> tuple[str, ...]:
    return ("--remove", "--scale", "--move") if name in HOST_MOVABLE else ("--remove", "--scale")


def _host_change(asked: Asked) -> HostChange:
    prefix, _, pattern = asked.what.partition(":")
    categories = () if pattern else HOST_OF.get(asked.what, (asked.what,))
    # there is no work of a GPU to be changed
    glob = pattern if prefix == "host" and pattern else None
    if asked.kind == "move":
        return HostChange(glob, categories, workers=asked.factor)
    return HostChange(glob, categories, left=asked.factor or 0.0)


def _doubt_of(asked: Sequence[Asked], won: HostWon) -> str | None:
    """Why there are only bounds, or nothing."""
    for each, held, elsewhere in zip(asked, won.held_ns, won.elsewhere_ns, strict=True):
        if held < _LEAST_SEEN * elsewhere:
            return (
                f"most of {each.what} runs on other threads while the training thread works: what it costs is not known"
            )
    return None


def _scale_parts(left: Mapping[str, float], after: float) -> tuple[Part, ...]:
    """What the step then consists of, longest first, which adds up to it."""
    whole = sum(left.values())
    parts = [(name, dur * after / whole) for name, dur in left.items() if dur > 0 and whole]
    return tuple(Part(name, dur) for name, dur in sorted(parts, key=lambda each: -each[1]))
