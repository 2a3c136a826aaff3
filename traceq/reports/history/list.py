"""The list of the reports of a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import some
from traceq.reports.document import Block, Heading, Literal, Name, Paragraph, make_table
from traceq.reports.renderers.json_text import json_text, to_dict
from traceq.runs.history.entry import HistoryReport

# What fits on a screen; JSON has all.
_LISTED = 40
_TEXT = 28
_ID = 8


def compose_reports(reports: Sequence[HistoryReport]) -> Iterator[Block]:
    """Yield the table of the latest reports, the latest first."""
    yield Heading(1, ("traceq history list",))
    yield make_table(
        reports[:_LISTED],
        {
            "report": lambda report: Literal(report.report_id[:_ID]),
            "ran (UTC)": lambda report: f"{report.ran_at:%Y-%m-%d %H:%M}",
            "series": lambda report: report.series,
            "label": lambda report: Name(shortened(printable(report.label or "-"), _TEXT)),
            "commit": lambda report: Name(printable(report.commit or "-")[:_ID]),
            "steps": lambda report: f"{report.steps:,}",
            "file": lambda report: Name(shortened(printable(report.file), _TEXT)),
        },
        text=(0, 1, 2, 3, 4, 6),
    )
    if (left := len(reports) - _LISTED) > 0:
        yield Paragraph((f"{some(left, 'earlier report')}: ", Literal("--format json"), " lists all."))


def list_reports_as_json(reports: Sequence[HistoryReport]) -> str:
    """Return the reports as JSON text, with the columns of the table report; times are ISO 8601, UTC."""
    rows = [
        {**to_dict(report), "added_at": report.added_at.isoformat(), "ran_at": report.ran_at.isoformat()}
        for report in reports
    ]
    return json_text({"schema_version": 1, "reports": rows})
