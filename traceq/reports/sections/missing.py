"""The words about what a trace does not hold: which option of its profiler brings it."""

from __future__ import annotations

from traceq.diagnosis.program import Program, program_from
from traceq.formats.capabilities import METRICS, format_of
from traceq.formats.format import Capture, Format
from traceq.reports.document import Literal, Spans
from traceq.reports.model import TraceReport

_UNKNOWN = Program()


def program_of_report(report: TraceReport) -> Program:
    """Return the facts on the program (framework, vendor, ...) as the report shows them."""
    return program_from((each.property, each.value) for each in report.program)


def how_to_capture(metric: str, trace_format: str, program: Program = _UNKNOWN) -> Spans:
    """Return a phrase on how to capture a metric: the call of the trace's own profiler, else of another one, else why not.

    `trace_format` is the name of the trace's format.
    """
    form = format_of(trace_format)
    own = form.captures.get(metric)
    if own is None or not _can_record(form, program):
        return ("its profiler would have to record it",)
    if isinstance(own, Capture):
        return ("capture with ", Literal(_spell_call(trace_format, own)), *cite_plan(metric))
    for each, capture in METRICS[metric].captures(form):
        if isinstance(capture, Capture) and _can_record(each, program):
            return (f"{each.profiler} can record it: ", Literal(_spell_call(each.name, capture)), *cite_plan(metric))
    return (own if program.may_be_pytorch else f"{form.profiler} does not record it", *cite_plan(metric))


def _can_record(form: Format, program: Program) -> bool:
    return form.can_record(of_pytorch=program.may_be_pytorch, of_amd=program.is_amd)


def capture_with(report: TraceReport, metric: str) -> Spans:
    """Return a phrase on how to capture the metric for the report's program and profiler."""
    return how_to_capture(metric, report.trace.format, program_of_report(report))


def cite_plan(metric: str) -> Spans:
    """Return " (traceq doctor --plan METRIC)", the command that plans a capture of the metric."""
    return (" (", Literal(f"traceq doctor --plan {metric}"), ")")


def how_to_record(report: TraceReport, name: str, before: str, after: str = "") -> Spans:
    """Return `before`, the profiler's options that record the input `name` (a key of Format.ways), and `after`.

    Empty if they are unknown or the profiler cannot record it.
    """
    program = program_of_report(report)
    words = format_of(report.trace.format).way(name, of_pytorch=program.may_be_pytorch, of_amd=program.is_amd)
    if not words:
        return ()
    parts = words.split("`") if "`" in words else ("", words)
    return (before, *(Literal(part) if number % 2 else part for number, part in enumerate(parts) if part), after)


def _spell_call(trace_format: str, capture: Capture) -> str:
    form = format_of(trace_format)
    return form.call.format(form.spelled(capture.options))
