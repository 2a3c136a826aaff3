"""Ask GPU training traces where the time went.

    import traceq

    traceq.report("profile.sqlite")  # shows itself in a notebook; .findings is a DataFrame
    traceq.ingest(["profile.sqlite"], "profile.duckdb")
    with traceq.open("profile.duckdb") as traces:
        frame = traces.sql("select name, sum(dur) as dur from kernel group by all order by dur desc").df()

`import traceq` is cheap: DuckDB and Arrow are loaded at the first use of a name that needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from traceq.common.version import __version__

if TYPE_CHECKING:
    from traceq import annotate
    from traceq.app import plots
    from traceq.app.anonymise import anonymise
    from traceq.app.api import (
        check,
        compare,
        compare_memory,
        convert,
        doctor,
        export,
        ingest,
        noise,
        report,
        tradeoff,
        trim,
        verify,
        whatif,
        whatif_choices,
    )
    from traceq.app.api import open_traces as open  # noqa: A004 - traceq.open reads as it should
    from traceq.app.check import CheckView
    from traceq.app.compare import ComparisonView
    from traceq.app.compare_memory import MemoryComparisonView
    from traceq.app.doctor import HealthView
    from traceq.app.noise import NoiseView
    from traceq.app.open import Traces
    from traceq.app.report import ReportView
    from traceq.app.tradeoff import TradeoffView
    from traceq.app.verify import VerificationView
    from traceq.app.whatif import WhatIfChoicesView, WhatIfView
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
    "BrokenIdentity",
    "CheckView",
    "ComparisonView",
    "HealthView",
    "MemoryComparisonView",
    "MissingTool",
    "NoSuchFinding",
    "NoSuchRule",
    "NoTraces",
    "NoiseView",
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
    "check",
    "compare",
    "compare_memory",
    "convert",
    "doctor",
    "export",
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
]

# Public name -> where it lives; what is not listed is an error, under its own name.
_ELSEWHERE = {
    "CheckView": ("traceq.app.check", "CheckView"),
    "ComparisonView": ("traceq.app.compare", "ComparisonView"),
    "MemoryComparisonView": ("traceq.app.compare_memory", "MemoryComparisonView"),
    "HealthView": ("traceq.app.doctor", "HealthView"),
    "NoiseView": ("traceq.app.noise", "NoiseView"),
    "ReportView": ("traceq.app.report", "ReportView"),
    "TradeoffView": ("traceq.app.tradeoff", "TradeoffView"),
    "Traces": ("traceq.app.open", "Traces"),
    "VerificationView": ("traceq.app.verify", "VerificationView"),
    "WhatIfChoicesView": ("traceq.app.whatif", "WhatIfChoicesView"),
    "WhatIfView": ("traceq.app.whatif", "WhatIfView"),
    "anonymise": ("traceq.app.anonymise", "anonymise"),
    "check": ("traceq.app.api", "check"),
    "compare": ("traceq.app.api", "compare"),
    "compare_memory": ("traceq.app.api", "compare_memory"),
    "convert": ("traceq.app.api", "convert"),
    "doctor": ("traceq.app.api", "doctor"),
    "export": ("traceq.app.api", "export"),
    "ingest": ("traceq.app.api", "ingest"),
    "noise": ("traceq.app.api", "noise"),
    "open": ("traceq.app.api", "open_traces"),
    "profile": ("traceq.capture.profile", "profile"),
    "report": ("traceq.app.api", "report"),
    "tradeoff": ("traceq.app.api", "tradeoff"),
    "trim": ("traceq.app.api", "trim"),
    "verify": ("traceq.app.api", "verify"),
    "whatif": ("traceq.app.api", "whatif"),
    "whatif_choices": ("traceq.app.api", "whatif_choices"),
}

_MODULES = {"annotate": "traceq.annotate", "plots": "traceq.app.plots"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _MODULES:
        return import_module(_MODULES[name])
    module, attribute = _ELSEWHERE.get(name, ("traceq.errors", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
