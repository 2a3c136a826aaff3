"""A report as pandas DataFrames, a function each. Columns are always there, also when there is nothing to list.

The first columns are `trace_id` and `rank`, so that several ranks stand in one table. Times are ns and end in `_ns`,
shares are 0..1 and end in `_share`; what the trace does not say is missing (NA), never 0. The columns are described
in docs/python.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from traceq.analysis.categories import CATEGORIES
from traceq.diagnosis.choose import number_findings
from traceq.reports.model import Report

if TYPE_CHECKING:
    import pandas as pd

_WHOLE, _MAYBE, _REAL, _TEXT, _FLAG = "int64", "Int64", "float64", "string", "bool"

_OF_A_TRACE = {"trace_id": _WHOLE, "rank": _MAYBE}
_WHERE = {
    "device": _MAYBE,
    "device_name": _TEXT,
    "stream": _MAYBE,
    "phase": _TEXT,
    "annotation": _TEXT,
    "operator": _TEXT,
    "source_line": _TEXT,
}


def traces(report: Report) -> pd.DataFrame:
    """A row for each trace: what it is, and how long its steps take."""
    columns = {
        **_OF_A_TRACE,
        "run": _TEXT,
        "file": _TEXT,
        "format": _TEXT,
        "devices": _WHOLE,
        "steps": _WHOLE,
        "step_source": _TEXT,
        "total_ns": _MAYBE,
        "mean_ns": _REAL,
        "p50_ns": _REAL,
        "p95_ns": _REAL,
        "findings": _WHOLE,
    }
    rows = (
        {
            **vars(each.trace),
            "devices": len(each.devices),
            "steps": each.steps.counted,
            "step_source": each.steps.source,
            **{name: getattr(each.steps, name) for name in ("total_ns", "mean_ns", "p50_ns", "p95_ns")},
            "findings": len(each.findings) + each.findings_left_out,
        }
        for each in report.traces
    )
    return _frame(columns, rows)


def findings(report: Report) -> pd.DataFrame:
    """A row for each finding, per trace the largest saving first, and of the pack extra last; times are per counted step.

    `finding` is its number in the report (F1; E1 of the pack extra), `id` stays the same in every report. `query` gives its
    claim again, `instances_query` its worst pieces.
    """
    columns = {
        **_OF_A_TRACE,
        "finding": _TEXT,
        "rule": _TEXT,
        "title": _TEXT,
        "saving_ns": _REAL,
        "saving_share": _REAL,
        "saving_low_ns": _REAL,
        "saving_high_ns": _REAL,
        "only_bounds": _FLAG,
        "assumed_share": _REAL,
        "rule_share": _REAL,
        "claimed_ns": _REAL,
        "owned_ns": _REAL,
        "expected_step_ns": _REAL,
        "confidence": _TEXT,
        "confidence_reason": _TEXT,
        "is_extra": _FLAG,
        **_WHERE,
        "fix": _TEXT,
        "wrong_if": _TEXT,
        "query": _TEXT,
        "instances_query": _TEXT,
        "id": _TEXT,
    }
    rows = (
        {
            **vars(trace.trace),
            **vars(each),
            **vars(each.where),
            "finding": place,
            "saving_share": _share(each.saving_ns, each.expected_step_ns + each.saving_ns),
            "query": each.summary.query,
            "instances_query": each.instances.query,
            "id": each.finding_id,
        }
        for trace in report.traces
        for place, each in number_findings(trace.every_finding)
    )
    return _frame(columns, rows)


def observations(report: Report) -> pd.DataFrame:
    """A row for each observation: worth knowing, but saving no time by itself."""
    columns = {
        **_OF_A_TRACE,
        "rule": _TEXT,
        "title": _TEXT,
        "text": _TEXT,
        **_WHERE,
        "fix": _TEXT,
        "query": _TEXT,
        "id": _TEXT,
    }
    rows = (
        {
            **vars(trace.trace),
            **vars(each),
            **vars(each.where),
            "query": each.evidence.query,
            "id": each.finding_id,
        }
        for trace in report.traces
        for each in trace.observations
    )
    return _frame(columns, rows)


def ledger(report: Report) -> pd.DataFrame:
    """A row for each device and category with time in the counted steps, most first.

    Per device the `dur_ns` add up to the counted steps exactly.
    """
    columns = {
        **_OF_A_TRACE,
        "device": _WHOLE,
        "device_name": _TEXT,
        "category": _TEXT,
        "dur_ns": _WHOLE,
        "per_step_ns": _REAL,
        "step_share": _REAL,
    }
    rows = (
        {
            **vars(trace.trace),
            "device": device.device,
            "device_name": device.name,
            "category": part.category,
            "dur_ns": part.dur_ns,
            "per_step_ns": part.per_step_ns,
            "step_share": part.step_share,
        }
        for trace in report.traces
        for device in trace.ledger
        for part in device.parts
    )
    return _frame(columns, rows)


def steps(report: Report) -> pd.DataFrame:
    """A row for each counted step, with a column for each category of the ledger of the busiest device.

    Those columns add up to `dur_ns` exactly. Of a trace without GPU activity there are none.
    """
    columns = {
        **_OF_A_TRACE,
        "step": _WHOLE,
        "dur_ns": _WHOLE,
        **{f"{category}_ns": _WHOLE for category in CATEGORIES},
    }
    rows = (
        {
            **vars(trace.trace),
            "step": each.step,
            "dur_ns": each.dur,
            **{f"{category}_ns": dict(each.parts).get(category, 0) for category in CATEGORIES},
        }
        for trace in report.traces
        for each in trace.step_ledgers
    )
    return _frame(columns, rows)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _frame(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows as a frame of the given columns and dtypes, which do not depend on what is in the rows."""
    import pandas as pd

    listed = list(rows)
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in listed], dtype=dtype) for name, dtype in columns.items()}
    )
