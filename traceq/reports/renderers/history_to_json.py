"""A history for programs: trends with their changes, in the units of the quantities. docs/history.md describes the keys."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from traceq.reports.renderers.json_text import json_text, pick, to_dict
from traceq.runs.history.entry import HistoryReport
from traceq.runs.history.history import ExplainedChange, ShownHistory
from traceq.runs.history.series import SeriesSummary
from traceq.runs.history.trend import QuantityTrend

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1

_TREND = (
    *("name", "unit", "kind", "reports", "latest", "now", "ratio", "ratio_low", "ratio_high", "slope", "slope_low"),
    *("slope_high", "is_per_report", "worse", "impact"),
)


def history_to_json(shown: ShownHistory) -> str:
    """Return the history as the text of a JSON object; its list `quantities` is sorted as the page is, worst first."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "history": shown.path,
            "series": _encode_series(shown.series.summary),
            "other_series": [_encode_series(other) for other in shown.others],
            "reports": len(shown.series.report_ids),
            "first": _encode_report(shown.first),
            "last": _encode_report(shown.last),
            "floor": shown.floor,
            "quantities": [
                {
                    **_encode_trend(trend),
                    "changes": [_encode_change(change) for change in shown.explained.get(trend.name, ())],
                }
                for trend in shown.trends
            ],
        }
    )


def trend_rows(shown: ShownHistory) -> Iterator[dict[str, Any]]:
    """Yield a row for each quantity: its trend and its last change, for CSV."""
    for trend in shown.trends:
        explained = shown.explained.get(trend.name, ())
        last = explained[-1] if explained else None
        yield {
            **_encode_trend(trend),
            "changes": len(trend.changes),
            "since": None if last is None else last.first_after.ran_at.isoformat(),
            "since_report": None if last is None else last.first_after.report_id,
            "since_commit": None if last is None else last.first_after.commit,
            "last_before_report": None if last is None else last.last_before.report_id,
        }


def _encode_trend(trend: QuantityTrend) -> dict[str, Any]:
    found = pick(trend, *_TREND)
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in found.items()
    }


def _encode_series(summary: SeriesSummary) -> dict[str, Any]:
    times = {"first_at": summary.first_at.isoformat(), "last_at": summary.last_at.isoformat()}
    return {**to_dict(summary), **times}


def _encode_report(report: HistoryReport) -> dict[str, Any]:
    return {**pick(report, "report_id", "label", "commit", "branch", "file"), "ran_at": report.ran_at.isoformat()}


def _encode_change(explained: ExplainedChange) -> dict[str, Any]:
    change = pick(explained.change, "before", "after", "ratio", "ratio_low", "ratio_high")
    return {
        **{name: value if math.isfinite(value) else None for name, value in change.items()},
        "last_before": _encode_report(explained.last_before),
        "first_after": _encode_report(explained.first_after),
        "is_accepted": explained.is_accepted,
        "facts": [pick(fact, "key", "before", "after", "is_exact", "is_knob", "between") for fact in explained.facts],
    }
