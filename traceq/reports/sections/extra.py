"""The words about rules of the pack extra, which no labelled real trace has confirmed: always apart from the other findings."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import some
from traceq.diagnosis.choose import number_findings
from traceq.reports.document import Block, Items, Paragraph, Reference, Spans, Title, split_code
from traceq.reports.model import TraceReport
from traceq.reports.savings import saving_share_text, saving_text
from traceq.reports.sections.triage import refuse_to_judge

_HOW_TO_READ = (
    "Extra, of low confidence: no labelled real trace has shown yet that the rules behind these are right. Their time may count"
    " in findings above, too, which stand as they would without them."
)


def list_extra_findings(report: TraceReport) -> Iterator[Block]:
    """Yield a line for each extra finding: what it would save, and what to do."""
    if report.extra_findings:
        yield Paragraph((_HOW_TO_READ,))
        yield Items(tuple(_list_findings(report)))


def _list_findings(report: TraceReport) -> Iterator[Spans]:
    for place, each in number_findings(report.extra_findings):
        amount = f"{saving_text(each)} ({saving_share_text(each)})"
        yield (Reference(place), " ", Title(each.title), f", saves {amount}: ", *split_code(each.deed))


def count_extra_left_out(report: TraceReport) -> str:
    """Say how many rules of the pack were not asked; empty where none, or nothing is judged."""
    if not report.extra_left_out or refuse_to_judge(report) is not None:
        return ""
    return f"{some(report.extra_left_out, 'more rule')} that no labelled trace has confirmed (--rules extra)"
