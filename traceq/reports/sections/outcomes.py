"""The words about rules that found nothing, cannot tell, or failed; and about the pack extra.

No labelled real trace has confirmed its rules, so its findings stand apart from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import some
from traceq.diagnosis.choose import number_findings
from traceq.diagnosis.finding import Clean, NotApplicable
from traceq.reports.document import Block, Heading, Items, Paragraph, Reference, Spans, Title, Warn, split_code
from traceq.reports.model import TraceReport
from traceq.reports.savings import saving_share_text, saving_text
from traceq.reports.sections.triage import refuse_to_judge
from traceq.reports.sections.verdict import NOT_ASKED


def describe_outcomes(report: TraceReport) -> Iterator[Block]:
    """Yield the rules that found nothing, cannot tell or failed, each with the reason.

    Without this, a reader could take silence for "no problem".
    """
    if not report.rules_asked:
        yield Paragraph(NOT_ASKED)
    if report.clean:
        yield Heading(3, ("Looked for and not found",), is_minor=True)
        yield _list_by_reason(report.clean)
    if report.not_applicable:
        yield Heading(3, ("Cannot tell",), is_minor=True)
        yield _list_by_reason(report.not_applicable)
    if told := count_extra_left_out(report):
        yield Paragraph((f"Not run: {told}.",))
    if report.failed:
        yield Heading(3, ("Failed",))
        yield Warn(("These checks failed with an error, which says nothing about the trace:",))
        yield Items(tuple((f"{each.rule}: ", each.error) for each in report.failed))


def rules_by_reason(outcomes: Sequence[Clean | NotApplicable]) -> list[tuple[str, list[str]]]:
    """Return (reason, rules that share it), in the order in which the reasons first occur."""
    rules: dict[str, list[str]] = {}
    for outcome in outcomes:
        rules.setdefault(outcome.reason, []).append(outcome.rule)
    return list(rules.items())


def frequent_reasons(report: TraceReport) -> list[tuple[str, list[str]]]:
    """Return (reason, rules) for the rules that cannot tell, first the reason that most rules share."""
    return sorted(rules_by_reason(report.not_applicable), key=lambda pair: -len(pair[1]))


def _list_by_reason(outcomes: Sequence[Clean | NotApplicable]) -> Items:
    return Items(tuple((f"{', '.join(rules)}: {reason}",) for reason, rules in rules_by_reason(outcomes)))


_HOW_TO_READ = (
    "Extra findings, with low confidence: no labelled real trace has confirmed their rules yet. Their time may "
    "also count in the findings above, which do not change because of them."
)


def list_extra_findings(report: TraceReport) -> Iterator[Block]:
    """Yield a line for each finding of the pack extra: its saving, and what to do."""
    if report.extra_findings:
        yield Paragraph((_HOW_TO_READ,))
        yield Items(tuple(_list_findings(report)))


def _list_findings(report: TraceReport) -> Iterator[Spans]:
    for place, each in number_findings(report.extra_findings):
        amount = f"{saving_text(each)} ({saving_share_text(each)})"
        yield (Reference(place), " ", Title(each.title), f", saves {amount}: ", *split_code(each.deed))


def count_extra_left_out(report: TraceReport) -> str:
    """Return words on the number of rules of the pack extra that were not asked; empty if none, or if nothing is judged."""
    if not report.extra_left_out or refuse_to_judge(report) is not None:
        return ""
    return f"{some(report.extra_left_out, 'more rule')} that no labelled trace has confirmed (--rules extra)"
