"""The words about what a trace does not hold: which option of the profiler brings it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.capture.plan import METRICS, Nsys, Torch
from traceq.reports.document import Literal

if TYPE_CHECKING:
    from traceq.reports.document import Spans


def brought_by(metric: str, trace_format: str) -> Spans:
    """How to capture a metric of capture.plan: with the tool that made the trace, else with the one that can."""
    plans = (METRICS[metric].nsys, METRICS[metric].torch)
    own, other = plans if trace_format == "nsys" else plans[::-1]
    if not isinstance(own, str):
        return ("capture with ", Literal(_options(own)), *planned(metric))
    if isinstance(other, str):
        return (own, *planned(metric))
    tool = "torch.profiler" if isinstance(other, Torch) else "nsys"
    return (f"{tool} can record it: ", Literal(_options(other)), *planned(metric))


def planned(metric: str) -> Spans:
    """Where to read on."""
    return (" (", Literal(f"traceq doctor --plan {metric}"), ")")


def _options(wanted: Nsys | Torch) -> str:
    if isinstance(wanted, Nsys):
        return " ".join(("nsys profile", f"--trace={','.join(wanted.trace)}", *wanted.options))
    flags = [f"{flag}=True" for flag in wanted.flags]
    if wanted.experimental:
        flags.append(
            f"experimental_config=_ExperimentalConfig({', '.join(f'{flag}=True' for flag in wanted.experimental)})"
        )
    return f"profile({', '.join(flags)})"
