"""The step time over the whole run, by a training log, with the captured steps marked."""

from __future__ import annotations

from traceq.common.units import count, duration
from traceq.reports.charts.chart import Chart
from traceq.reports.drawing import Drawing, Panel, Rect, Shape, Stroke, Text, choose_time_unit, make_axis
from traceq.reports.model import TraceReport
from traceq.reports.topics.run import RunLog, RunPoint

_FEWEST_POINTS = 5
# Start-up and evaluations may take a hundred times as long as a step: what is above this times the usual is cut.
_HIGHEST = 4.0
_ROOM = 1.1
_ABOVE = 18.0


def has_data(report: TraceReport) -> bool:
    """Return whether a training log tells enough step times to draw."""
    return _choose_log(report) is not None


def draw_run(report: TraceReport) -> Drawing:
    """Draw the median step time over the steps of the log, its spread, where it changed, and where the captured steps lie.

    Raises ValueError without data.
    """
    chosen = _choose_log(report)
    if chosen is None:
        raise ValueError("the report has no step times of a training log; ask run.has_data() first")
    log, points = chosen
    usual = sorted(point.median_ns for point in points)[len(points) // 2]
    top = min(max(point.longest_ns for point in points), _HIGHEST * usual)
    unit = choose_time_unit(top)
    y = make_axis(0, top / unit.size * _ROOM, has_grid=True, label=f"duration of a step ({unit.name})")
    first, last = points[0].first_step, points[-1].last_step
    x = make_axis(first, max(last, first + 1), label=f"step, as {log.file} counts")

    def height_of(time: int) -> float:
        return min(time, top) / unit.size

    spread = [
        [(place, height_of(point.shortest_ns)), (place, height_of(point.longest_ns))]
        for point in points
        for place in ((point.first_step + point.last_step) / 2,)
    ]
    middle = [((point.first_step + point.last_step) / 2, height_of(point.median_ns)) for point in points]
    shapes: list[Shape] = [Stroke(spread, "other", 0.8), Stroke([middle])]
    if places := _list_places(report, log):
        shapes.append(Stroke([[(place, y.low), (place, y.high)] for place in places], "idle_data", dashes="3 2"))
    if log.window_first is not None and log.window_last is not None:
        wide = max(log.window_last - log.window_first + 1, (last - first) / 200)
        shapes.append(Rect("compute", log.window_first - 0.5, 0, wide, y.high, 0.35))
        is_late = log.window_first > x.middle
        shapes.append(Text("captured", log.window_first, y.high, 0, 4, "end" if is_late else "start", is_above=True))
    return Drawing("step time over the whole run", [Panel(shapes, x, y, top=_ABOVE * 2)])


def describe_course(report: TraceReport) -> str:
    """Return sentences on the course of the step time, and on where the captured steps lie; empty without data."""
    chosen = _choose_log(report)
    if chosen is None:
        return ""
    log, points = chosen
    low, high = min(point.median_ns for point in points), max(point.median_ns for point in points)
    said = (
        f"Time a step over steps {count(points[0].first_step)} to {count(points[-1].last_step)} of the run: the median of each"
        f" part is between {duration(low)} and {duration(high)}."
    )
    if places := _list_places(report, log):
        said += f" It changed at step{'s' if len(places) > 1 else ''} {', '.join(map(count, sorted(places)))}."
    if log.window_first is None:
        return said
    return f"{said} Captured are steps {count(log.window_first)} to {count(log.window_last)}."


def _list_places(report: TraceReport, log: RunLog) -> list[int]:
    """Return the steps of the log at which the step time began to change, or a window ended."""
    changes = [
        change for change in report.run_changes if change.log_id == log.log_id and change.quantity == "step_time"
    ]
    begins = [change.step for change in changes if change.kind != "slope"]
    return begins + [
        change.until_step for change in changes if change.kind == "window" and change.until_step is not None
    ]


def _choose_log(report: TraceReport) -> tuple[RunLog, list[RunPoint]] | None:
    """Return the log to draw and its points: the first in which the captured steps are placed, else the first with enough."""
    logs = sorted(report.run_logs, key=lambda log: log.window_first is None)
    for log in logs:
        points = [point for point in report.run_points if point.log_id == log.log_id]
        if len(points) >= _FEWEST_POINTS:
            return log, points
    return None


CHART = Chart(
    "run",
    "run",
    draw_run,
    has_data,
    describe_course,
    "no training log beside the trace (--with)",
    queries=("run_points",),
)
