"""The mean step of each rank: which one computes, communicates or idles more than the others."""

from __future__ import annotations

from traceq.analysis.categories import is_idle, label
from traceq.common.units import count, duration
from traceq.reports.charts.stack import StackColumn, draw_columns
from traceq.reports.drawing import Drawing
from traceq.reports.model import Report, TraceReport

_FEWEST = 2
_COPIES, _EARLIER = "copies and memsets", "idle_earlier_work"
_PARTS = ("compute", "communication", _COPIES, _EARLIER, "idle")


def has_data(report: Report) -> bool:
    """Return whether two or more traces have ledgers of counted steps."""
    return len(_list_columns(report)) >= _FEWEST


def draw(report: Report) -> Drawing:
    """Draw the mean step of each trace as a stacked bar (compute, communication, copies, earlier work, idle), in order of ranks.

    Many traces are drawn as a stacked area.
    """
    columns = _list_columns(report)
    word = _trace_word(report)
    legend = {kind: label(kind) for kind in _PARTS if any(column.parts[kind] for column in columns)}
    return draw_columns(f"mean step by {word}", columns, word, legend, lambda column: duration(column.total))


def describe(report: Report) -> str:
    """Return sentences on the longest and the shortest mean step, and on the part in which the traces differ most."""
    columns = _list_columns(report)
    longest = max(columns, key=lambda column: column.total)
    shortest = min(columns, key=lambda column: column.total)
    word = _trace_word(report)
    spans = [[column.parts[kind] for column in columns] for kind in _PARTS]
    extremes = {kind: (min(parts), max(parts)) for kind, parts in zip(_PARTS, spans, strict=True)}
    most = max(_PARTS, key=lambda kind: extremes[kind][1] - extremes[kind][0])
    low, high = extremes[most]
    return (
        f"Mean step of {count(len(columns))} {word}s, stacked: {duration(shortest.total)} ({word} {shortest.label}) to"
        f" {duration(longest.total)} ({word} {longest.label})."
        f" They differ most in {label(most)}: {duration(low)} to {duration(high)}."
    )


def _list_columns(report: Report) -> list[StackColumn]:
    """Return the mean step of each trace with ledgers as a column, sorted by rank, or by trace where ranks do not tell apart."""
    by_rank = _trace_word(report) == "rank"
    numbered = [
        (trace.trace.rank if by_rank and trace.trace.rank is not None else trace.trace.trace_id, trace)
        for trace in report.traces
        if trace.step_ledgers
    ]
    return [_mean_step(str(number), trace) for number, trace in sorted(numbered, key=lambda pair: pair[0])]


def _trace_word(report: Report) -> str:
    """Return "rank" if every trace with ledgers has a rank number that no other has, otherwise "trace"."""
    numbers = [trace.trace.rank for trace in report.traces if trace.step_ledgers]
    return "rank" if None not in numbers and len(set(numbers)) == len(numbers) else "trace"


def _mean_step(number: str, report: TraceReport) -> StackColumn:
    """Return the mean counted step as a column: ns of compute, communication, copies (and memsets), earlier work and idle time.

    Earlier work is what was launched before the capture: the GPU works then.
    """
    parts = dict.fromkeys(_PARTS, 0.0)
    for step in report.step_ledgers:
        for category, dur in step.parts:
            part = "idle" if is_idle(category) else category if category in _PARTS else _COPIES
            parts[part] += dur / len(report.step_ledgers)
    return StackColumn(number, parts)
