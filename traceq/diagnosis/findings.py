"""Draws up findings: advice that was allocated time, with place, evidence and savings."""

from __future__ import annotations

from collections.abc import Mapping

from traceq.diagnosis.advice import Advice, Remark
from traceq.diagnosis.allocate import Allocated, Proposal
from traceq.diagnosis.cap import cap_saving
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.culprits import common_name
from traceq.diagnosis.finding import Confidence, Evidence, Finding, Observation, Part, Where
from traceq.diagnosis.query import rule_query, standalone_query
from traceq.diagnosis.record import lowest_confidence
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Subject

_ONLY_BOUNDS = "The replay of these steps differs too much from the recording to give a likely saving."
_FRAGMENT = "The capture is only a part of the run."
_UNRECORDED, _MOST_UNRECORDED = "idle_unattributed", 0.5
# The share of GPU slices with a launch that start before it.
_MOST_EARLY = 0.5
_CLOCKS_DIFFER = "Most GPU work starts before the call that launched it, so the clocks of host and GPU disagree."
_NOT_SEEN = "For most of the time, the trace does not show what the host did."


def make_finding(subject: Subject, allocated: Allocated) -> Finding:
    """Return the finding for allocated advice: place, evidence, confidence, and the savings of the time that it owns."""
    rule, advice = allocated.proposal
    claim, owned_ns, goes = advice.claim, advice.claim.claimed_ns * allocated.share, allocated.goes
    saving = cap_saving(
        float(claim.row["saving_low_ns"]) * goes.low,
        allocated.saving_ns,
        min(float(claim.row["saving_high_ns"]), subject.step_ns) * goes.high,
        subject.step_ns,
    )
    only_bounds = bool(claim.row["only_bounds"])
    confidence, reason = _rate_confidence(subject, rule, advice, allocated.owned, only_bounds=only_bounds)
    return Finding(
        rule=rule.name,
        finding_id=finding_id(subject, rule, advice),
        title=advice.title or rule.manual.title,
        where=_find_place(subject, claim),
        # work that was launched in a step may last beyond it
        claimed_ns=min(claim.claimed_ns, subject.step_ns),
        owned_ns=owned_ns,
        saving_ns=saving.likely,
        saving_low_ns=saving.low,
        saving_high_ns=saving.high,
        only_bounds=only_bounds,
        assumed_share=claim.assumed_share(saving.likely, owned_ns),
        rule_share=claim.rule_share,
        occurrences=claim.occurrences,
        expected_step_ns=subject.step_ns - saving.likely,
        confidence=confidence,
        confidence_reason=reason,
        summary=claim.evidence(),
        instances=claim.worst_as_evidence(),
        queries=tuple(dict.fromkeys(asked.as_text() for asked in advice.asked)),
        fix=advice.fix,
        wrong_if=advice.wrong_if,
        references=subject.program.about_it(rule.manual.references),
        parts=tuple(_make_part(subject, part) for part in allocated.parts),
        owned_by_category={category: ns / subject.steps for category, ns in sorted(allocated.owned.items()) if ns},
        is_extra=rule.is_extra,
    )


def _rate_confidence(
    subject: Subject, rule: Rule, advice: Advice, owned: Mapping[str, float], *, only_bounds: bool
) -> tuple[Confidence, str]:
    """Return the confidence of a finding and the sentences that give its reason.

    It is low where the replay gives only bounds, and where most GPU work starts before its launch. Else the rule's record
    on labelled traces decides, and it is at most medium for a fragment, or where most of the time has no known host work.
    `owned` is the owned time by category, in any unit. A user's own rules have no record: the confidence in their advice
    stands.
    """
    if only_bounds:
        return "low", f"{advice.reason} {_ONLY_BOUNDS}"
    if subject.present["early_slices"] > _MOST_EARLY * subject.present["launches"]:
        return "low", f"{advice.reason} {_CLOCKS_DIFFER}"
    if rule.is_yours:
        return advice.confidence, advice.reason
    confidence, reasons = (
        subject.record.confidence_of(rule.name),
        [advice.reason, subject.record.describe_rule(rule.name)],
    )
    if subject.triage is not None and subject.triage.kind == "fragment":
        confidence = lowest_confidence(confidence, "medium")
        reasons.append(_FRAGMENT)
    if owned.get(_UNRECORDED, 0.0) > _MOST_UNRECORDED * sum(owned.values()):
        confidence = lowest_confidence(confidence, "medium")
        reasons.append(_NOT_SEEN)
    return confidence, " ".join(filter(None, reasons))


def make_observation(subject: Subject, rule: Rule, remark: Remark) -> Observation:
    """Return the observation for a rule's remark, with the rows of its query as evidence."""
    query = rule_query(remark.query)
    values = {**subject.workspace.given(), **subject.settings(query), **remark.settings}
    rows = subject.ask(remark.query, **remark.settings) if remark.rows is None else remark.rows
    columns, text = tuple(rows[0]) if rows else (), standalone_query(query, values)
    return Observation(
        rule=rule.name,
        finding_id=finding_id(subject, rule, remark),
        title=remark.title or rule.manual.title,
        where=Where(subject.trace_id, subject.rank, subject.device, subject.device_name),
        text=remark.text,
        evidence=Evidence(columns, tuple(tuple(row.values()) for row in rows), text),
        fix=remark.fix,
        queries=tuple(dict.fromkeys(other for asked in remark.asked if (other := asked.as_text()) != text)),
        references=subject.program.about_it(rule.manual.references),
        is_extra=rule.is_extra,
    )


def finding_id(subject: Subject, rule: Rule, said: Advice | Remark) -> str:
    """Return the id of a finding or observation: rule, key of the advice, and place of the trace ("RULE:KEY@RUN@rankN").

    It stays the same from one capture of a program to the next, so that a ticket can follow it.
    """
    return f"{rule.name}{f':{said.key}' if said.key else ''}{subject.place}"


def _make_part(subject: Subject, proposal: Proposal) -> Part:
    """Return the advice as a part of another finding, with the saving it would have if it owned all of its claimed time."""
    rule, advice = proposal
    return Part(
        rule=rule.name,
        finding_id=finding_id(subject, rule, advice),
        title=advice.title or rule.manual.title,
        saving_ns=cap_saving(
            0.0, advice.claim.saving_ns, float(advice.claim.row["saving_high_ns"]), subject.step_ns
        ).likely,
        confidence=_rate_confidence(subject, rule, advice, {}, only_bounds=False)[0],
        fix=advice.fix,
        evidence=advice.claim.evidence(),
        is_extra=rule.is_extra,
    )


def _find_place(subject: Subject, claim: Claim) -> Where:
    """Return the place of the claim, for a finding.

    Stream, phase, annotation, operator and source line are filled only where half of the claim's time or more shares
    them.
    """
    culprits, found = subject.culprits(claim), subject.common(claim)
    return Where(
        subject.trace_id,
        subject.rank,
        subject.device,
        subject.device_name,
        stream=int(found["stream"]) if "stream" in found else None,
        phase=found.get("phase"),
        annotation=common_name(culprits, "annotation"),
        operator=common_name(culprits, "op"),
        source_line=common_name(culprits, "line"),
    )
