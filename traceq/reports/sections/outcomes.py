"""The words about rules that found nothing, cannot tell, or failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.diagnosis.finding import Clean, NotApplicable
from traceq.reports.document import Block, Heading, Items, Paragraph, Spans, Warn
from traceq.reports.model import TraceReport
from traceq.reports.sections.extra import extra_left_out
from traceq.reports.sections.verdict import NOT_ASKED


def outcomes(report: TraceReport) -> Iterator[Block]:
    """The rules that found nothing, cannot tell, or failed: silence must not read as "no problem"."""
    if not report.rules_asked:
        yield Paragraph(NOT_ASKED)
    if report.clean:
        yield Heading(3, ("Looked for and not found",), is_minor=True)
        yield Items(_by_reason(report.clean))
    if report.not_applicable:
        yield Heading(3, ("Cannot tell",), is_minor=True)
        yield Items(_by_reason(report.not_applicable))
    if told := extra_left_out(report):
        yield Paragraph((f"Not asked: {told}.",))
    if report.failed:
        yield Heading(3, ("Failed",))
        yield Warn(("These checks broke; that says nothing about the trace:",))
        yield Items(tuple((f"{each.rule}: ", each.error) for each in report.failed))


def _by_reason(outcomes: Sequence[Clean | NotApplicable]) -> tuple[Spans, ...]:
    rules: dict[str, list[str]] = {}
    for each in outcomes:
        rules.setdefault(each.reason, []).append(each.rule)
    return tuple((f"{', '.join(names)}: {reason}",) for reason, names in rules.items())
