"""Ask GPU training traces where the time went.

    import traceq

    traceq.ingest(["profile.sqlite"], "profile.duckdb")
    with traceq.open("profile.duckdb") as traces:
        frame = traces.sql("select name, sum(dur) as dur from kernel group by all order by dur desc").df()
        report = traces.report()  # shows itself in a notebook; report.findings is a DataFrame

`import traceq` is cheap: DuckDB and Arrow are loaded at the first use of a name that needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceq import annotate, plots
    from traceq.capture.profile import profile
    from traceq.comparison_view import ComparisonView
    from traceq.comparison_view import compare_traces as compare
    from traceq.errors import (
        BrokenIdentity,
        MissingTool,
        NoSuchFinding,
        NoSuchRule,
        NoTraces,
        QueryError,
        SchemaMismatch,
        StoreError,
        TraceqError,
        UnknownFormat,
        UnknownMetric,
        UnusableBaseline,
        UnusableBudget,
        UnusableCalibration,
        UnusableRule,
        UnusableTrace,
    )
    from traceq.report_view import ReportView
    from traceq.store.ingest import ingest
    from traceq.traces import Traces
    from traceq.traces import open_traces as open  # noqa: A004 - traceq.open reads as it should

__version__ = "0.1.0"

__all__ = [
    "BrokenIdentity",
    "ComparisonView",
    "MissingTool",
    "NoSuchFinding",
    "NoSuchRule",
    "NoTraces",
    "QueryError",
    "ReportView",
    "SchemaMismatch",
    "StoreError",
    "TraceqError",
    "Traces",
    "UnknownFormat",
    "UnknownMetric",
    "UnusableBaseline",
    "UnusableBudget",
    "UnusableCalibration",
    "UnusableRule",
    "UnusableTrace",
    "__version__",
    "annotate",
    "compare",
    "ingest",
    "open",
    "plots",
    "profile",
]

# Public name -> where it lives; what is not listed is an error, under its own name.
_ELSEWHERE = {
    "ComparisonView": ("traceq.comparison_view", "ComparisonView"),
    "ReportView": ("traceq.report_view", "ReportView"),
    "Traces": ("traceq.traces", "Traces"),
    "compare": ("traceq.comparison_view", "compare_traces"),
    "ingest": ("traceq.store", "ingest"),
    "open": ("traceq.traces", "open_traces"),
    "profile": ("traceq.capture.profile", "profile"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("annotate", "plots"):
        return import_module(f"traceq.{name}")
    module, attribute = _ELSEWHERE.get(name, ("traceq.errors", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
