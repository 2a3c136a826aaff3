"""Grades: how right each finding is by the label, and how right the report begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.grading.causes import all_causes, causes_of
from traceq.diagnosis.grading.output import Output, Statement
from traceq.diagnosis.grading.truth import DIGITS, NEAR, Truth

Verdict = Literal["right", "partly", "wrong"]


class GradedFinding(msgspec.Struct, frozen=True):
    """A finding with its grade by the label.

    `share` (0..1) is its likely saving as a share of a step of `step_ns`; `verdict` says whether the finding is right.
    """

    rule: str
    share: float
    confidence: Confidence
    verdict: Verdict
    step_ns: float = 0.0


class GradedResult(msgspec.Struct, frozen=True):
    """The graded report of a trace; `said` are its findings, `first` grades its first statement.

    `remarks` are the rules of its observations, `failed` the rules that broke. `found` is the number of the label's
    bottlenecks that any statement names. `extra` are findings of the pack extra, if asked. `untold` is the share (0..1)
    of the step with the verdict "cannot tell"; None without an account of a GPU.
    """

    truth: Truth
    said: tuple[GradedFinding, ...]
    remarks: tuple[str, ...]
    failed: tuple[str, ...]
    first: Verdict
    found: int
    untold: float | None = None
    extra: tuple[GradedFinding, ...] = ()


def grade(truth: Truth, output: Output) -> GradedResult:
    """Grade the statements of a report, each finding and the first statement, by the truth about its trace."""
    said, extra = (
        tuple(_grade_statement(truth, statement) for statement in found) for found in (output.findings, output.extra)
    )
    rules = {*output.remarks, *(rule for statement in output.findings for rule in (statement.rule, *statement.parts))}
    unknown = output.unknown
    first = grade_unknown(truth, said, unknown) if unknown else grade_first(truth, said, output.remarks)
    found = sum(not rules.isdisjoint(all_causes()[bottleneck.cause].rules) for bottleneck in truth.bottlenecks)
    return GradedResult(truth, said, output.remarks, output.failed, first, found, output.untold, extra)


def grade_refused(truth: Truth) -> GradedResult:
    """Grade the refusal of a file: right where the truth says that nothing can be won or told of it, else wrong."""
    return GradedResult(truth, (), (), (), "right" if truth.nothing else "wrong", 0)


def _grade_statement(truth: Truth, finding: Statement) -> GradedFinding:
    """Return the finding with its grade."""
    is_true = grade_finding(truth, finding.rule, finding.share, finding.step_ns)
    return GradedFinding(finding.rule, finding.share, finding.confidence, is_true, finding.step_ns)


# What a label calls time of which the trace does not say whether it can be won.
_UNTOLD = {
    "compute": "gpu-saturated",
    "idle_earlier_work": "before-capture",
    "idle_unattributed": "unattributed",
    "idle_launch_latency": "unattributed",
}


def grade_unknown(truth: Truth, said: Sequence[GradedFinding], category: str) -> Verdict:
    """Grade a report that begins with time of `category` for which it cannot tell, before its findings.

    Right where the label accepts just that; partly where the label's line is of the category, or where the first
    finding could stand first. Where nothing can be won or told, right unless a finding is wrong.
    """
    if truth.nothing:
        return "wrong" if any(statement.verdict == "wrong" for statement in said) else "right"
    if _UNTOLD.get(category) in truth.first:
        return "right"
    is_told = bool(said) and said[0].verdict != "wrong" and bool(causes_of(said[0].rule) & truth.first)
    return "partly" if category in truth.line or is_told else "wrong"


def grade_finding(truth: Truth, rule: str, share: float, step_ns: float) -> Verdict:
    """Grade a finding of `rule` that saves `share` (0..1) of a step: right, partly or wrong.

    Right with a bottleneck's cause and size. A cause that is only also true, or first, has no size: right unless it
    saves more than the largest bottleneck. Partly with a true cause of another size; else wrong.
    """
    named = causes_of(rule)
    meant = [bottleneck for bottleneck in truth.bottlenecks if bottleneck.cause in named]
    if any(bottleneck.has_size(share, step_ns) for bottleneck in meant):
        return "right"
    if named & (truth.also_true | truth.first):
        largest = max((bottleneck.high for bottleneck in truth.bottlenecks), default=1.0)
        return "right" if not meant and share <= (1 + NEAR) * largest else "partly"
    return "partly" if meant else "wrong"


def grade_first(truth: Truth, said: Sequence[GradedFinding], remarks: Sequence[str]) -> Verdict:
    """Grade a report's first statement, its first finding: right if it names a cause accepted there, with the right size.

    Without findings the rules of observations (`remarks`) count. A cause that is not accepted is at most partly right.
    Where nothing can be won or told, right unless a finding is wrong.
    """
    if truth.nothing:
        return "wrong" if any(statement.verdict == "wrong" for statement in said) else "right"
    if not said:
        return "right" if any(causes_of(rule) & truth.first for rule in remarks) else "wrong"
    if causes_of(said[0].rule) & truth.first:
        # A cause without a size of its own stands for the largest bottleneck, and has to be about as large.
        largest = max(truth.bottlenecks, key=lambda each: each.size, default=None)
        is_small = largest is not None and said[0].share < min((1 - NEAR) * largest.size, (1 - DIGITS) * largest.low)
        has_own = any(bottleneck.cause in causes_of(said[0].rule) for bottleneck in truth.bottlenecks)
        return "partly" if is_small and not has_own and said[0].verdict == "right" else said[0].verdict
    return "wrong" if said[0].verdict == "wrong" else "partly"
