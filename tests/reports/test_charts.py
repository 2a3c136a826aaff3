"""Charts draw what the report says, fit into any page, and can be told apart by everybody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from itertools import combinations, pairwise
from pathlib import Path
from pkgutil import iter_modules
from typing import get_args
from xml.etree import ElementTree as ET

import lazy_import
import numpy as np
import pytest
from handmade_traces import HOSTILE, complete, database, waiting
from msgspec.structs import replace

from traceq.analysis.categories import HOST_LABELS, OF_HOST
from traceq.reports import charts
from traceq.reports.build import build
from traceq.reports.charts import CHARTS, gaps, layers, memory, palette, ranks, roofline, run, snapshot, steps
from traceq.reports.charts.chart import Chart, Place
from traceq.reports.charts.figure import draw_figure, save_png
from traceq.reports.charts.svg import draw_svg, draw_svg_file
from traceq.reports.document import Picture
from traceq.reports.drawing import NARROW, WIDTH, Area, Dot, Rect, Stroke, Text, Tick, make_axis, make_log_axis
from traceq.reports.model import Report, StepLedger
from traceq.reports.sections.compose import compose_report
from traceq.reports.sections.data import _PARTS as DATA_PARTS
from traceq.reports.topics.communication import CommunicationTopic
from traceq.reports.topics.copies import Copies
from traceq.reports.topics.kernels import Kernels, KernelSpeed
from traceq.reports.topics.memory import (
    Memory,
    MemoryFailure,
    MemoryHolder,
    MemoryLayer,
    MemoryPart,
    MemoryPeak,
    SnapshotPeak,
    StepStart,
)
from traceq.reports.topics.run import RunLog, RunPoint

mpl = lazy_import.module("matplotlib")
agg = lazy_import.module("matplotlib.backends.backend_agg")

MS = 1_000_000


@cache
def trace_of(case):
    (report,) = build(database(case()), 10, rules=()).traces
    return report


def stepping(*ledgers):
    """The report of training() with other steps: (category, ns) of each."""
    steps = tuple(StepLedger(0, n, sum(dict(parts).values()), parts) for n, parts in enumerate(ledgers))
    return replace(trace_of(waiting), step_ledgers=steps)


def with_topic(name, **facts):
    report = trace_of(waiting)
    topic = replace(getattr(report.topics, name), **facts)
    return replace(report, topics=replace(report.topics, **{name: topic}))


def marks_of(drawing, kind):
    return [mark for panel in drawing.panels for mark in panel.shapes if isinstance(mark, kind)]


def bars_of(drawing):
    """Label of each row -> (kind, width) of its bars."""
    (panel,) = drawing.panels
    rows = {tick.text: [] for tick in panel.y.ticks}
    for bar in marks_of(drawing, Rect):
        rows[panel.y.ticks[round(bar.y + bar.height / 2)].text].append((bar.kind, bar.width))
    return rows


def dashed(drawing, way):
    """Where dashed lines stand on the axis, x (0) or y (1)."""
    return [line.paths[0][0][way] for line in marks_of(drawing, Stroke) if line.dashes]


def texts_of(drawing):
    return Elements(draw_svg(drawing, "x", "")).texts


# --- colours


@pytest.mark.parametrize(
    "kind",
    [
        *("idle", "op", "annotation", "runtime", "python", "other", "mark", "culprit", "rest", "unknown"),
        *("behind compute", "behind other work", "exposed", "blocking", "hidden", "costs the GPU", "allocated"),
        *("cached", "free", "managed", "before the capture", "during the capture", *DATA_PARTS),
        *("parameters", "optimizer", "gradients", "inputs", "activations", "temporary"),
    ],
)
def test_what_is_drawn_elsewhere_has_a_colour(kind):
    assert kind in palette.COLOURS or kind == "Python"


@pytest.mark.parametrize("category", HOST_LABELS)
def test_the_time_of_the_host_has_a_colour_by_category(category):
    assert palette.light_colour(f"{OF_HOST}{category}") != palette.light_colour("other")


def linear(colour):
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    darker, lighter = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) + 0.05 for each in (one, other))
    return lighter / darker


@pytest.mark.parametrize("page", [0, 1])
def test_every_colour_has_a_contrast_of_three_to_one_with_its_page(page):
    low = {kind: both[page] for kind, both in palette.COLOURS.items() if contrast(both[page], palette.PAGE[page]) < 3}
    assert low == {}


# Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6),
# 2009, the matrices of severity 1.0 for linear sRGB: as seen without the cones for red, for green, for blue.
SIGHTS = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]),
    np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]),
)


def oklab(rgb):
    """Ottosson, "A perceptual color space for image processing", 2020: distances are as seen; black and white are 1 apart."""
    cones = [[0.4122215, 0.5363325, 0.051446], [0.2119035, 0.6806995, 0.1073970], [0.0883025, 0.2817188, 0.6299787]]
    lab = [[0.2104543, 0.7936178, -0.004072], [1.9779985, -2.4285922, 0.4505937], [0.025904, 0.7827718, -0.8086758]]
    return np.array(lab) @ np.cbrt(np.array(cones) @ np.clip(rgb, 0, 1))


def apart(one, other):
    return min(float(np.linalg.norm(oklab(sight @ linear(one)) - oklab(sight @ linear(other)))) for sight in SIGHTS)


STACKS = (
    (*palette.WORK, *palette.IDLE, "rest"),
    ("compute", "communication", "copies and memsets", "idle"),
    ("behind compute", "behind other work", "exposed"),
    ("behind compute", "blocking", "exposed"),
    ("behind compute", "exposed"),
    ("allocated", "cached", "free"),
    ("allocated", "managed", "cached"),
    ("before the capture", "during the capture", "cached"),
    ("unknown", "parameters", "optimizer", "gradients", "inputs", "activations", "temporary"),
    ("unknown", "activations", "parameters", "gradients", "activations", "optimizer", "temporary", "unknown"),
    ("hidden", "costs the GPU"),
)


@pytest.mark.parametrize("page", [0, 1])
@pytest.mark.parametrize("stack", STACKS)
def test_neighbours_in_a_stack_can_be_told_apart_without_seeing_red_or_green_or_blue(stack, page):
    alike = [pair for pair in pairwise(stack) if apart(*(palette.COLOURS[kind][page] for kind in pair)) < 0.08]
    assert alike == []


# What lies between two parts of a stack is left out where it has no time, so that any two of these may be neighbours.
FREQUENT = (
    *(
        "compute",
        "communication",
        "copy_h2d",
        "idle_data",
        "idle_sync",
        "idle_allocation",
        "idle_launch",
        "idle_python",
    ),
    *("idle_cpu", "idle_launch_latency", "idle_unattributed", "rest"),
)


@pytest.mark.parametrize("page", [0, 1])
@pytest.mark.parametrize("kinds", [FREQUENT, ("op", "annotation", "runtime", "python")], ids=["ledger", "host"])
def test_any_two_frequent_kinds_can_be_told_apart_by_everybody(kinds, page):
    colours = {kind: palette.COLOURS[kind][page] for kind in kinds}
    assert [pair for pair in combinations(kinds, 2) if apart(*(colours[kind] for kind in pair)) < 0.08] == []


@pytest.mark.parametrize("page", [0, 1])
def test_no_two_categories_look_alike_to_who_sees_all_colours(page):
    colours = {kind: oklab(linear(both[page])) for kind, both in (palette.WORK | palette.IDLE).items()}
    assert [
        pair for pair in combinations(colours, 2) if np.linalg.norm(np.subtract(*map(colours.get, pair))) < 0.065
    ] == []


@pytest.mark.parametrize("page", [0, 1])
@pytest.mark.parametrize("work", ["compute", "communication"])
def test_any_cause_of_idle_time_can_be_told_from_what_it_often_lies_on(work, page):
    near = {kind for kind in palette.IDLE if apart(palette.COLOURS[work][page], palette.COLOURS[kind][page]) < 0.07}
    assert near == set()


def test_the_style_sheet_gives_every_kind_a_colour_on_both_pages():
    light, dark = palette.write_stylesheet().split("@media screen and (prefers-color-scheme: dark)")
    for kind, colours in palette.COLOURS.items():
        assert [
            f"{palette.css_variable(kind)}:{colour}" in page
            for colour, page in zip(colours, (light, dark), strict=True)
        ] == [
            True,
            True,
        ]
    assert palette.css_variable("copy_h2d") == "--c-copy-h2d"
    assert palette.css_variable("costs the GPU") == "--c-costs-the-gpu"
    assert palette.css_variable("</style>") == "--c-other"
    assert palette.css_variable("host_data") == "--c-idle-data"


# --- what is drawn


def test_the_areas_of_the_step_ledger_are_its_parts():
    report = trace_of(waiting)
    drawing = steps.draw_ledger(report)
    areas = marks_of(drawing, Area)
    heights = np.array([area.tops for area in areas]) * MS
    # Each covers what lies below it.
    drawn = heights - np.vstack([heights[1:], np.zeros(len(report.step_ledgers))])
    told = [area.kind for area in areas]
    assert told == ["idle_launch_latency", "idle_python", "idle_launch", "idle_sync", "idle_data", "compute"]
    for number, step in enumerate(report.step_ledgers):
        assert dict(zip(told, drawn[:, number], strict=True)) == pytest.approx(
            {**dict.fromkeys(told, 0), **dict(step.parts)}
        )
    assert {"where the time went on the GPU, by step", "time per step (ms)", "step"} <= set(texts_of(drawing))


def test_a_single_step_is_a_bar_and_its_legend_says_the_shares():
    parts = (("communication", 2 * MS), ("compute", 6 * MS), ("idle_data", 2 * MS))
    drawing = steps.draw_ledger(stepping(parts))
    assert bars_of(drawing) == {"": [("compute", 6), ("communication", 2), ("idle_data", 2)]}
    assert {"compute 60.0 %", "communication 20.0 %", "idle: data loading 20.0 %", "10.00 ms"} <= set(texts_of(drawing))
    assert steps.describe_ledger(stepping(parts)) == (
        "Where the 10.00 ms of step 0 went on the GPU: compute 60.0 %, communication 20.0 %, idle: data loading 20.0 %."
    )


def test_many_steps_are_averaged_in_groups_of_the_same_size_and_the_title_says_so():
    report = stepping(*((("compute", n * MS),) for n in range(1000)))
    drawing = steps.draw_ledger(report)
    (area,) = marks_of(drawing, Area)
    assert len(area.tops) == 112
    assert area.tops[0] * MS == pytest.approx(np.mean(range(8)) * MS)
    assert area.tops[-1] * MS == pytest.approx(np.mean(range(991, 1000)) * MS)
    assert "where the time went on the GPU, by step, means of 8 or 9 steps" in texts_of(drawing)


def test_what_could_be_seen_nowhere_is_the_rest():
    small = (("idle_os", MS), ("memset", MS))
    drawing = steps.draw_ledger(stepping((("compute", 100 * MS), *small), (("compute", 90 * MS), *small)))
    assert [area.kind for area in marks_of(drawing, Area)] == ["rest", "compute"]


def test_step_times_count_every_step_and_mark_the_quantiles():
    report = trace_of(waiting)
    drawing = steps.draw_times(report)
    assert sum(bar.height for bar in marks_of(drawing, Rect)) == len(report.step_ledgers) == 6
    assert [x * MS for x in dashed(drawing, 0)] == [
        pytest.approx(report.steps.p95_ns),
        pytest.approx(report.steps.p50_ns),
    ]
    assert {"p50 1.000 ms", "p95 1.750 ms"} <= set(texts_of(drawing))
    assert steps.describe_times(report) == (
        "Distribution of the durations of 6 steps: from 1.000 ms to 2.000 ms, the median 1.000 ms, the 95th percentile 1.750 ms."
    )


def test_steps_of_equal_length_have_a_distribution_too():
    (bar,) = marks_of(steps.draw_times(stepping(*[(("compute", 5),)] * 6)), Rect)
    assert bar.height == 6
    assert bar.x <= 5 < bar.x + bar.width


def test_gaps_are_drawn_with_their_number_and_time():
    report = trace_of(waiting)
    drawing = gaps.draw(report)
    above, below = ([mark.width for mark in panel.shapes if isinstance(mark, Rect)] for panel in drawing.panels)
    assert [time * MS for time in above] == [each.dur_ns for each in report.gap_sizes]
    assert below == [each.gaps for each in report.gap_sizes] == [11, 1]
    assert [panel.x.label for panel in drawing.panels] == ["time in gaps (ms)", "number of gaps"]
    assert [tick.text for tick in drawing.panels[0].y.ticks] == ["below 1 ms", "below 10 ms"]
    assert (
        gaps.describe(report)
        == "Gaps by size: 12 in all, 4.700 ms. Most of that time, 3.285 ms, is in 11 of below 1 ms."
    )


def speeds(*rows):
    """The report with kernels: name, kind, ns, TFLOP/s, GB/s, peak TFLOP/s, peak GB/s of each."""
    total = sum(row[2] for row in rows)
    made = [
        KernelSpeed(name, kind, gb is not None, 2, dur, dur / total, tflop, gb, peak, memory)
        for name, kind, dur, tflop, gb, peak, memory in rows
    ]
    return with_topic("kernels", roofline=tuple(made))


BYTES_ONLY = (None, None, 50, None, 800.0, None, 2000.0)
UNKNOWN = (None, None, 50, None, None, None, None)


def test_the_roofline_has_a_dot_per_kernel_and_a_roof_per_peak():
    report = speeds(
        ("gemm", "matmul", 300, 50.0, 1000.0, 100.0, None),
        ("conv", "convolution", 100, 10.0, 2000.0, 100.0, None),
        ("flash", "attention", 100, 10.0, 100.0, None, None),
        BYTES_ONLY,
        UNKNOWN,
    )
    drawing = roofline.draw(report)
    dots = marks_of(drawing, Dot)
    assert [(dot.x, dot.y) for dot in dots] == [(50, 50), (5, 10), (100, 10)]
    # By area.
    assert dots[0].radius ** 2 == pytest.approx(3 * dots[1].radius ** 2)
    assert dashed(drawing, 1) == [100]
    assert {"peak 100 TFLOP/s", "1", "2", "3", "convolution"} <= set(texts_of(drawing))
    assert (
        "gemm (matmul, 300 ns on the GPU) 50.0 TFLOP/s at 50.0 operations per byte, 50.0 % of the peak"
        in roofline.describe(report)
    )
    assert not roofline.has_data(speeds(BYTES_ONLY, UNKNOWN))


def test_what_the_roofline_cannot_draw_is_said_with_its_number_and_time():
    points = roofline.list_points(speeds(("gemm", "matmul", 300, 50.0, 1000.0, 100.0, None), BYTES_ONLY, UNKNOWN))
    assert points.table.rows == (("1", "gemm", "matmul", "2", "300 ns", "75.0 %", "50.0", "50.0 %", "1.00 TB/s"),)
    assert points.note == (
        "Cannot tell the FLOP/s of 2 kernels (12.5 % of the kernels' time); by their shapes they move 800 GB/s."
        " Cannot tell FLOP/s or bytes/s of 2 kernels (12.5 % of the kernels' time): the trace has no usable shapes of them."
    )


def test_of_many_kernels_those_with_most_time_are_drawn():
    report = speeds(*((f"k{n}", "matmul", 100 - n, 5.0, 1000.0, None, None) for n in range(50)))
    assert len(marks_of(roofline.draw(report), Dot)) == len(roofline.list_points(report).table.rows) == 24
    assert roofline.list_points(report).note == "26 more kernel names, 43.7 % of the kernels' time, are not drawn."


def test_the_memory_is_a_roof_up_to_the_peak():
    report = speeds(("gemm", "matmul", 300, 50.0, 1000.0, 100.0, 2000.0))
    memory = marks_of(roofline.draw(report), Stroke)[-1]
    (((low, foot), (high, top)),) = memory.paths
    assert (foot, top) == (pytest.approx(low * 2), pytest.approx(100))
    assert high == pytest.approx(50)
    assert roofline.describe(report).endswith("The memory gives 2.00 TB/s at most.")


GIB = 1 << 30


def parts(*runs):
    """Bytes of 120 parts: (number of parts, GiB in each) one after the other."""
    return tuple(gib * GIB for number, gib in runs for _ in range(number))


def peaking(capacity):
    """A GPU of this many bytes that has 8 GiB allocated in the second of three steps, and nothing known of the first 20 parts."""
    peak = MemoryPeak(0, "device", True, 8 * GIB, 2, None, None, capacity, 3, None, 0)
    timeline = (MemoryPart(0, -1, 3 * GIB, 1 * GIB), MemoryPart(0, 30, 8 * GIB, 2 * GIB), MemoryPart(1, 0, 1, 1))
    rows = (
        MemoryLayer(0, "allocated", 20, parts((40, 1), (2, 8), (58, 2))),
        MemoryLayer(0, "cached", 20, parts((42, 0), (58, 6))),
        MemoryLayer(1, "allocated", 0, parts((120, 9))),
    )
    marks = tuple(StepStart(step, step * 100 * MS, 300 * MS) for step in range(3))
    return with_topic("memory", peaks=(peak,), timeline=timeline, layers=rows, marks=marks)


def test_memory_is_stacked_with_its_peak_and_the_starts_of_steps():
    drawing = memory.draw(peaking(16 * GIB))
    cached, allocated = marks_of(drawing, Area)
    # Each covers what lies below it; parts of one height are one.
    assert [(area.kind, [edge / MS for edge in area.edges], area.tops) for area in (cached, allocated)] == [
        ("cached", [50, 150, 300], [1, 8]),
        ("allocated", [50, 150, 155, 300], [1, 8, 2]),
    ]
    starts = next(line for line in marks_of(drawing, Stroke) if line.dashes == "1 3")
    assert [path[0][0] / MS for path in starts.paths] == [100, 200]
    assert {"capacity 16.0 GiB", "peak 8.0 GiB, step 2", "step that begins there"} <= set(texts_of(drawing))
    assert {"allocated", "cached by PyTorch", "0", "1", "2"} <= set(texts_of(drawing))
    (peak,) = [line for line in marks_of(drawing, Stroke) if line.dashes == "5 3" and line.paths[0][0][1] == 0]
    assert peak.paths[0][0][0] / MS == 151.25
    assert memory.describe(peaking(16 * GIB)) == (
        "Memory allocated on GPU 0 over the counted steps: 8.0 GiB at most, 50.0 % of 16.0 GiB, in step 2; 2.0 GiB at the end."
    )


def test_a_capacity_far_above_is_said_and_not_drawn():
    drawing = memory.draw(peaking(80 * GIB))
    assert "capacity 80.0 GiB" not in texts_of(drawing)
    assert "memory on GPU 0 (GiB); it has 80.0 GiB" in texts_of(drawing)


def snapshot_peak(**facts):
    """The peak of 8 GiB on GPU 0, after 50 of 120 ms."""
    names = dict.fromkeys(SnapshotPeak.__struct_fields__, 0)
    usual = {"peak_bytes": 8 * GIB, "after_ns": 50 * MS, "history_ns": 120 * MS, "number": 4, "events": 12, "owners": 2}
    return SnapshotPeak(**{**names, **usual, **facts})


HISTORY = (
    MemoryLayer(0, "activations", 0, parts((50, 0), (1, 5), (69, 1))),
    MemoryLayer(0, "parameters", 0, parts((120, 2))),
    MemoryLayer(0, None, 0, parts((120, 1))),
    MemoryLayer(1, "inputs", 0, parts((120, 1))),
)


def held(**facts):
    """A report on a memory snapshot with HISTORY, whose peak has two holders."""
    holders = (
        MemoryHolder(0, "model.py:7 forward", "activations", "forward", 5, 5 * GIB, GIB),
        MemoryHolder(0, None, None, None, 1, GIB, GIB),
        MemoryHolder(1, "data.py:1 load", "inputs", None, 1, GIB, GIB),
    )
    facts = {"snapshot": (snapshot_peak(),), "snapshot_layers": HISTORY, "holders": holders, **facts}
    return with_topic("memory", **facts)


def test_a_snapshot_is_stacked_by_category_with_what_comes_and_goes_on_top():
    drawing = snapshot.draw_course(held())
    areas = marks_of(drawing, Area)
    assert [(area.kind, area.edges, area.tops) for area in areas] == [
        ("activations", [0, 50, 51, 120], [3, 8, 4]),
        ("parameters", [0, 120], [3]),
        ("unknown", [0, 120], [1]),
    ]
    assert dashed(drawing, 0) == [50]
    assert {"peak 8.0 GiB after 50.00 ms", "ms since the history began"} <= set(texts_of(drawing))
    assert {"activations 62.5 %", "parameters 25.0 %", "cannot tell 12.5 %"} <= set(texts_of(drawing))
    assert snapshot.describe_course(held()) == (
        "Memory in use on GPU 0 over the history: peak 8.0 GiB after 50.00 ms, of it activations 62.5 %, parameters 25.0 %,"
        " cannot tell 12.5 %."
    )


def test_where_memory_ran_out_is_a_line_of_its_own():
    failure = MemoryFailure(0, 1, 60 * MS, 1, GIB, None, 0, GIB, GIB, GIB, 0, 0, True)
    drawing = snapshot.draw_course(held(failures=(failure,)))
    assert dashed(drawing, 0) == [50, 60]
    assert "out of memory after 60.00 ms, asked for 1.0 GiB" in texts_of(drawing)


def test_a_history_without_times_is_drawn_over_its_events():
    drawing = snapshot.draw_course(held(snapshot=(snapshot_peak(after_ns=None, history_ns=None),)))
    (panel,) = drawing.panels
    assert (panel.x.high, panel.x.label, dashed(drawing, 0)) == (12, "events of the history", [4])
    assert marks_of(drawing, Area)[0].edges == [0, 5, 5.1, 12]
    assert "peak 8.0 GiB" in texts_of(drawing)


def test_the_holders_of_the_peak_are_bars_in_the_colour_of_their_category():
    drawing = snapshot.draw_holders(held())
    assert bars_of(drawing) == {
        "model.py:7 forward": [("activations", 5 * GIB)],
        "(no stack)": [("unknown", GIB)],
    }
    assert {"held at the peak of 8.0 GiB by", "5.0 GiB, 62.5 %", "1.0 GiB, 12.5 %"} <= set(texts_of(drawing))


def test_two_snapshots_share_one_scale_and_the_base_is_a_line_in_the_new_one():
    base = snapshot.make_history("base", snapshot_peak(), HISTORY)
    new = snapshot.make_history(
        "new", snapshot_peak(peak_bytes=2 * GIB, history_ns=240 * MS), (MemoryLayer(0, "inputs", 0, parts((120, 2))),)
    )
    drawing = snapshot.draw_pair(base, new)
    upper, lower = drawing.panels
    assert [(panel.x.low, panel.x.high, panel.y.high) for panel in drawing.panels] == [(0, 240, 8.4)] * 2
    assert lower.top > upper.bottom
    (inputs,) = [shape for shape in lower.shapes if isinstance(shape, Area)]
    assert (inputs.edges, inputs.tops) == ([0, 240], [2])
    line = lower.shapes[-1]
    assert (line.paths[0][0], max(line.paths[0], key=lambda place: place[1])) == ((0, 3), (50, 8))
    assert {"base: peak 8.0 GiB after 50.00 ms", "new: peak 2.0 GiB after 50.00 ms"} <= set(texts_of(drawing))


def ranked(number):
    report = held(snapshot=(snapshot_peak(peak_bytes=(8 + number) * GIB),))
    return replace(report, trace=replace(report.trace, rank=number, trace_id=number + 1))


def test_of_many_ranks_the_eight_with_the_highest_peaks_are_drawn_in_their_order():
    reports = [ranked(number) for number in (11, *range(10))]
    drawing = snapshot.draw_snapshots(reports)
    told = [text.partition(":")[0] for text in texts_of(drawing) if ": peak" in text]
    assert told == [f"rank {number}" for number in (11, *range(3, 10))]
    assert len(draw_svg(drawing, "x", "")) < 20_000
    assert snapshot.has_snapshots(reports)
    assert not snapshot.has_snapshots(reports[:1])
    assert snapshot.describe_snapshots(reports[:2]).endswith("peaks: rank 11 19.0 GiB, rank 0 8.0 GiB.")


def test_in_small_charts_two_parts_have_the_values_of_the_higher_one():
    thin = layers.thin_layers(
        [layers.Layer("inputs", 0, [1, 2, 0, 5, 7]), layers.Layer("temporary", 0, [9, 0, 0, 1, 0])]
    )
    assert [layer.bytes for layer in thin] == [[1, 1, 5, 5, 7], [9, 9, 1, 1, 0]]


def job(*numbers):
    """A trace for each rank; the higher the rank, the longer it communicates."""
    reports = []
    for trace_id, rank in enumerate(numbers, 1):
        report = stepping(
            (("compute", 6 * MS), ("memset", MS)), (("compute", 4 * MS), ("communication", trace_id * MS))
        )
        reports.append(replace(report, trace=replace(report.trace, rank=rank, trace_id=trace_id)))
    return Report(tuple(reports), "")


def test_ranks_are_compared_by_their_mean_step_in_order():
    rows = bars_of(ranks.draw(job(1, 0)))
    assert rows == {
        "rank 0": [("compute", 5), ("communication", 1), ("copies and memsets", 0.5)],
        "rank 1": [("compute", 5), ("communication", 0.5), ("copies and memsets", 0.5)],
    }
    assert ranks.describe(job(1, 0)) == (
        "Mean step of 2 ranks, stacked: 6.000 ms (rank 1) to 6.500 ms (rank 0)."
        " They differ most in communication: 500.0 µs to 1.000 ms."
    )
    assert not ranks.has_data(job(0))


def test_work_launched_before_the_capture_is_no_idle_time_of_a_rank():
    ledger = (("compute", 4 * MS), ("idle_earlier_work", 2 * MS), ("idle_sync", MS), ("idle_python", MS))
    reports = [stepping(ledger), stepping((("compute", 4 * MS), ("idle_sync", MS)))]
    two = Report(tuple(replace(each, trace=replace(each.trace, rank=rank)) for rank, each in enumerate(reports)), "")
    drawn = ranks.draw(two)
    assert bars_of(drawn) == {
        "rank 0": [("compute", 4), ("idle_earlier_work", 2), ("idle", 2)],
        "rank 1": [("compute", 4), ("idle", 1)],
    }
    assert drawn.legend == [("compute", "compute"), ("idle_earlier_work", "earlier work"), ("idle", "idle")]
    assert ranks.describe(two).endswith("They differ most in earlier work: 0 ns to 2.000 ms.")


def test_traces_without_a_rank_of_their_own_are_called_by_their_number():
    assert list(bars_of(ranks.draw(job(0, 0)))) == ["trace 1", "trace 2"]
    assert list(bars_of(ranks.draw(job(0, None)))) == ["trace 1", "trace 2"]


def test_many_ranks_are_columns():
    areas = marks_of(ranks.draw(job(*range(20))), Area)
    assert [(area.kind, len(area.tops)) for area in areas] == [
        ("copies and memsets", 20),
        ("communication", 20),
        ("compute", 20),
    ]


# --- axes


def test_every_axis_with_numbers_is_named_and_what_has_a_length_begins_at_zero():
    for chart, report in drawn():
        drawing = chart.draw(report)
        is_named_by_title = re.search(r"\((?:[KMGT]iB|B)\)", drawing.title) is not None
        for panel in drawing.panels:
            for axis in (panel.x, panel.y):
                numbers = [tick for tick in axis.ticks if re.fullmatch(r"[\d,.-]+", tick.text)]
                assert axis.label or is_named_by_title or not numbers, (chart.name, axis)
            if any(isinstance(mark, Rect | Area) for mark in panel.shapes):
                assert any(axis.low <= 0 <= axis.high for axis in (panel.x, panel.y)), chart.name


def test_a_short_spread_of_durations_is_seen_and_the_axis_says_where_it_begins():
    near = stepping(*((("compute", 100 * MS + n * MS),) for n in range(6)))
    assert steps.draw_times(near).panels[0].x.label == "duration of a step (ms; the axis begins at 99.9)"
    far = stepping(*((("compute", 10 * MS + n * 10 * MS),) for n in range(6)))
    (panel,) = steps.draw_times(far).panels
    assert (panel.x.low, panel.x.label) == (0, "duration of a step (ms)")


@pytest.mark.parametrize("width", [WIDTH, NARROW])
def test_a_chart_without_its_frame_fits_the_width_and_keeps_its_axes(width):
    for chart, report in drawn():
        drawing = chart.draw(report)
        plot = drawing.without_frame(width)
        assert (plot.title, list(plot.legend)) == ("", [])
        assert width <= plot.width <= drawing.width
        assert all(panel.width >= 110 for panel in plot.panels)
        assert [panel.shapes for panel in plot.panels] == [panel.shapes for panel in drawing.panels]
        assert f'viewBox="0 16 {plot.width:g}' in draw_svg(plot, "x")


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 4.18, ["0", "2", "4"]),
        (0, 10, ["0", "2.5", "5", "7.5", "10"]),
        (0, 1234567, ["0", "500,000", "1,000,000"]),
        (-22, 0, ["-20", "-10", "0"]),
        (0.0031, 0.0039, ["0.0032", "0.0034", "0.0036", "0.0038"]),
    ],
)
def test_an_axis_has_a_few_round_numbers(low, high, texts):
    assert [tick.text for tick in make_axis(low, high).ticks] == texts


@pytest.mark.parametrize("high", [0.5, 1, 3, 9, 10, 11, 47, 100, 64_000])
def test_an_axis_of_things_has_whole_numbers_only(high):
    values = [tick.value for tick in make_axis(0, high, whole=True).ticks]
    assert values[0] == 0
    assert len(values) <= 5
    assert all(value == round(value) for value in values)


def test_a_logarithmic_axis_has_powers_of_ten_and_between_them_where_it_is_short():
    assert [tick.text for tick in make_log_axis(0.5, 150).ticks] == ["1", "3", "10", "30", "100"]
    assert [tick.value for tick in make_log_axis(0.01, 1e7).ticks] == [0.01, 1, 100, 1e4, 1e6]
    assert make_log_axis(1, 100).locate(10) == pytest.approx(0.5)


# --- the files


def logged():
    """A report with a training log, in which the captured steps are placed."""
    log = RunLog(
        log_id=0, file="train.log", format="megatron", gpus=8, lines_left_out=0, attempts=1, first_step=1, last_step=60,
        steps=60, run_step_ns=50 * MS, checkpoints=0, failures=0, placed_by="clock", reason="its times are UTC",
        window_first=21, window_last=26, window_step_ns=49 * MS, run_steps=59, percentile=30.0, ratio=0.98, trace_ratio=1.0,
    )  # fmt: skip
    points = tuple(RunPoint(0, n, n, 50 * MS, 50 * MS, (2000 if n == 1 else 50) * MS) for n in range(1, 61))
    return replace(trace_of(waiting), run_logs=(log,), run_points=points)


def test_the_run_is_drawn_with_the_captured_steps_marked_and_its_start_up_cut():
    drawing = run.draw_run(logged())
    (panel,) = drawing.panels
    (band,) = (shape for shape in panel.shapes if isinstance(shape, Rect) and shape.kind == "compute")
    assert (band.x, band.width) == (20.5, 6)
    assert panel.y.label == "duration of a step (ms)"
    assert panel.y.high == pytest.approx(220)
    spread, line = (shape for shape in panel.shapes if isinstance(shape, Stroke))
    assert spread.paths[0] == [(1, 50), (1, 200)]
    assert line.paths[0][:2] == [(1, 50), (2, 50)]
    assert run.describe_course(logged()) == (
        "Time a step over steps 1 to 60 of the run: the median of each part is between 50.00 ms and 50.00 ms."
        " Captured are steps 21 to 26."
    )


def drawn():
    for report in (trace_of(complete), trace_of(waiting), held(), logged()):
        for each in CHARTS:
            if each.has_data(report):
                yield each, report


def test_every_chart_is_in_one_of_these_reports():
    assert {chart.name for chart, _ in drawn()} == {chart.name for chart in CHARTS}


def test_every_chart_of_a_module_is_in_a_list_and_says_what_it_shows_and_when_it_is_missing():
    modules = [import_module(f"{charts.__name__}.{module.name}") for module in iter_modules(charts.__path__)]
    found = {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Chart)}
    listed = {chart.name: chart for chart in (*charts.CHARTS, *charts.CHARTS_OF_JOBS)}
    assert found == listed, "a chart is listed in traceq/reports/charts/__init__.py"
    assert [chart.name for chart in CHARTS if not chart.missing] == []
    assert [chart.name for chart, report in drawn() if not chart.describe(report)] == []


def placed(report):
    return [block.name for block in compose_report(Report((report,), "")) if isinstance(block, Picture)]


def test_every_chart_of_the_list_is_in_a_report_that_it_applies_to():
    for report in (trace_of(complete), trace_of(waiting), held()):
        assert sorted(placed(report)) == sorted(f"t1-{each.name}" for each in CHARTS if each.has_data(report))


def test_there_is_room_for_a_chart_at_every_place(monkeypatch):
    places = get_args(Place)
    made_up = [Chart(place, place, steps.draw_ledger, lambda _: True, lambda _: "words") for place in places]
    monkeypatch.setattr("traceq.reports.sections.pictures.CHARTS", made_up)
    report = trace_of(complete)
    memory = replace(report.topics.memory, snapshot=(snapshot_peak(),))
    report = replace(report, topics=replace(report.topics, memory=memory), run_logs=logged().run_logs)
    assert sorted(placed(report)) == sorted(f"t1-{place}" for place in places)


def test_a_report_of_nothing_has_no_charts():
    report = trace_of(waiting)
    topics = replace(
        report.topics,
        copies=Copies((), (), ()),
        communication=CommunicationTopic((), (), (), ()),
        kernels=Kernels((), (), (), (), (), ()),
        memory=Memory((), (), ()),
    )
    report = replace(report, step_ledgers=(), gap_sizes=(), topics=topics)
    assert [chart.name for chart in CHARTS if chart.has_data(report)] == []
    assert not ranks.has_data(Report((report, report), ""))


class Elements(HTMLParser):
    """The elements of a page, and the text of each that has some."""

    def __init__(self, text):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


PLACES = {"x", "y", "width", "height", "cx", "cy", "r", "d", "text-anchor"}
LOOKS = {"fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"}


def test_svgs_are_small_bare_and_coloured_by_variables():
    for chart, report in drawn():
        text = draw_svg(chart.draw(report), "t1-x", chart.describe(report))
        assert len(text) < 10_000
        elements = Elements(text)
        (name, root), *others = elements.found
        assert name == "svg"
        assert set(root) == {"id", "viewbox", "role", "aria-label", "font-size", "fill"}
        assert (root["id"], root["role"], root["aria-label"]) == ("t1-x", "img", chart.describe(report))
        assert {tag for tag, _ in others} <= {"path", "text", "rect", "circle"}
        assert {key for _, attributes in others for key in attributes} <= PLACES | LOOKS
        paints = {attributes[key] for _, attributes in others for key in ("fill", "stroke") if key in attributes}
        assert all(re.fullmatch(r"none|currentColor|var\(--c-[a-z0-9-]+\)", paint) for paint in paints)
        variables = {paint[4:-1] for paint in paints if paint.startswith("var")}
        assert variables <= set(re.findall(r"--c-[a-z0-9-]+", palette.write_stylesheet()))
        assert not re.search(r"\d\.\d\d", " ".join(attributes.get("d", "") for _, attributes in others))


def test_the_same_report_gives_the_same_files():
    report = trace_of(waiting)
    for chart in CHARTS:
        if chart.has_data(report):
            assert draw_svg(chart.draw(report), "a", "b") == draw_svg(chart.draw(report), "a", "b")
            assert save_png(draw_figure(chart.draw(report))) == save_png(draw_figure(chart.draw(report)))


def test_a_file_of_svg_stands_alone_on_white():
    """It needs no style sheet, and is well-formed."""
    for chart, report in drawn():
        root = ET.fromstring(draw_svg_file(chart.draw(report)))  # noqa: S314 - traceq wrote it
        text = draw_svg_file(chart.draw(report)).decode()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in text
        assert 'fill="#ffffff"' in text
        assert {palette.light_colour("compute"), palette.light_colour("idle"), palette.light_colour("allocated")} & set(
            re.findall("#[0-9a-f]{6}", text)
        )


def test_the_user_s_settings_of_matplotlib_do_not_matter():
    report = trace_of(waiting)
    first = save_png(draw_figure(steps.draw_ledger(report)))
    with mpl.rc_context({"font.size": 30, "text.usetex": True, "axes.grid": True, "lines.linewidth": 9}):
        before = dict(mpl.rcParams)
        assert save_png(draw_figure(steps.draw_ledger(report))) == first
        assert dict(mpl.rcParams) == before


def test_png_is_white_and_has_144_dots_per_inch():
    content = save_png(draw_figure(gaps.draw(trace_of(waiting))))
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == pytest.approx(520 * 2, abs=1)
    assert b"matplotlib" not in content.lower()


def test_a_figure_has_the_axes_and_marks_of_the_drawing():
    for chart, report in drawn():
        drawing = chart.draw(report)
        axes = draw_figure(drawing).axes
        assert len(axes) == len(drawing.panels)
        for each, panel in zip(axes, drawing.panels, strict=True):
            assert each.get_xlim() == pytest.approx((panel.x.low, panel.x.high))
            assert each.get_ylim() == pytest.approx((panel.y.low, panel.y.high))
            assert [text.get_text() for text in each.get_yticklabels()] == [tick.text for tick in panel.y.ticks]
            assert [text.get_text() for text in each.texts] == [
                mark.text for mark in panel.shapes if isinstance(mark, Text)
            ]
            areas = [patch for patch in each.patches if isinstance(patch, mpl.patches.StepPatch)]
            assert [list(area.get_data().values) for area in areas] == [
                list(mark.tops) for mark in panel.shapes if isinstance(mark, Area)
            ]
            assert [bar.get_width() for container in each.containers for bar in container] == [
                mark.width for mark in panel.shapes if isinstance(mark, Rect)
            ]


def test_names_are_text_whatever_they_hold():
    hostile = f"$x^2$ {HOSTILE}"
    report = speeds((hostile, "matmul", 100, 50.0, 1000.0, 100.0, None))
    text = draw_svg(roofline.draw(report), 'a"b', f"{roofline.describe(report)} {hostile}")
    elements = Elements(text)
    assert {tag for tag, _ in elements.found} == {"svg", "path", "text", "circle", "rect"}
    assert "".join(elements.texts).isprintable()
    root = elements.found[0][1]
    assert "$x^2$" in root["aria-label"]
    assert root["id"] == 'a"b'
    assert root["aria-label"].isprintable()
    assert save_png(draw_figure(roofline.draw(report))).startswith(b"\x89PNG")
    long = speeds(("n" * 10_000_000, "matmul", 100, 50.0, 1000.0, 100.0, None))
    assert len(draw_svg(roofline.draw(long), "a", "")) < 10_000


def test_only_figures_use_matplotlib_and_without_pyplot():
    users = {path.stem for path in Path(charts.__file__).parent.glob("*.py") if "matplotlib" in path.read_text("utf-8")}
    assert users == {"figure", "__init__"}
    assert "matplotlib.pyplot" not in Path(charts.__file__).with_name("figure.py").read_text("utf-8")


def test_a_text_at_an_end_of_an_axis_stays_within_the_drawing():
    (panel,) = memory.draw(peaking(16 * GIB)).panels
    ends = [Tick(0, "the first step"), Tick(150 * MS, "middle"), Tick(300 * MS, "the last step")]
    assert [panel.choose_anchor(tick) for tick in ends] == ["start", "middle", "end"]


def test_all_of_a_chart_is_within_its_edges():
    """By the font of the layout, which is wider than that of most pages."""
    for chart, report in drawn():
        figure = draw_figure(chart.draw(report))
        box = figure.get_tightbbox(agg.FigureCanvasAgg(figure).get_renderer())
        wide, high = figure.get_size_inches()
        assert (box.x0 >= 0, box.y0 >= 0, box.x1 <= wide, box.y1 <= high) == (True,) * 4, chart.name


FIGURE = """
from traceq.reports.charts.figure import draw_figure, save_png
from traceq.reports.drawing import Drawing, Panel, make_axis

print(save_png(draw_figure(Drawing("", [Panel([], make_axis(0, 1), make_axis(0, 1))])))[1:4])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere other folders are looked for")
def test_a_home_that_cannot_be_written_is_not_spoken_of(tmp_path):
    there = {name: value for name, value in os.environ.items() if name not in ("MPLCONFIGDIR", "XDG_CONFIG_HOME")}
    environment = {**there, "HOME": "/proc/self", "TMPDIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", FIGURE], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "b'PNG'\n", "")
    assert not list(tmp_path.iterdir())
