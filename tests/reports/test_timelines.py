"""What is drawn of a trace: slices where they are, short ones together, and nothing else."""

from __future__ import annotations

import made_up
import pytest
from made_up import MadeUp, database, waiting

from traceq.diagnosis.finding import Evidence
from traceq.reports.build import build
from traceq.reports.build_timelines import close_ups, step_timelines


def waited():
    return made_up.report(waiting(), drawn=True).traces[0]


def drawn(lane):
    return [(span.ts, span.dur, span.name, span.depth, span.slices) for span in lane.spans]


def one_step(trace, dur):
    (timeline,) = step_timelines(database(trace.step(0, dur)), 1, 0)
    return {lane.label: lane for lane in timeline.lanes}


def test_a_typical_and_the_longest_step_are_drawn():
    titles = [(timeline.title, timeline.dur) for timeline in waited().timelines]
    assert titles == [("Step 0, the typical one", 1_000_000), ("Step 3, the longest", 2_000_000)]


def test_the_longest_is_not_drawn_twice():
    assert len(list(step_timelines(database(MadeUp().step(0, 100).gpu("compute", 0, 50)), 1, 0))) == 1


def test_slices_are_where_they_are_on_streams_and_threads():
    trace = MadeUp().gpu("compute", 0, 400, stream=7, name="gemm").gpu("h2d", 500, 300, stream=8, name="copy")
    thread = {"thread": 4}
    trace.cpu("op", "aten::mm", 0, 200, **thread)
    trace.cpu("runtime", "cudaLaunchKernel", 50, 100, **thread)
    lanes = one_step(trace, 1000)
    assert drawn(lanes["stream 7"]) == [(0, 400, "gemm", 0, 1)]
    assert drawn(lanes["stream 8"]) == [(500, 300, "copy", 0, 1)]
    assert drawn(lanes["thread 4"]) == [(0, 200, "aten::mm", 0, 1), (50, 100, "cudaLaunchKernel", 1, 1)]


def test_the_ledger_lane_covers_the_step_without_overlap():
    lane = next(lane for lane in waited().timelines[0].lanes if lane.side == "ledger")
    end = 0
    for span in lane.spans:
        assert span.ts == end
        end = span.ts + span.dur
    assert end == 1_000_000


def test_slices_too_short_to_see_are_drawn_together_and_counted():
    trace = MadeUp()
    for number in range(100):
        trace.gpu("compute", number * 10, 5, stream=7, name=f"k{number}")
    trace.gpu("compute", 500_000, 400_000, stream=7, name="long")
    spans = one_step(trace, 1_000_000)["stream 7"].spans
    assert [(span.name, span.slices) for span in spans] == [("k99", 100), ("long", 1)]


def test_slices_that_begin_before_or_end_after_are_cut():
    trace = MadeUp().gpu("compute", 0, 3000, stream=1, name="k").step(0, 1000).step(1000, 1001)
    timelines = list(step_timelines(database(trace), 1, 0))
    for timeline in timelines:
        lane = next(lane for lane in timeline.lanes if lane.side == "gpu")
        assert drawn(lane) == [(0, timeline.dur, "k", 0, 1)]


def test_what_is_drawn_is_bounded():
    trace = MadeUp()
    for stream in range(9):
        for number in range(450):
            trace.gpu("compute", number * 1000, 600, stream=stream)
    lanes = one_step(trace, 450_000)
    assert sum(len(lane.spans) for lane in lanes.values()) <= 2400
    assert len([lane for lane in lanes.values() if lane.side == "gpu"]) == 6


def test_every_finding_has_its_worst_piece_marked_and_its_culprit_drawn():
    report = waited()
    assert set(report.close_ups) == {finding.finding_id for finding in report.findings}
    for finding in report.findings:
        timeline = report.close_ups[finding.finding_id]
        worst = dict(zip(finding.instances.columns, finding.instances.rows[0], strict=True))
        (mark,) = timeline.marks
        assert (timeline.ts + mark.ts, mark.dur) == (worst["ts"], worst["dur"])
        culprits = [span for lane in timeline.lanes for span in lane.spans if span.is_culprit]
        assert len(culprits) == (worst["slice_id"] is not None)


def test_a_piece_without_a_place_in_time_is_not_drawn():
    report = waited()
    (finding, *_) = report.findings
    nowhere = Evidence(("step", "claimed"), ((0, 5),), "")
    assert not list(close_ups(database(), 1, (0, 9), [type(finding)(**{**vars(finding), "instances": nowhere})]))


@pytest.mark.parametrize("drawn", [False, True])
def test_only_reports_to_be_drawn_pay_for_it(drawn):
    report = build(database(MadeUp().step(0, 100).gpu("compute", 0, 50)), 10, drawn=drawn).traces[0]
    assert bool(report.timelines) == drawn
