"""What to fix: a line for each finding, with its saving, and what to do below it."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.diagnosis.finding import Finding
from traceq.reports.document import RankedFinding, Ranking, Reference, Title, split_code
from traceq.reports.model import TraceReport
from traceq.reports.savings import bounded_share_text, cumulative_text, saving_text


def rank_findings(report: TraceReport, most: int | None = None) -> Ranking:
    """Rank the first `most` findings, or all. Cumulative: the step with this finding and those above fixed."""
    found = report.findings[:most]
    return Ranking(tuple(_rank_finding(found, number) for number in range(len(found))), report.unit)


def _rank_finding(found: Sequence[Finding], number: int) -> RankedFinding:
    each = found[number]
    return RankedFinding(
        Reference(f"F{number + 1}"),
        Title(each.title),
        saving_text(each),
        bounded_share_text(each),
        cumulative_text(found[: number + 1]),
        each.confidence,
        split_code(each.deed),
    )
