"""Builds what a page shows of the GPUs over the whole capture: how busy they are, counters, and the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.reports.model import Activity, ActivitySeries, ActivityStep
from traceq.reports.queries import read_rows

if TYPE_CHECKING:
    import duckdb

_PARTS, _DEVICES, _COUNTERS = 100, 4, 6


def build_activity(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Activity | None:
    """Build the activity of the trace's first 4 GPUs in each hundredth of the capture; None without GPU work."""
    limits = {"parts": _PARTS, "devices": _DEVICES, "most": _COUNTERS}
    found = read_rows(connection, "activity_series", trace_id=trace_id, **limits)
    if not found:
        return None
    series = tuple(ActivitySeries(row["device"], row["name"], row["unit"], tuple(row["parts"])) for row in found)
    steps = read_rows(connection, "activity_step", trace_id=trace_id)
    kept = tuple(ActivityStep(row["step"], row["after_ns"], row["dur_ns"], row["is_counted"]) for row in steps)
    return Activity(found[0]["span_ns"], series, kept)
