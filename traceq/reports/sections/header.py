"""The header: which file, which profiler, which GPU, what a time is per."""

from __future__ import annotations

from traceq.common.units import duration, share, some
from traceq.reports.document import Name, Paragraph
from traceq.reports.model import TraceReport
from traceq.reports.sections.verdict import judges_a_part

_BETWEEN = " · "


def header(report: TraceReport) -> Paragraph:
    """File, profiler, GPUs, rank, steps and how much of the capture is judged, in a line."""
    facts = report.trace
    spans: list[str] = [Name(facts.file)]
    spans += [_BETWEEN, Name(facts.producer or f"{facts.format}, unknown profiler")]
    for number, device in gpus(report).items():
        spans += [_BETWEEN, f"{number} x " if number > 1 else "", Name(device)]
    if facts.rank is not None:
        spans.append(f"{_BETWEEN}rank {facts.rank}{'' if facts.world_size is None else f' of {facts.world_size}'}")
    spans += [_BETWEEN, *_unit(report)]
    return Paragraph(tuple(spans))


def gpus(report: TraceReport) -> dict[int, str]:
    """How many GPUs of which model were at work; several models stand as one."""
    used = [device.name or "GPU without a name" for device in report.devices if device.slices]
    return {len(used): " and ".join(dict.fromkeys(used))} if used else {}


def _unit(report: TraceReport) -> tuple[str, ...]:
    steps = report.steps
    if steps.source is None:
        return ("no steps",)
    part = f", {share(report.judged_share)} of the capture" if judges_a_part(report) else ""
    if steps.is_window:
        return (f"no steps found: one window of {duration(steps.p50)}{part}",)
    like = (" like ", Name(steps.example)) if steps.example else ()
    return (some(steps.counted, "step"), *like, part)
