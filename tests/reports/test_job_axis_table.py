"""The table of axes of parallelism, and the charts of groups and pairs of ranks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from test_jobs import JOB, MS
from test_renderers import CASES, report

from traceq.reports.charts import axes as charts
from traceq.reports.charts.svg import draw_svg
from traceq.reports.drawing import Rect
from traceq.reports.model import GroupWait, JobAxis, LateOnAxis, RankPair, StageBubble
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.axes import list_axes_of_job, list_axes_of_trace, name_axis
from traceq.reports.topics.communication import AxisTotal

# Of ten steps: two ranks that wait for a third in tensor-parallel groups, and a world that nothing tells more of.
TENSOR = JobAxis(
    "tp", "inferred", 2, 4, 4, 8, 800, 1 << 30, 800 * MS, 400 * MS, 300 * MS, 500 * MS, 200 * MS, 110.5,
    (4, 5, 6, 7), 110 * MS, 90 * MS, (LateOnAxis(6, 40, 200 * MS), LateOnAxis(2, 1, 3 * MS)),
)  # fmt: skip
UNTOLD = JobAxis(None, None, 1, 8, 8, 8, 80, None, 80 * MS, 80 * MS, None, None, None, None)


def lines_of(blocks):
    return blocks_to_text(blocks, 100).strip().splitlines()


def test_a_line_for_each_axis():
    job = replace(JOB, axes=(TENSOR, UNTOLD))
    assert lines_of(list_axes_of_job(job)) == [
        "axis          groups      time     waits   exposed  bandwidth  slowest group  comes last",
        "------------  ------  --------  --------  --------  ---------  -------------  ----------------",
        "tensor (tp)?  2 of 4  10.00 ms  6.250 ms  5.000 ms   110 GB/s  ranks 4-7      6 by 20.00 ms, 2",
        "cannot tell   1 of 8  1.000 ms         -  1.000 ms          -  -              -",
        "",
        "Axes by what goes through them alone (?); some groups tell none. Times are means of its ranks, per",
        "step.",
    ]


def test_the_bubble_of_each_stage():
    bubble = (StageBubble(0, 2, 4, 50 * MS, 0.5, 3 / 7), StageBubble(1, 2, 4, 30 * MS, 0.3, 3 / 7))
    assert " ".join(lines_of(list_axes_of_job(replace(JOB, axes=(TENSOR,), bubble=bubble)))[-2:]) == (
        "Pipeline bubble by stage: 50.0 %, 30.0 % of the time; equal stages and 4 micro-batches: 42.9 %. The"
        " stage that waits least is the slowest."
    )


def test_the_first_screen_has_them_where_there_are_several():
    assert lines_of(list_axes_of_job(replace(JOB, axes=(TENSOR,)), is_in_full=False)) == []
    assert len(lines_of(list_axes_of_job(replace(JOB, axes=(TENSOR, UNTOLD)), 1, is_in_full=False))) == 3


def test_no_table_where_no_axis_is_known():
    assert lines_of(list_axes_of_job(replace(JOB, axes=(UNTOLD,)))) == []
    assert lines_of(list_axes_of_job(JOB)) == []


@pytest.mark.parametrize(
    ("axis", "source", "words"),
    [
        ("tp", "description", "tensor (tp)"),
        ("dp", "inferred", "data (dp)?"),
        ("tp+pp", "given", "tp+pp"),
        ("world", "mesh", "all ranks"),
        (None, None, "cannot tell"),
    ],
)
def test_names(axis, source, words):
    assert name_axis(axis, source) == words


def with_axes(*axes):
    """The report of a trace with these axes."""
    (trace, *_) = report(next(iter(CASES))).traces
    return replace(trace, topics=replace(trace.topics, communication=replace(trace.topics.communication, axes=axes)))


def test_axes_of_a_trace():
    data = AxisTotal("dp", "description", 1, 6, 6 << 20, 60 * MS, 30 * MS, 0, None, None)
    trace = with_axes(data, AxisTotal("tp", "given", 1, 60, None, 20 * MS, 20 * MS, 60, 15 * MS, 5 * MS))
    counted = trace.steps.counted
    found = lines_of(list_axes_of_trace(trace))
    assert found[0].split() == ["axis", "groups", "count", "time", "share", "exposed", "waits"]
    assert [line.split()[0] for line in found[2:4]] == ["data", "tensor"]
    assert "75.0 %" in found[2]
    assert found[2].endswith("-")
    assert found[5].startswith("Axes by what --axes says, the groups' descriptions. Per step;")
    assert counted > 0
    assert lines_of(list_axes_of_trace(with_axes(replace(data, axis=None, source=None)))) == []


def waits(*cells):
    return replace(JOB, group_waits=tuple(GroupWait(*cell) for cell in cells))


def test_waits_are_cells_of_ranks_and_groups():
    job = waits((0, "dp", 0, "3", 0), (0, "tp", 0, "1", 10 * MS), (1, "tp", 0, "1", 2 * MS), (2, "tp", 2, "2", 6 * MS))
    (panel,) = charts.draw_waits(job).panels
    # tensor-parallel groups stand before data-parallel ones; what waits for nobody is bare
    assert [tick.text for tick in panel.x.ticks] == ["tp", "dp"]
    cells = [(mark.y + mark.height / 2, mark.x + mark.width / 2, mark.opacity) for mark in panel.shapes]
    assert [(round(y), round(x), opacity) for y, x, opacity in cells] == [(0, 0, 1.0), (1, 0, 0.4), (2, 1, 0.8)]
    assert charts.describe_waits(job) == (
        "Waiting of each of 3 ranks by process group: rank 0 waits most, 1.000 ms per step on axis tp."
    )


def test_pairs_are_three_grids():
    pairs = (RankPair(0, 1, 1 << 20, MS, 10 * MS), RankPair(1, 0, 1 << 20, MS, 0), RankPair(2, 0, None, None, 0))
    job = replace(JOB, pairs=pairs)
    bytes_, transfers, waited = charts.draw_pairs(job).panels
    assert [
        len([mark for mark in panel.shapes if isinstance(mark, Rect)]) for panel in (bytes_, transfers, waited)
    ] == [2, 2, 1]
    assert charts.describe_pairs(job) == (
        "Bytes, transfers and waits between 3 ranks, per step: ranks 0 and 1 share most, 102 KiB; rank 0 waits most for"
        " one other, 1.000 ms for rank 1."
    )


def test_the_page_of_a_large_job_stays_small():
    every = [(rank, other) for rank in range(64) for other in range(64) if rank != other]
    job = replace(JOB, pairs=tuple(RankPair(a, b, 1 << 20, MS, (a * 37 + b * 11) % 7 * MS) for a, b in every))
    assert len(draw_svg(charts.draw_pairs(job), "job-pairs", "words")) < 400_000
    job = waits(*((rank, axis, rank // 8, None, rank * MS) for rank in range(64) for axis in ("tp", "dp")))
    assert len(draw_svg(charts.draw_waits(job), "job-waits", "words")) < 25_000
