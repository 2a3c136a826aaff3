"""The words about what a trace does not hold: which option of the profiler that made it brings it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.capture.plan import METRICS, Nsys
from traceq.reports.document import Literal

if TYPE_CHECKING:
    from traceq.reports.document import Spans


def brought_by(metric: str, trace_format: str) -> Spans:
    """How to capture a metric of capture.plan with the tool that made the trace: "capture with ... ; more: ..."."""
    wanted = METRICS[metric].nsys if trace_format == "nsys" else METRICS[metric].torch
    more: Spans = (" (", Literal(f"traceq doctor --plan {metric}"), ")")
    if isinstance(wanted, str):
        return (f"this profiler cannot tell: {wanted}", *more)
    if isinstance(wanted, Nsys):
        options = " ".join((f"--trace={','.join(wanted.trace)}", *wanted.options))
        return ("capture with ", Literal(f"nsys profile {options}"), *more)
    flags = [f"{flag}=True" for flag in wanted.flags]
    flags += [f"_ExperimentalConfig({flag}=True)" for flag in wanted.experimental]
    if not flags:
        return (*((wanted.note,) if wanted.note else ("capture GPU activity as well",)), *more)
    return ("capture with ", Literal(f"profile({', '.join(flags)})"), *more)
