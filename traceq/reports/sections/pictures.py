"""The bars and charts of the report, each where it has something to show. All they say stands in words or tables too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from traceq.common.ranks import list_ranks
from traceq.reports.charts import CHARTS, CHARTS_OF_JOBS, activity, ranks, snapshot
from traceq.reports.charts.chart import Place
from traceq.reports.document import BarRow, Bars, Block, Paragraph, Picture, Tracks
from traceq.reports.model import Activity, Job, Report, TraceReport


def draw_pictures(report: TraceReport, place: Place) -> Iterator[Picture]:
    """Yield the charts that belong at `place` in the report and have data."""
    for chart in CHARTS:
        if chart.place == place and chart.has_data(report):
            name = f"t{report.trace.trace_id}-{chart.name}"
            queries = tuple(report.queries[section] for section in chart.queries)
            points = chart.list_points(report) if chart.list_points else None
            yield Picture(name, chart.describe(report), partial(chart.draw, report), queries, points)


def draw_activity(trace_id: int, found: Activity) -> Picture:
    """Return the chart of how busy the GPUs of a trace are over the whole capture."""
    return Picture(f"t{trace_id}-busy", activity.describe_activity(found), partial(activity.draw_activity, found))


def draw_ranks(report: Report) -> Iterator[Picture]:
    """Yield the chart of the mean step of each trace; nothing without several traces to compare."""
    if ranks.has_data(report):
        yield Picture("ranks", ranks.describe(report), partial(ranks.draw, report))


def draw_snapshots(report: Report) -> Iterator[Picture]:
    """Yield the chart of the histories of several memory snapshots, and the SQL for the first; nothing without several."""
    if snapshot.has_snapshots(report.traces):
        told = snapshot.describe_snapshots(report.traces)
        of_first = report.traces[0].queries["memory_snapshot_layers"]
        yield Picture("snapshots", told, partial(snapshot.draw_snapshots, report.traces), (of_first,))


def draw_job_pictures(job: Job) -> Iterator[Picture]:
    """Yield the charts of a job that have data."""
    for chart in CHARTS_OF_JOBS:
        if chart.has_data(job):
            yield Picture(f"job-{chart.name}", chart.describe(job), partial(chart.draw, job))


def draw_job_over_time(job: Job) -> Iterator[Block]:
    """Yield the timeline of a job's ranks, or which of them share no clock with the others, so that there is none."""
    if job.over_time is not None:
        yield Tracks(job.over_time)
        return
    ranks = {member.rank: member.clock_offset_ns for member in job.members if member.device is not None}
    apart = [rank for rank, offset in ranks.items() if offset is None]
    if len(ranks) > 1 and apart:
        which = f"the clock{'s' if len(apart) > 1 else ''} of {list_ranks(apart)} to those of the others"
        which = "the clocks of any two ranks" if len(apart) == len(ranks) else which
        yield Paragraph((f"No timeline of all ranks on one clock: no collective joins {which}.",))


def draw_bars(rows: Sequence[BarRow]) -> Iterator[Block]:
    """Yield one block of bars, without parts that are zero in all rows; nothing for a single row with a single part."""
    present = {label for row in rows for label, amount in row.parts if amount}
    if len(rows) > 1 or len(present) > 1:
        kept = (tuple(part for part in row.parts if part[0] in present) for row in rows)
        yield Bars(tuple(replace(row, parts=parts) for row, parts in zip(rows, kept, strict=True)))
