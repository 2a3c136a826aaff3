"""Ask GPU training traces where the time went.

    import traceq

    traceq.report("profile.sqlite")  # shows itself in a notebook; .findings is a DataFrame
    traceq.ingest(["profile.sqlite"], "profile.duckdb")
    with traceq.open("profile.duckdb") as traces:
        frame = traces.sql("select name, sum(dur) as dur from kernel group by all order by dur desc").df()

`import traceq` is cheap: DuckDB and Arrow are loaded at the first use of a name that needs them.
"""

from __future__ import annotations

from traceq.common.version import __version__

TYPE_CHECKING = False  # typing's is the same to type checkers, and importing typing takes longer than all else here
if TYPE_CHECKING:
    from traceq import annotate
    from traceq.app import plots
    from traceq.app.anonymise import anonymise
    from traceq.app.api import (
        batch_limits,
        check,
        compare,
        compare_memory,
        compile_log,
        convert,
        doctor,
        estimate,
        explain_hang,
        export,
        goodput,
        history_add,
        history_show,
        ingest,
        noise,
        report,
        tradeoff,
        trim,
        verify,
        whatif,
        whatif_choices,
        whatif_platform,
    )
    from traceq.app.api import open_traces as open  # noqa: A004 - traceq.open reads as it should
    from traceq.app.batch_limits import BatchLimitsView
    from traceq.app.check import CheckView
    from traceq.app.compare import ComparisonView
    from traceq.app.compare_memory import MemoryComparisonView
    from traceq.app.compile_log import CompileLogView
    from traceq.app.doctor import HealthView
    from traceq.app.estimate import EstimateView
    from traceq.app.goodput import GoodputView
    from traceq.app.hang import HangView
    from traceq.app.history import HistoryView
    from traceq.app.noise import NoiseView
    from traceq.app.open import Traces
    from traceq.app.report import ReportView
    from traceq.app.tradeoff import TradeoffView
    from traceq.app.verify import VerificationView
    from traceq.app.whatif import WhatIfChoicesView, WhatIfView
    from traceq.app.whatif_platform import PlatformView
    from traceq.capture.profile import profile
    from traceq.errors import (
        BrokenIdentity,
        MissingTool,
        NoSuchFinding,
        NoSuchRule,
        NoTraces,
        ProgramFailed,
        QueryError,
        SchemaMismatch,
        StoreError,
        TraceqError,
        UnknownFormat,
        UnknownMetric,
        UnreachableProgram,
        UnusableBaseline,
        UnusableBudget,
        UnusableCalibration,
        UnusableLabel,
        UnusablePlugin,
        UnusableRule,
        UnusableTrace,
        WrongUse,
    )

__all__ = [
    "BatchLimitsView",
    "BrokenIdentity",
    "CheckView",
    "ComparisonView",
    "CompileLogView",
    "EstimateView",
    "GoodputView",
    "HangView",
    "HealthView",
    "HistoryView",
    "MemoryComparisonView",
    "MissingTool",
    "NoSuchFinding",
    "NoSuchRule",
    "NoTraces",
    "NoiseView",
    "PlatformView",
    "ProgramFailed",
    "QueryError",
    "ReportView",
    "SchemaMismatch",
    "StoreError",
    "TraceqError",
    "Traces",
    "TradeoffView",
    "UnknownFormat",
    "UnknownMetric",
    "UnreachableProgram",
    "UnusableBaseline",
    "UnusableBudget",
    "UnusableCalibration",
    "UnusableLabel",
    "UnusablePlugin",
    "UnusableRule",
    "UnusableTrace",
    "VerificationView",
    "WhatIfChoicesView",
    "WhatIfView",
    "WrongUse",
    "__version__",
    "annotate",
    "anonymise",
    "batch_limits",
    "check",
    "compare",
    "compare_memory",
    "compile_log",
    "convert",
    "doctor",
    "estimate",
    "explain_hang",
    "export",
    "goodput",
    "history_add",
    "history_show",
    "ingest",
    "noise",
    "open",
    "plots",
    "profile",
    "report",
    "tradeoff",
    "trim",
    "verify",
    "whatif",
    "whatif_choices",
    "whatif_platform",
]

# The modules of public names that are neither errors nor functions of traceq.app.api.
_MODULES = {
    "BatchLimitsView": "traceq.app.batch_limits",
    "CheckView": "traceq.app.check",
    "ComparisonView": "traceq.app.compare",
    "CompileLogView": "traceq.app.compile_log",
    "EstimateView": "traceq.app.estimate",
    "GoodputView": "traceq.app.goodput",
    "HangView": "traceq.app.hang",
    "HealthView": "traceq.app.doctor",
    "HistoryView": "traceq.app.history",
    "MemoryComparisonView": "traceq.app.compare_memory",
    "NoiseView": "traceq.app.noise",
    "PlatformView": "traceq.app.whatif_platform",
    "ReportView": "traceq.app.report",
    "Traces": "traceq.app.open",
    "TradeoffView": "traceq.app.tradeoff",
    "VerificationView": "traceq.app.verify",
    "WhatIfChoicesView": "traceq.app.whatif",
    "WhatIfView": "traceq.app.whatif",
    "annotate": "traceq.annotate",
    "anonymise": "traceq.app.anonymise",
    "plots": "traceq.app.plots",
    "profile": "traceq.capture.profile",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_MODULES.get(name, "traceq.app.api" if name.islower() else "traceq.errors"))
    return module if name in ("annotate", "plots") else getattr(module, "open_traces" if name == "open" else name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
