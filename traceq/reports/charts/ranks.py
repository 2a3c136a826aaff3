"""The mean step of each rank: which one computes, communicates or idles more than the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.common.units import count, duration
from traceq.reports.charts.bars import bars
from traceq.reports.charts.sheet import styled
from traceq.reports.charts.stack import Column, stack
from traceq.reports.document import BarRow
from traceq.reports.model import Report, TraceReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEWEST = 2
_MOST_BARS = 12
_COPIES = "copies and memsets"
_PARTS = ("compute", "communication", _COPIES, "idle")


def applies(report: Report) -> bool:
    """Whether there is something to compare."""
    return len(_ranks(report)) >= _FEWEST


@styled
def ranks(report: Report) -> Figure:
    """A stacked bar for each trace, in the order of ranks; of many a column."""
    columns = _ranks(report)
    if len(columns) > _MOST_BARS:
        return stack(f"mean step by {_word(report)}", columns, f"{_word(report)}s")
    rows = [
        BarRow(f"{_word(report)} {column.label}", tuple(column.parts.items()), duration(column.total))
        for column in columns
    ]
    shown = [kind for kind in _PARTS if any(column.parts[kind] for column in columns)]
    return bars("mean step", rows, [(kind, kind) for kind in shown])


def alt(report: Report) -> str:
    """The longest and the shortest mean step, and in what they differ most."""
    columns = _ranks(report)
    longest = max(columns, key=lambda column: column.total)
    shortest = min(columns, key=lambda column: column.total)
    word = _word(report)
    most = max(_PARTS, key=lambda kind: _spread(columns, kind))
    low, high = (least_or_most(column.parts[most] for column in columns) for least_or_most in (min, max))
    return (
        f"Mean step of {count(len(columns))} {word}s, stacked: {duration(shortest.total)} ({word} {shortest.label}) to"
        f" {duration(longest.total)} ({word} {longest.label})."
        f" They differ most in {most}: {duration(low)} to {duration(high)}."
    )


def _spread(columns: list[Column], kind: str) -> float:
    return max(column.parts[kind] for column in columns) - min(column.parts[kind] for column in columns)


def _ranks(report: Report) -> list[Column]:
    by_rank = _word(report) == "rank"
    numbered = [
        (each.trace.rank if by_rank and each.trace.rank is not None else each.trace.trace_id, each)
        for each in report.traces
        if each.step_ledgers
    ]
    return [_mean_step(str(number), each) for number, each in sorted(numbered, key=lambda pair: pair[0])]


def _word(report: Report) -> str:
    """Ranks name traces where each has another one."""
    numbers = [each.trace.rank for each in report.traces if each.step_ledgers]
    return "rank" if None not in numbers and len(set(numbers)) == len(numbers) else "trace"


def _mean_step(label: str, report: TraceReport) -> Column:
    parts = dict.fromkeys(_PARTS, 0.0)
    for step in report.step_ledgers:
        for category, dur in step.parts:
            parts[_part(category)] += dur / len(report.step_ledgers)
    return Column(label, parts)


def _part(category: str) -> str:
    if category.startswith("idle"):
        return "idle"
    return category if category in _PARTS else _COPIES
