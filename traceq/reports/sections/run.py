"""The words on the whole run: what training logs tell, and whether the captured steps are usual ones."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import UNKNOWN, count, duration, share, short, some, time_span
from traceq.reports.document import Block, Heading, Literal, Name, Paragraph, Query, Spans
from traceq.reports.model import TraceReport
from traceq.reports.run_words import LABELS
from traceq.reports.sections.pictures import draw_pictures
from traceq.reports.sections.run_changes import describe_changes
from traceq.reports.topics.run import RunLog

# Steps of the middle half, or this close to the median, are usual. In a short run the captured steps are many of all, so
# that slow ones would never be beyond a higher percentile.
_LOW, _HIGH = 25, 75
_NEAR = 0.05
# In a trace steps are somewhat longer; beyond this it is another step that the log counts.
_ODD = 1.5
_MOST_PHASES = 3


def describe_run(report: TraceReport) -> Iterator[Block]:
    """Yield the section on the whole run: a paragraph a log, where steps changed, and a chart; nothing without a training log."""
    if not report.run_logs:
        return
    yield Heading(3, ("The whole run",), anchor="run")
    for log in report.run_logs:
        yield Paragraph((*_say_what_it_holds(log), " ", *place_window(log)))
    yield from describe_changes(report.run_changes)
    if report.run_phases:
        yield Paragraph(_say_where_it_went(report))
    yield from draw_pictures(report, "run")
    yield Query(report.queries["run_logs"])
    if report.run_changes:
        yield Query(report.queries["run_changes"])
    if report.run_phases:
        yield Query(report.queries["run_phases"])


def summarize_run(report: TraceReport) -> Iterator[Block]:
    """Yield a line on whether the captured steps are usual, by the first log that they could be placed in.

    Where they are placed in none, it says so and why; nothing without a training log.
    """
    chosen = next((log for log in report.run_logs if log.ratio is not None), None)
    for log in (chosen,) if chosen else report.run_logs[:1]:
        yield Paragraph(place_window(log))


def _say_what_it_holds(log: RunLog) -> Spans:
    if not log.steps:
        return (Name(log.file), f" (format {log.format}): no steps.")
    attempts = f" in {count(log.attempts)} attempts" if log.attempts > 1 else ""
    told = [
        f"{some(log.steps, 'step')}, {count(log.first_step)} to {count(log.last_step)}{attempts}",
        f"median {duration(log.run_step_ns)}" if log.run_step_ns is not None else "without times",
        some(log.gpus, "GPU") if log.gpus else "",
        some(log.checkpoints, "checkpoint") if log.checkpoints else "",
        f"{some(log.failures, 'line')} on failures" if log.failures else "",
        f"{some(log.lines_left_out, 'line')} could not be read as a whole" if log.lines_left_out else "",
    ]
    return (Name(log.file), f" (format {log.format}): {', '.join(filter(None, told))}.")


def _say_where_it_went(report: TraceReport) -> Spans:
    """Return sentences on the share of the run's wall time that went into steps that count, and on most of the rest."""
    wall = sum(phase.dur_ns for phase in report.run_phases)
    good = next((phase.share for phase in report.run_phases if phase.category == "step"), 0.0)
    others = [phase for phase in report.run_phases if phase.category != "step"][:_MOST_PHASES]
    rest = ", ".join(f"{LABELS[phase.category]} {time_span(phase.dur_ns)}" for phase in others)
    return (
        f"Of {time_span(wall)} of the run {share(good)} went into steps that count{f'; into {rest}' if rest else ''}. ",
        Literal("traceq goodput LOG"),
        " says what failures and restarts cost.",
    )


def place_window(log: RunLog) -> Spans:
    """Return a sentence on how the captured steps compare with all steps of the log, or on why that cannot be told."""
    if log.ratio is None or log.percentile is None or log.window_first is None:
        return (
            f"Whether the captured steps are usual: {UNKNOWN} by ",
            Name(log.file),
            f", as {log.reason or 'it has no steps'}.",
        )
    several = log.window_first != log.window_last
    which = f"steps {log.window_first} to {log.window_last}" if several else f"step {log.window_first}"
    if log.window_step_ns and log.trace_ratio is not None and not 1 / _ODD <= log.trace_ratio <= _ODD:
        in_trace = duration(log.trace_ratio * log.window_step_ns)
        both = f"{duration(log.window_step_ns)} there and {in_trace} in the trace"
        return (
            f"Whether the captured steps are usual: {UNKNOWN} by ",
            Name(log.file),
            f": {which} {'take' if several else 'takes'} {both}, so that it counts other steps.",
        )
    usual = f"a median of {duration(log.run_step_ns)} over {some(log.run_steps or 0, 'step')}"
    against = f"{duration(log.window_step_ns)} against {usual}"
    if is_usual(log):
        said = f"The captured {which} {'are' if several else 'is'} usual: {against}."
    else:
        pace = (
            f"{short(log.ratio)} times as long as usual"
            if log.ratio > 1
            else f"only {short(log.ratio)} of the usual time"
        )
        said = f"The captured {which} {'take' if several else 'takes'} {pace}: {against} (percentile {log.percentile:.0f})."
    return (said,)


def is_usual(log: RunLog) -> bool:
    """Return whether the captured steps take about as long as others of the log."""
    if log.ratio is None or log.percentile is None:
        return False
    return abs(log.ratio - 1) <= _NEAR or _LOW <= log.percentile <= _HIGH
