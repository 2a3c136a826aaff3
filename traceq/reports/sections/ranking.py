"""What to fix: a line for each finding, with its saving, and what to do below it."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.diagnosis.finding import Finding
from traceq.reports.document import RankedFinding, Ranking, Reference, Title, with_code
from traceq.reports.model import TraceReport
from traceq.reports.savings import saves, speed_up, step_ns, step_share


def ranking(report: TraceReport, most: int | None = None) -> Ranking:
    """The first `most` findings, all without it. Cumulative: the step with this finding and those above fixed."""
    found = report.findings[:most]
    return Ranking(tuple(_ranked(found, number) for number in range(len(found))), report.unit)


def _ranked(found: Sequence[Finding], number: int) -> RankedFinding:
    each = found[number]
    step = step_ns(found[0])
    return RankedFinding(
        Reference(f"F{number + 1}"),
        Title(each.title),
        saves(each),
        step_share(each),
        speed_up(step, step - sum(above.saving_ns for above in found[: number + 1])),
        each.confidence,
        with_code(each.deed),
    )
