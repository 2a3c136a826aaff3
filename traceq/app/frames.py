"""A report as pandas DataFrames, a function each. Columns are always there, also when there is nothing to list.

The first columns are `trace_id` and `rank`, so that several ranks stand in one table. Times are ns and end in `_ns`,
shares are 0..1 and end in `_share`; what the trace does not say is missing (NA), never 0. The columns are described
in docs/python.md. All raise MissingTool without pandas, which is of the extra `frames`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from msgspec.structs import asdict

from traceq.analysis.categories import CATEGORIES
from traceq.common.extras import import_extra
from traceq.diagnosis.choose import number_findings
from traceq.diagnosis.finding import Finding, Observation, Where
from traceq.reports.model import DeviceLedger, LedgerPart, Report, Steps, TraceFacts

if TYPE_CHECKING:
    import pandas as pd

_WHERE = "device device_name stream phase annotation operator source_line"


def tabulate_traces(report: Report) -> pd.DataFrame:
    """Return a table with a row for each trace: its file, its devices, and the durations of its steps."""
    rows = (
        {
            **asdict(trace.steps),
            **asdict(trace.trace),
            "devices": len(trace.devices),
            "steps": trace.steps.counted,
            "step_source": trace.steps.source,
            "findings": len(trace.findings) + trace.findings_left_out,
        }
        for trace in report.traces
    )
    names = "run file format devices steps step_source total_ns mean_ns p50_ns p95_ns findings"
    return _make_typed_frame(names, rows, (Steps,), {"devices": int, "steps": int, "findings": int})


def tabulate_findings(report: Report) -> pd.DataFrame:
    """Return a table of findings, for each trace the largest saving first, the pack extra last; times are per counted step.

    `finding` is the number in the report (F1; E1 for the pack extra), `id` is the same in every report. `query` is SQL
    that reproduces the claim, `instances_query` its worst instances.
    """
    rows = (
        {
            **asdict(trace.trace),
            **asdict(finding),
            **asdict(finding.where),
            "finding": place,
            "saving_share": finding.saving_ns / step_ns
            if (step_ns := finding.expected_step_ns + finding.saving_ns)
            else None,
            "query": finding.summary.query,
            "instances_query": finding.instances.query,
            "id": finding.finding_id,
        }
        for trace in report.traces
        for place, finding in number_findings(trace.every_finding)
    )
    names = (
        "finding rule title saving_ns saving_share saving_low_ns saving_high_ns only_bounds assumed_share rule_share claimed_ns"
        f" owned_ns expected_step_ns confidence confidence_reason is_extra {_WHERE} fix wrong_if query instances_query id"
    )
    return _make_typed_frame(names, rows, (Finding, Where), {"saving_share": float})


def tabulate_observations(report: Report) -> pd.DataFrame:
    """Return a table of observations: remarks of rules that save no time by themselves."""
    rows = (
        {
            **asdict(trace.trace),
            **asdict(observation),
            **asdict(observation.where),
            "query": observation.evidence.query,
            "id": observation.finding_id,
        }
        for trace in report.traces
        for observation in trace.observations
    )
    return _make_typed_frame(f"rule title text {_WHERE} fix query id", rows, (Observation, Where), {})


def tabulate_ledger(report: Report) -> pd.DataFrame:
    """Return a table with a row for each device and category with time in counted steps, largest first.

    For each device the `dur_ns` add up to the counted steps exactly.
    """
    rows = (
        {**asdict(trace.trace), **asdict(part), "device": device.device, "device_name": device.name}
        for trace in report.traces
        for device in trace.ledger
        for part in device.parts
    )
    names = "device device_name category dur_ns per_step_ns step_share"
    return _make_typed_frame(names, rows, (DeviceLedger, LedgerPart), {})


def tabulate_steps(report: Report) -> pd.DataFrame:
    """Return a table of counted steps, with a column for each ledger category of the busiest device.

    These columns add up to `dur_ns` exactly. A trace without GPU activity has no rows.
    """
    columns = {category: f"{category}_ns" for category in CATEGORIES}
    rows = (
        {
            **asdict(trace.trace),
            "step": step.step,
            "dur_ns": step.dur,
            **{name: dict(step.parts).get(category, 0) for category, name in columns.items()},
        }
        for trace in report.traces
        for step in trace.step_ledgers
    )
    names = ["step", "dur_ns", *columns.values()]
    return _make_typed_frame(" ".join(names), rows, (), dict.fromkeys(names, int))


def _make_typed_frame(
    names: str, rows: Iterable[Mapping[str, Any]], kinds: Sequence[type], types: Mapping[str, type]
) -> pd.DataFrame:
    """Return a DataFrame with the columns `trace_id`, `rank` and `names`, even if there are no rows.

    A column's type comes from `types`, else from the field of that name in the records `kinds`; others are text.
    """
    hints = {name: hint for kind in (TraceFacts, *kinds) for name, hint in get_type_hints(kind).items()}
    columns = ["trace_id", "rank", *names.split()]
    dtypes = {name: _choose_dtype(types.get(name) or hints.get(name, str)) for name in columns}
    # As objects first: as numbers those of a column in which some are missing would be rounded to floats.
    return make_frame(rows, columns, object).astype(dtypes)


def make_frame(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None, dtype: type | None = None
) -> pd.DataFrame:
    """Return a DataFrame of the rows, with the given columns or all they have. Raises MissingTool without pandas."""
    pandas = import_extra("pandas", "frames", "data frames")
    frame: pd.DataFrame = pandas.DataFrame(list(rows), columns=columns, dtype=dtype)
    return frame


def _choose_dtype(hint: Any) -> str:
    """Return the pandas dtype for a type hint; whole numbers that may be None are Int64."""
    kinds = get_args(hint) or (hint,)
    if int in kinds:
        return "Int64" if type(None) in kinds else "int64"
    return "float64" if float in kinds else "bool" if bool in kinds else "string"
