"""The counted steps: their durations, and where the time of each went on the device that findings are about."""

from __future__ import annotations

from collections import Counter
from math import isqrt

from traceq.analysis.categories import label
from traceq.common.units import count, duration, share
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.stack import StackColumn, choose_parts, draw_stack, draw_time_bars, join_rest, make_legend
from traceq.reports.document import BarRow
from traceq.reports.drawing import (
    LABELLED_TOP,
    Axis,
    Drawing,
    Panel,
    Rect,
    Shape,
    Stroke,
    Text,
    choose_time_unit,
    make_axis,
)
from traceq.reports.model import TraceReport

_DESCRIBED = 4
_FEWEST_STEPS = 5
_FEWEST_BINS, _MOST_BINS = 12, 40
# With more, the single steps cannot be told apart.
_MOST_TICKS = 200
_RUG = 0.06
# The axis of durations begins at 0 where the shortest step is below this part of the longest.
_FROM_ZERO = 0.5
_LINE = 14.0
_QUANTILES = ("p95", "p50")


def has_ledger(report: TraceReport) -> bool:
    """Return whether any counted step has a ledger."""
    return any(step.dur for step in report.step_ledgers)


def draw_ledger(report: TraceReport) -> Drawing:
    """Draw the time of each counted step by category as a stacked area; a single step is one bar."""
    columns = _list_columns(report)
    if len(columns) > 1:
        return draw_stack("where the time went on the GPU, by step", columns, "step")
    kinds = choose_parts(columns)
    column = join_rest(columns[0], kinds)
    row = BarRow("", tuple(column.parts.items()), duration(column.total))
    name, legend = _step_name(report), make_legend([column], kinds)
    return draw_time_bars(f"where the time of {name} went on the GPU", [row], f"time of {name}", legend)


def describe_ledger(report: TraceReport) -> str:
    """Return sentences on the up to 4 largest categories of the counted steps, with their shares, and on the longest step."""
    columns = _list_columns(report)
    total = sum(column.total for column in columns)
    kinds = {kind for column in columns for kind in column.parts}
    sums = {kind: sum(column.parts.get(kind, 0) for column in columns) for kind in kinds}
    largest = sorted(sums.items(), key=lambda part: (-part[1], part[0]))
    words = ", ".join(f"{label(kind)} {share(dur / total)}" for kind, dur in largest[:_DESCRIBED])
    others = ", the rest other categories" if len(largest) > _DESCRIBED else ""
    if len(columns) == 1:
        return f"Where the {duration(total)} of {_step_name(report)} went on the GPU: {words}{others}."
    longest = max(columns, key=lambda column: column.total)
    return (
        f"Where the time of {count(len(columns))} steps went on the GPU, {duration(total / len(columns))} each on average:"
        f" {words}{others}. The longest is step {longest.label} with {duration(longest.total)}."
    )


def _step_name(report: TraceReport) -> str:
    """Return "the window" if the trace has no steps, otherwise "step N" for the first counted step."""
    return "the window" if report.steps.is_window else f"step {report.step_ledgers[0].step}"


def _list_columns(report: TraceReport) -> list[StackColumn]:
    """Return a column for each counted step: the ns of its ledger's categories, labelled with its number."""
    return [StackColumn(str(step.step), {kind: float(dur) for kind, dur in step.parts}) for step in report.step_ledgers]


def has_times(report: TraceReport) -> bool:
    """Return whether there are 5 or more counted steps, enough for a distribution."""
    return len(report.step_ledgers) >= _FEWEST_STEPS


def draw_times(report: TraceReport) -> Drawing:
    """Draw a histogram of the durations of counted steps, with lines at the median and the 95th percentile.

    Below it each step has a tick, unless there are more than 200.
    """
    durations = [step.dur for step in report.step_ledgers]
    unit = choose_time_unit(max(durations))
    times = [time / unit.size for time in durations]
    low, high = min(times), max(times)
    around = (high - low) * 0.02 or high * 0.02 or 1.0
    # From 0 all steps would be in one bar where they differ by little.
    begin = 0.0 if low < _FROM_ZERO * high else low - around
    cut = f"; the axis begins at {begin:,.4g}" if begin else ""
    x = make_axis(begin, high + around, label=f"duration of a step ({unit.name}{cut})")
    bins = min(max(2 * isqrt(len(times)), _FEWEST_BINS), _MOST_BINS)
    wide = (x.high - x.low) / bins
    numbers = Counter(min(int(x.locate(time) * bins), bins - 1) for time in times)
    marks: list[Shape] = [
        Rect("compute", x.low + place * wide, 0, wide, each) for place, each in sorted(numbers.items())
    ]
    top = max(numbers.values()) * 1.05
    y = make_axis(0, top, has_grid=True, whole=True, label="steps")
    if len(times) <= _MOST_TICKS:
        rug = -_RUG * top
        y = Axis(rug, top, y.ticks, has_grid=True, label=y.label)
        marks.append(Stroke([[(time, rug), (time, 0)] for time in times], width=0.8))
    for line, name in enumerate(_QUANTILES):
        value = getattr(report.steps, f"{name}_ns")
        if value is not None:
            marks += _draw_quantile(x, y, value / unit.size, f"{name} {duration(value)}", 4 + line * _LINE)
    panel = Panel(marks, x, y, height=140.0, top=LABELLED_TOP + len(_QUANTILES) * _LINE, right=15)
    return Drawing("number of steps by duration", [panel])


def _draw_quantile(x: Axis, y: Axis, value: float, text: str, up: float) -> list[Shape]:
    """Return a dashed vertical line at `value` and its text; `up` is how far the text is raised, points."""
    anchor = Text(text, value, y.high, 0, up, "end" if value > x.middle else "start", is_above=True)
    return [Stroke([[(value, y.low), (value, y.high)]], dashes="5 3"), anchor]


def describe_times(report: TraceReport) -> str:
    """Return a sentence with the number of steps, and the shortest, median, 95th percentile and longest."""
    steps = report.steps
    return (
        f"Distribution of the durations of {count(len(report.step_ledgers))} steps: from {duration(steps.min_ns)} to"
        f" {duration(steps.max_ns)}, the median {duration(steps.p50_ns)}, the 95th percentile {duration(steps.p95_ns)}."
    )


LEDGER = Chart("step-ledger", "headline", draw_ledger, has_ledger, describe_ledger, "no GPU activity in counted steps")
TIMES = Chart("step-times", "steps", draw_times, has_times, describe_times, "too few steps to compare")
