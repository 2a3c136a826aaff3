"""The words about rules that found nothing, cannot tell, or failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.diagnosis.finding import Clean, NotApplicable
from traceq.reports.document import Block, Heading, Items, Paragraph, Warn
from traceq.reports.model import TraceReport
from traceq.reports.sections.extra import count_extra_left_out
from traceq.reports.sections.verdict import NOT_ASKED


def describe_outcomes(report: TraceReport) -> Iterator[Block]:
    """Yield the rules that found nothing, cannot tell, or failed: silence must not read as "no problem"."""
    if not report.rules_asked:
        yield Paragraph(NOT_ASKED)
    if report.clean:
        yield Heading(3, ("Looked for and not found",), is_minor=True)
        yield _list_by_reason(report.clean)
    if report.not_applicable:
        yield Heading(3, ("Cannot tell",), is_minor=True)
        yield _list_by_reason(report.not_applicable)
    if told := count_extra_left_out(report):
        yield Paragraph((f"Not asked: {told}.",))
    if report.failed:
        yield Heading(3, ("Failed",))
        yield Warn(("These checks broke; that says nothing about the trace:",))
        yield Items(tuple((f"{each.rule}: ", each.error) for each in report.failed))


def rules_by_reason(outcomes: Sequence[Clean | NotApplicable]) -> list[tuple[str, list[str]]]:
    """List each reason with the rules that share it, in the order of the first of them."""
    rules: dict[str, list[str]] = {}
    for outcome in outcomes:
        rules.setdefault(outcome.reason, []).append(outcome.rule)
    return list(rules.items())


def frequent_reasons(report: TraceReport) -> list[tuple[str, list[str]]]:
    """List why rules cannot tell, with the rules of each reason; the reason of most rules first."""
    return sorted(rules_by_reason(report.not_applicable), key=lambda pair: -len(pair[1]))


def _list_by_reason(outcomes: Sequence[Clean | NotApplicable]) -> Items:
    return Items(tuple((f"{', '.join(rules)}: {reason}",) for reason, rules in rules_by_reason(outcomes)))
