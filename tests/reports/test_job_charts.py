"""Charts of jobs draw what the report says of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from test_jobs import BALANCED, JOB, MS, UNKNOWN, many, member, report_of

from traceq.reports.charts import CHARTS_OF_JOBS, palette
from traceq.reports.charts import job as charts
from traceq.reports.charts.svg import draw_svg
from traceq.reports.document import Picture
from traceq.reports.drawing import Area, Rect
from traceq.reports.model import ExchangedBytes, GroupWait, Lateness, LayerLoad, RankPair, WorstArrival
from traceq.reports.renderers.to_html import to_html
from traceq.reports.sections.compose import compose_report

KINDS = ("usual work", "late ranks", "transfer", "wait")
DRAWN = replace(
    JOB,
    collectives=(JOB.collectives[0], replace(JOB.collectives[0], op="all_gather", transfer_bandwidth=20.0)),
    worst=(
        WorstArrival(0, "all_reduce", 1 << 26, 0, 2 * MS, 19 * MS, MS),
        WorstArrival(1, "all_reduce", 1 << 26, 0, 21 * MS, 0, MS),
    ),
    group_waits=(
        GroupWait(0, "tp", 0, "1", 10 * MS),
        GroupWait(1, "tp", 0, "1", 0),
        GroupWait(1, "dp", 1, "2", 5 * MS),
    ),
    layer_loads=(LayerLoad(0, 1, 1.5), LayerLoad(1, 1, 0.5)),
    exchanged=(ExchangedBytes(0, 1, 1 << 20), ExchangedBytes(1, 2, 1 << 22), ExchangedBytes(2, 0, 1 << 10)),
    pairs=(
        RankPair(0, 1, 1 << 20, MS, 10 * MS),
        RankPair(1, 0, 1 << 20, MS, 0),
        RankPair(1, 2, 1 << 22, 2 * MS, 0),
        RankPair(2, 1, 1 << 22, 2 * MS, 0),
    ),
)


def marks_of(drawing, kind):
    (panel,) = drawing.panels
    return [mark for mark in panel.shapes if isinstance(mark, kind)]


def bars_of(drawing):
    """(row, start, length) of the bars by their kind."""
    found = {}
    for bar in marks_of(drawing, Rect):
        place = (round(bar.y + bar.height / 2), round(bar.x, 6), round(bar.width, 6))
        found.setdefault(bar.kind, []).append(place)
    return found


def rows_of(drawing):
    (panel,) = drawing.panels
    return [tick.text for tick in panel.y.ticks]


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
    assert chart.has_data(job)
    text = draw_svg(chart.draw(job), "job-x", chart.describe(job))
    assert len(text) < 25_000
    assert "#" not in text.replace("#job", "")


def test_a_job_that_cannot_be_judged_has_none():
    job = replace(
        UNKNOWN, collectives=(), lateness=(), worst=(), group_waits=(), pairs=(), layer_loads=(), exchanged=()
    )
    assert [chart.name for chart in CHARTS_OF_JOBS if chart.has_data(job)] == []


def test_late_cells_are_darker_the_later_a_rank_came():
    drawing = charts.draw_late(DRAWN)
    assert rows_of(drawing) == ["rank 0", "rank 1"]
    assert bars_of(drawing)["late ranks"] == [(1, 0, 1), (1, 9, 1)]
    assert [bar.opacity for bar in marks_of(drawing, Rect)] == [1.0, 0.6]
    assert charts.describe_late(DRAWN) == (
        "Own time of each of 2 ranks beyond the usual, by step: rank 1 most, in 2 of 10 columns, by 80.00 ms at most."
    )


def test_cells_that_look_alike_are_one():
    job = replace(DRAWN, lateness=tuple(Lateness(0, place, 10, is_step=False, late_by=MS) for place in (3, 4, 5)))
    assert bars_of(charts.draw_late(job))["late ranks"] == [(0, 3, 3)]


def test_of_many_ranks_hosts_have_rows_or_those_that_are_late_most():
    job = many(256)
    assert len(charts.list_late_rows(job)) == 64
    assert "rank 1" in charts.list_late_rows(job)
    hosts = tuple(replace(each, host=f"n{each.rank // 8}") for each in job.members)
    rows = charts.list_late_rows(replace(job, members=hosts))
    assert len(rows) == 32
    assert rows["host n0"] == [80 * MS, *[0] * 8, 40 * MS]
    # of more hosts than rows the latest are kept
    pairs = tuple(replace(each, host=f"n{each.rank // 2:03}") for each in many(256).members)
    rows = charts.list_late_rows(replace(job, members=pairs))
    assert len(rows) == 64
    assert rows["host n000"] == [80 * MS, *[0] * 8, 40 * MS]


def test_parts_of_a_rank_are_per_step():
    bars = bars_of(charts.draw_own(DRAWN))
    assert bars["usual work"] == [(0, 0, 10), (1, 0, 10)]
    assert bars["late ranks"] == [(1, 10, 80)]
    assert bars["wait"] == [(0, 12, 80)]
    assert "rank 0 waits most, 80.00 ms, rank 1 least, 0 ns" in charts.describe_own(DRAWN)


def test_many_ranks_are_columns():
    areas = marks_of(charts.draw_own(many(40)), Area)
    assert {area.kind for area in areas} == set(KINDS)
    assert {len(area.tops) for area in areas} == {40}


def test_the_worst_collective_ends_at_once():
    bars = bars_of(charts.draw_worst(DRAWN))
    assert bars["usual work"] == [(0, -22, 2), (1, -22, 21)]
    assert bars["wait"] == [(0, -20, 19)]
    assert bars["transfer"] == [(0, -1, 1), (1, -1, 1)]
    assert "rank 1 worked 21.00 ms before it, rank 0 2.000 ms and then waited 19.00 ms" in charts.describe_worst(DRAWN)
    crowd = tuple(replace(DRAWN.worst[0], rank=rank, wait=rank * MS) for rank in range(40))
    assert rows_of(charts.draw_worst(replace(DRAWN, worst=crowd)))[-2:] == ["rank 14", "rank 39"]


def test_the_grid_has_a_row_a_stage_and_a_column_a_copy():
    job = grid(stages=2, copies=3)
    drawing = charts.draw_grid(job)
    assert rows_of(drawing) == ["stage 0", "stage 1"]
    places = {(round(bar.y + 0.47), round(bar.x + 0.47)): bar.opacity for bar in marks_of(drawing, Rect)}
    assert places == {(0, 0): 0.1, (0, 1): 0.3, (0, 2): 0.5, (1, 0): 0.7, (1, 1): 0.9, (1, 2): 0.9}
    assert charts.describe_grid(job) == (
        "Own time of 6 ranks per step, by stage and copy of the model: most on stage 1, copy 2 (10.50 ms), least on stage 0,"
        " copy 0 (10.00 ms)."
    )
    # Of the ranks of a cell the one that works most counts.
    two_a_cell = replace(job, members=(*job.members, replace(job.members[0], own_ns=105 * MS)))
    assert charts.sum_grid_cells(two_a_cell)[0, 0] == 105 * MS


@pytest.mark.parametrize("job", [DRAWN, grid(stages=1), grid(copies=1)], ids=["unknown", "one stage", "one copy"])
def test_without_stages_or_copies_there_is_no_grid(job):
    assert not charts.has_grid(job)


def test_bandwidth_has_a_bar_a_kind():
    assert rows_of(charts.draw_bandwidth(DRAWN)) == ["all-reduce 64 MiB, 2 ranks", "all-gather 64 MiB, 2 ranks"]
    assert "from 20.0 GB/s (all-gather 64 MiB, 2 ranks) to 195 GB/s" in charts.describe_bandwidth(DRAWN)


def test_they_are_in_the_page_of_the_job():
    report = report_of(DRAWN)
    names = [block.name for block in compose_report(report, draws=True) if isinstance(block, Picture)]
    assert names[:4] == ["job-late", "job-own", "job-worst", "job-bandwidth"]
    page = to_html(report)
    assert all(f'id="job-{chart.name}"' in page for chart in CHARTS_OF_JOBS if chart.has_data(DRAWN))
    assert 'id="job-late"' in to_html(report_of(replace(BALANCED, lateness=JOB.lateness)))
