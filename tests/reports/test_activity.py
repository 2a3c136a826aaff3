"""How busy GPUs are over the capture, and counters with it: what is drawn is what was recorded, and nothing else."""

from __future__ import annotations

import pytest
from handmade_traces import MadeUp, complete, database, on_host_only
from msgspec import structs

from traceq.reports.build_activity import build_activity
from traceq.reports.charts import activity as chart
from traceq.reports.drawing import NARROW, Area, Rect, Stroke
from traceq.reports.model import ActivityStep

# Of a capture of a made-up trace, ns: 1 ms in all.
HUNDREDTH = 10_000


def test_a_gpu_is_busy_for_the_part_of_time_in_which_anything_runs():
    trace = MadeUp().step(0, 100 * HUNDREDTH)
    trace.gpu("compute", 0, 10 * HUNDREDTH, stream=7)
    # Beside the first on another stream, and half a hundredth longer.
    trace.gpu("compute", 5 * HUNDREDTH, 5 * HUNDREDTH + HUNDREDTH // 2, stream=8)
    trace.gpu("compute", 99 * HUNDREDTH, HUNDREDTH, stream=7)
    found = build_activity(database(trace), 1)
    (busy,) = found.series
    assert (busy.device, busy.name, busy.unit, found.span_ns) == (0, "busy", "share", 100 * HUNDREDTH)
    assert busy.parts == (*[1.0] * 10, 0.5, *[0.0] * 88, 1.0)
    assert [(step.after_ns, step.dur_ns) for step in found.steps] == [(0, 100 * HUNDREDTH)]


@pytest.mark.parametrize("start", [0, 1, 4_999, 5_000, 6_000, 9_999])
def test_the_parts_add_up_to_the_time_in_which_anything_runs(start):
    trace = MadeUp().step(0, 100 * HUNDREDTH)
    for ts, dur in ((start, 3_000), (2 * HUNDREDTH + start, 17_500), (80 * HUNDREDTH + start, 100)):
        trace.gpu("compute", ts, dur, stream=7)
    (busy,) = build_activity(database(trace), 1).series
    assert sum(busy.parts) * HUNDREDTH == pytest.approx(3_000 + 17_500 + 100)


def test_steps_beyond_what_can_be_told_apart_are_drawn_as_runs():
    steps = tuple(ActivityStep(number, number * 1_000, 1_000, number >= 5) for number in range(12_000))
    found = structs.replace(build_activity(database(complete()), 1), span_ns=12_000_000, steps=steps)
    band = chart.draw_activity(found).panels[0]
    assert [(mark.x, mark.width) for mark in band.shapes] == [(0, 0.005), (0.005, 11.995)]


def test_a_trace_without_gpu_work_has_none():
    assert build_activity(database(on_host_only()), 1) is None


def test_counters_are_drawn_where_there_are_samples_only():
    trace = MadeUp().step(0, 100 * HUNDREDTH).gpu("compute", 0, 100 * HUNDREDTH, stream=7)
    for ts in (0, HUNDREDTH // 2, HUNDREDTH):
        trace.counter("SMs Active [Throughput %]", ts, 40, unit="percent")
    trace.counter("gpu_power", 50 * HUNDREDTH, 300, unit="W").counter("memory_allocated", 0, 5)
    found = build_activity(database(trace), 1)
    _, active, power = found.series
    assert (active.name, active.unit, active.parts) == ("sm_active", "share", (0.4, 0.4, *[None] * 98))
    assert (power.name, power.unit, power.parts) == ("gpu_power", "W", (*[None] * 50, 300.0, *[None] * 49))
    drawing = chart.draw_activity(found)
    labels = ["GPU 0: busy (%)", "GPU 0: sm active (%)", "GPU 0: gpu power (W)"]
    assert [panel.y.label for panel in drawing.panels[1:]] == labels
    lines = [mark for panel in drawing.panels[2:] for mark in panel.shapes if isinstance(mark, Stroke) and mark.kind]
    assert [len(line.paths[0]) for line in lines] == [4, 2]
    assert "GPU 0 gpu power 300 W on average, 300 W at most" in chart.describe_activity(found)


@pytest.mark.parametrize("width", [520, NARROW])
def test_panels_share_the_time_and_do_not_lie_on_one_another(width):
    drawing = chart.draw_activity(build_activity(database(complete()), 1)).without_frame(width)
    assert len({(panel.x.low, panel.x.high) for panel in drawing.panels}) == 1
    for above, below in zip(drawing.panels, drawing.panels[1:], strict=False):
        assert below.top - above.bottom >= 18
    steps, busy = drawing.panels[:2]
    assert all(isinstance(mark, Rect) or mark.text.isdigit() for mark in steps.shapes)
    assert [mark.kind for mark in busy.shapes if isinstance(mark, Area)] == ["compute"]
