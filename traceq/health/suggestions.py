"""Suggest captures that bring a metric: the options of the profiler that made the trace, or else of those beside it."""

from __future__ import annotations

from dataclasses import dataclass

from traceq.formats.capabilities import Metric, format_of
from traceq.formats.format import Capture, Format


@dataclass(frozen=True)
class Suggestion:
    """Options of a profiler; without `options` it cannot give the metric, and `note` says why."""

    tool: str
    options: str | None
    note: str


def suggest_captures(
    metric: Metric, trace_format: str, *, of_pytorch: bool = True, of_amd: bool = False
) -> tuple[Suggestion, ...]:
    """Suggest options of the trace's own profiler, or other profilers if it cannot give the metric; nothing if it is unknown.

    `of_pytorch`: whether the program may be PyTorch's; `of_amd`: whether its GPUs are AMD's.
    """
    own = format_of(trace_format)
    capture = own.captures.get(metric.name)
    if capture is None or not own.can_record(of_pytorch=of_pytorch, of_amd=of_amd):
        return ()
    if isinstance(capture, Capture):
        return (_make_suggestion(own, capture),)
    return tuple(
        _make_suggestion(form, other if of_pytorch or isinstance(other, Capture) else "it does not record it")
        for form, other in metric.captures(own)
        if form.can_record(of_pytorch=of_pytorch, of_amd=of_amd)
    )


def _make_suggestion(form: Format, capture: Capture | str) -> Suggestion:
    if isinstance(capture, str):
        return Suggestion(form.profiler, None, capture)
    return Suggestion(form.profiler, form.spelled(capture.options), capture.note)
