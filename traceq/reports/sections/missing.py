"""The words about what a trace does not hold: which option of its profiler brings it."""

from __future__ import annotations

from traceq.formats.capabilities import METRICS, format_of
from traceq.formats.format import Capture
from traceq.reports.document import Literal, Spans


def brought_by(metric: str, trace_format: str) -> Spans:
    """How to capture a metric: with the profiler that made the trace, else with the one that can."""
    form = format_of(trace_format)
    own = form.captures.get(metric)
    if own is None:
        return ("its profiler would have to record it",)
    if isinstance(own, Capture):
        return ("capture with ", Literal(_call(trace_format, own)), *planned(metric))
    for each, capture in METRICS[metric].captures(form):
        if isinstance(capture, Capture):
            return (f"{each.profiler} can record it: ", Literal(_call(each.name, capture)), *planned(metric))
    return (own, *planned(metric))


def planned(metric: str) -> Spans:
    """Where to read on."""
    return (" (", Literal(f"traceq doctor --plan {metric}"), ")")


def way(name: str, trace_format: str, before: str, after: str = "") -> Spans:
    """What brings an input, by its name in Format.ways, between two texts; nothing where it is not known, or nothing does.

    Options stand between backticks, or alone.
    """
    words = format_of(trace_format).ways.get(name)
    if not words:
        return ()
    parts = words.split("`") if "`" in words else ("", words)
    return (before, *(Literal(part) if number % 2 else part for number, part in enumerate(parts) if part), after)


def _call(trace_format: str, capture: Capture) -> str:
    form = format_of(trace_format)
    return form.call.format(form.spelled(capture.options))
