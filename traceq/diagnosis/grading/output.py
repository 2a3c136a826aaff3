"""The statements of a report of a trace that can be right or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from traceq.diagnosis.account.line import Line, largest_unknown, main_unknown, saves_little
from traceq.diagnosis.finding import Confidence, Failed, Finding, Observation


class Statement(msgspec.Struct, frozen=True):
    """A finding as the report states it; `share` (0..1) is its likely saving over `step_ns`. Times are in ns per step.

    `parts` are the rules of its parts, which say something else of the same time.
    """

    rule: str
    title: str
    share: float
    saving_ns: float
    saving_low_ns: float
    saving_high_ns: float
    step_ns: float
    confidence: Confidence
    parts: tuple[str, ...] = ()


class Output(msgspec.Struct, frozen=True):
    """The statements of a report on a trace that can be graded.

    `remarks` are the rules of observations; `failed` has "RULE: ERROR" for each rule that broke. `unknown` is the
    category of the ledger that the report begins with because it cannot tell; None if it begins otherwise. `untold` is
    the share (0..1) of the step for which the account cannot tell; None without an account of a GPU. `extra` are
    findings of the pack extra, if asked.
    """

    findings: tuple[Statement, ...] = ()
    remarks: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    unknown: str | None = None
    untold: float | None = None
    extra: tuple[Statement, ...] = ()


class Conclusions(Protocol):
    """The outcomes of the rules for a trace, judged just now or read from a report."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, the largest saving first."""

    @property
    def extra_findings(self) -> tuple[Finding, ...]:
        """The findings of the pack extra, if asked, the largest saving first."""

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The observations, which save no time by themselves."""

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The rules that broke."""

    @property
    def account(self) -> tuple[Line, ...]:
        """The lines of the account, with their verdicts."""


def summarize_report(found: Conclusions) -> Output:
    """Return those statements of a report with these conclusions that can be graded."""
    remarks = tuple(observation.rule for observation in found.observations)
    return Output(
        findings=tuple(map(_make_statement, found.findings)),
        remarks=remarks,
        failed=tuple(f"{failed.rule}: {failed.error}" for failed in found.failed),
        unknown=_first_unknown(found, remarks),
        untold=_untold_share(found.account),
        extra=tuple(map(_make_statement, found.extra_findings)),
    )


def _make_statement(finding: Finding) -> Statement:
    """Return the finding as a statement."""
    step_ns = finding.expected_step_ns + finding.saving_ns
    return Statement(
        rule=finding.rule,
        title=finding.title,
        share=finding.saving_ns / step_ns,
        saving_ns=finding.saving_ns,
        saving_low_ns=finding.saving_low_ns,
        saving_high_ns=finding.saving_high_ns,
        step_ns=step_ns,
        confidence=finding.confidence,
        parts=tuple(part.rule for part in finding.parts),
    )


def _first_unknown(found: Conclusions, remarks: Sequence[str]) -> str | None:
    """Return the category of the ledger that the report begins with because it cannot tell; None if it begins otherwise."""
    is_told = "sampled-capture" not in remarks and any(line.device is not None for line in found.account)
    if not is_told or (found.findings and not saves_little(found.findings[0])):
        return None
    unknown = largest_unknown(found.account) if found.findings else main_unknown(found.account)
    return None if unknown is None else unknown.category


def _untold_share(account: Sequence[Line]) -> float | None:
    """Return the share (0..1) of the step for which the critical device's account cannot tell; None without a GPU."""
    lines = [line for line in account if line.device is not None and line.is_critical]
    return sum(line.step_share for line in lines if line.verdict == "cannot tell") if lines else None
