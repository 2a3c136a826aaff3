"""Charts of jobs draw what the report says of them."""

from __future__ import annotations

from dataclasses import replace

import lazy_import
import pytest
from test_jobs import BALANCED, JOB, MS, UNKNOWN, many, member, report_of

from traceq.reports.charts import CHARTS_OF_JOBS, job_bandwidth, job_grid, job_late, job_own, job_worst, palette
from traceq.reports.charts.svg import svg
from traceq.reports.document import Picture
from traceq.reports.model import Lateness, WorstArrival
from traceq.reports.renderers.to_html import to_html
from traceq.reports.sections.compose import compose

mpl = lazy_import.module("matplotlib")

KINDS = ("usual work", "late ranks", "transfer", "wait")
DRAWN = replace(
    JOB,
    collectives=(JOB.collectives[0], replace(JOB.collectives[0], op="all_gather", bus_bandwidth=20.0)),
    worst=(
        WorstArrival(0, "all_reduce", 1 << 26, 0, 2 * MS, 19 * MS, MS),
        WorstArrival(1, "all_reduce", 1 << 26, 0, 21 * MS, 0, MS),
    ),
)


def bars_of(figure):
    """(row, start, length) of the bars by their kind."""
    (axes,) = figure.axes
    found = {}
    for container in axes.containers:
        for bar in container:
            place = (round(bar.get_y() + bar.get_height() / 2), round(bar.get_x(), 6), round(bar.get_width(), 6))
            found.setdefault(container.get_label(), []).append(place)
    return found


def rows_of(figure):
    (axes,) = figure.axes
    return [text.get_text() for text in axes.get_yticklabels()]


def test_each_has_colours_of_its_own():
    assert set(KINDS) | {"late start"} <= set(palette.COLOURS)


def grid(stages=4, copies=8):
    """A job of so many stages and copies of each; every rank works a little longer than the one before it."""
    members = tuple(
        replace(member(rank, 100 + rank, 0, 0), stage=rank // copies, dp=rank % copies)
        for rank in range(stages * copies)
    )
    return replace(DRAWN, members=members)


@pytest.mark.parametrize("chart", CHARTS_OF_JOBS, ids=lambda chart: chart.name)
def test_each_applies_and_is_small_and_bare(chart):
    job = grid() if chart.name == "grid" else DRAWN
    assert chart.applies(job)
    text = svg(chart.draw(job), "job-x", chart.alt(job))
    assert len(text) < 25_000
    assert "#" not in text.replace("#job", "")


def test_a_job_that_cannot_be_judged_has_none():
    job = replace(UNKNOWN, collectives=(), lateness=(), worst=())
    assert [chart.name for chart in CHARTS_OF_JOBS if chart.applies(job)] == []


def test_late_cells_are_darker_the_later_a_rank_came():
    figure = job_late.job_late(DRAWN)
    assert rows_of(figure) == ["rank 0", "rank 1"]
    assert bars_of(figure)["late ranks"] == [(1, 0, 1), (1, 9, 1)]
    (axes,) = figure.axes
    assert [bar.get_alpha() for container in axes.containers for bar in container] == [1.0, 0.6]
    assert job_late.alt(DRAWN) == (
        "Own time of each of 2 ranks beyond the usual, by step: rank 1 most, in 2 of 10 columns, by 80.00 ms at most."
    )


def test_cells_that_look_alike_are_one():
    job = replace(DRAWN, lateness=tuple(Lateness(0, place, 10, is_step=False, late_by=MS) for place in (3, 4, 5)))
    assert bars_of(job_late.job_late(job))["late ranks"] == [(0, 3, 3)]


def test_of_many_ranks_hosts_have_rows_or_those_that_are_late_most():
    job = many(256)
    assert len(job_late._rows(job)) == 64
    assert "rank 1" in job_late._rows(job)
    hosts = tuple(replace(each, host=f"n{each.rank // 8}") for each in job.members)
    rows = job_late._rows(replace(job, members=hosts))
    assert len(rows) == 32
    assert rows["host n0"] == [80 * MS, *[0] * 8, 40 * MS]


def test_parts_of_a_rank_are_per_step():
    bars = bars_of(job_own.job_own(DRAWN))
    assert bars["usual work"] == [(0, 0, 10 * MS), (1, 0, 10 * MS)]
    assert bars["late ranks"] == [(1, 10 * MS, 80 * MS)]
    assert bars["wait"] == [(0, 12 * MS, 80 * MS)]
    assert "rank 0 waits most, 80.00 ms, rank 1 least, 0 ns" in job_own.alt(DRAWN)


def test_many_ranks_are_columns():
    areas = job_own.job_own(many(40)).findobj(mpl.patches.StepPatch)
    assert {area.get_label() for area in areas} == set(KINDS)
    assert {len(area.get_data().values) for area in areas} == {40}


def test_the_worst_collective_ends_at_once():
    bars = bars_of(job_worst.job_worst(DRAWN))
    assert bars["usual work"] == [(0, -22, 2), (1, -22, 21)]
    assert bars["wait"] == [(0, -20, 19)]
    assert bars["transfer"] == [(0, -1, 1), (1, -1, 1)]
    assert "rank 1 worked 21.00 ms before it, rank 0 2.000 ms and then waited 19.00 ms" in job_worst.alt(DRAWN)
    crowd = tuple(replace(DRAWN.worst[0], rank=rank, wait=rank * MS) for rank in range(40))
    assert rows_of(job_worst.job_worst(replace(DRAWN, worst=crowd)))[-2:] == ["rank 14", "rank 39"]


def test_the_grid_has_a_row_a_stage_and_a_column_a_copy():
    job = grid(stages=2, copies=3)
    figure = job_grid.job_grid(job)
    assert rows_of(figure) == ["stage 0", "stage 1"]
    (axes,) = figure.axes
    cells = [bar for container in axes.containers for bar in container]
    places = {(round(bar.get_y() + 0.47), round(bar.get_x() + 0.47)): bar.get_alpha() for bar in cells}
    assert places == {(0, 0): 0.1, (0, 1): 0.3, (0, 2): 0.5, (1, 0): 0.7, (1, 1): 0.9, (1, 2): 0.9}
    assert job_grid.alt(job) == (
        "Own time of 6 ranks per step, by stage and copy of the model: most on stage 1, copy 2 (10.50 ms), least on stage 0,"
        " copy 0 (10.00 ms)."
    )
    # Of the ranks of a cell the one that works most counts.
    two_a_cell = replace(job, members=(*job.members, replace(job.members[0], own=105 * MS)))
    assert job_grid._cells(two_a_cell)[0, 0] == 105 * MS


@pytest.mark.parametrize("job", [DRAWN, grid(stages=1), grid(copies=1)], ids=["unknown", "one stage", "one copy"])
def test_without_stages_or_copies_there_is_no_grid(job):
    assert not job_grid.applies(job)


def test_bandwidth_has_a_bar_a_kind():
    assert rows_of(job_bandwidth.job_bandwidth(DRAWN)) == ["all-reduce 64 MiB, 2 ranks", "all-gather 64 MiB, 2 ranks"]
    assert "from 20.0 GB/s (all-gather 64 MiB, 2 ranks) to 195 GB/s" in job_bandwidth.alt(DRAWN)


def test_they_are_in_the_page_of_the_job():
    report = report_of(DRAWN)
    names = [block.name for block in compose(report, draws=True) if isinstance(block, Picture)]
    assert names[:4] == ["job-late", "job-own", "job-worst", "job-bandwidth"]
    page = to_html(report)
    assert all(f'id="job-{chart.name}"' in page for chart in CHARTS_OF_JOBS if chart.applies(DRAWN))
    assert 'id="job-late"' in to_html(report_of(replace(BALANCED, lateness=JOB.lateness)))
