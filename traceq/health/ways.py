"""How another capture brings a metric: the options of the profiler that made the trace, or else of the other one."""

from __future__ import annotations

from dataclasses import dataclass

from traceq.capture.plan import Metric, Nsys, Torch

# trace.format -> the profiler that writes it.
_TOOLS = {"nsys": "nsys", "chrome": "torch.profiler"}


@dataclass(frozen=True)
class Way:
    """What a profiler is told, and what else matters; without `options` it cannot give the metric, and `note` says why."""

    tool: str
    options: str | None
    note: str


def ways(metric: Metric, format_: str) -> tuple[Way, ...]:
    """The way of the profiler that writes traces of `format_`; of both profilers when that one cannot or is unknown."""
    told = (_nsys(metric.nsys), _torch(metric.torch))
    own = tuple(way for way in told if way.tool == _TOOLS.get(format_) and way.options)
    return own or told


def _nsys(plan: Nsys | str) -> Way:
    if isinstance(plan, str):
        return Way("nsys", None, plan)
    return Way("nsys", " ".join([f"--trace={','.join(plan.trace)}", *plan.options]), plan.note)


def _torch(plan: Torch | str) -> Way:
    if isinstance(plan, str):
        return Way("torch.profiler", None, plan)
    flags = [f"{flag}=True" for flag in plan.flags]
    if plan.experimental:
        inner = ", ".join(f"{flag}=True" for flag in plan.experimental)
        flags.append(f"experimental_config=_ExperimentalConfig({inner})")
    activities = f"activities=[CPU{', CUDA' if plan.cuda else ''}]"
    return Way("torch.profiler", ", ".join(flags) or activities, plan.note)
