"""What is drawn of a trace: slices where they are, short ones together, and nothing else."""

from __future__ import annotations

import base64
import json
import random
import zlib
from itertools import accumulate

import handmade_traces
import pytest
from handmade_traces import MadeUp, complete, database, unmarked, waiting
from msgspec import structs

from traceq.diagnosis.finding import Evidence
from traceq.reports import build_timelines
from traceq.reports.build import build
from traceq.reports.build_timelines import build_occurrences, build_steps, build_typical_step
from traceq.reports.renderers.html.packed import pack
from traceq.reports.renderers.html.tracks import TimelinePicture
from traceq.reports.timeline import RARE


def waited():
    return handmade_traces.report(waiting(), scope="drawing").traces[0]


def over_time(trace):
    with database(trace) as connection:
        return build_steps(connection, 1, 0)


def drawn(timeline, label):
    """The slices of a lane as (start, duration, name, depth, count)."""
    (lane,) = (number for number, lane in enumerate(timeline.lanes) if lane.label == label)
    slices = timeline.slices
    return [
        (slices.ts[i], slices.dur[i], timeline.called[slices.called[i]].name, slices.depth[i], slices.count[i])
        for i in range(len(slices))
        if slices.lane[i] == lane
    ]


def test_all_counted_steps_are_drawn_and_the_typical_and_the_longest_can_be_shown():
    timeline = waited().over_time
    assert (timeline.title, timeline.dur) == ("The whole capture, 6 counted steps", 7_000_000)
    assert [(view.text, view.ts, view.dur) for view in timeline.views] == [
        ("Step 0, typical", 0, 1_000_000),
        ("Step 3, longest", 3_000_000, 2_000_000),
    ]
    assert [name for _, _, name, _, _ in drawn(timeline, "steps")] == ["0", "1", "2", "3", "4", "5"]


def test_the_typical_step_alone():
    with database(waiting()) as connection:
        timeline = build_typical_step(connection, 1, 0)
    assert (timeline.title, timeline.ts, timeline.dur) == ("Step 0", 0, 1_000_000)


def test_the_longest_is_not_named_twice():
    timeline = over_time(MadeUp().step(0, 100).gpu("compute", 0, 50))
    assert [view.text for view in timeline.views] == ["Step 0"]


def test_slices_are_where_they_are_on_streams_and_threads():
    trace = MadeUp().step(0, 1000).gpu("compute", 0, 400, stream=7, name="gemm")
    trace.gpu("h2d", 500, 300, stream=8, name="copy")
    trace.cpu("op", "aten::mm", 0, 200, thread=4)
    trace.cpu("runtime", "cudaLaunchKernel", 50, 100, thread=4)
    timeline = over_time(trace)
    assert drawn(timeline, "stream 7") == [(0, 400, "gemm", 0, 1)]
    assert drawn(timeline, "stream 8") == [(500, 300, "copy", 0, 1)]
    assert drawn(timeline, "thread 4") == [(0, 200, "aten::mm", 0, 1), (50, 100, "cudaLaunchKernel", 1, 1)]


def test_lanes_of_several_gpus_say_whose_they_are():
    timeline = over_time(MadeUp().step(0, 1000).gpu("compute", 0, 400, stream=7).gpu("compute", 0, 400, 1, stream=7))
    assert [lane.label for lane in timeline.lanes] == [
        "steps",
        "GPU 0: ledger",
        "GPU 0: stream 7",
        "GPU 1: ledger",
        "GPU 1: stream 7",
    ]


def test_the_ledger_covers_the_steps_without_overlap():
    end = 0
    for ts, dur, *_ in drawn(waited().over_time, "ledger"):
        assert ts == end
        end = ts + dur
    assert end == 7_000_000


def test_the_ledger_of_the_drawing_is_the_ledger():
    trace = waited()
    sums = {}
    for _, dur, name, *_ in drawn(trace.over_time, "ledger"):
        sums[name] = sums.get(name, 0) + dur
    assert sums == {part.category: part.dur_ns for part in trace.ledger[0].parts}


def test_slices_too_short_to_see_are_drawn_together_and_counted(monkeypatch):
    monkeypatch.setattr(build_timelines, "_ALL_STEPS", build_timelines._ALL_STEPS._replace(slices=60))
    trace = MadeUp().step(0, 1_000_000)
    for number in range(100):
        trace.gpu("compute", number * 10, 5 + (number == 50), stream=7, name=f"k{number}")
    trace.gpu("compute", 500_000, 400_000, stream=7, name="long")
    timeline = over_time(trace)
    assert len(timeline.slices) <= 60
    *short, long = drawn(timeline, "stream 7")
    assert sum(count for *_, count in short) == 100
    assert "k50" in [name for _, _, name, _, _ in short]
    assert long == (500_000, 400_000, "long", 0, 1)
    # What they are drawn as lasts longer than they do.
    lane = [lane.label for lane in timeline.lanes].index("stream 7")
    slices = timeline.slices
    busy = sum(slices.busy[i] for i in range(len(slices)) if slices.lane[i] == lane)
    assert busy == 400_501 < 400_000 + sum(dur for _, dur, *_ in short)


def test_the_steps_to_look_at_are_finer_than_the_others(monkeypatch):
    monkeypatch.setattr(build_timelines, "_ALL_STEPS", build_timelines._ALL_STEPS._replace(slices=1400))
    trace = MadeUp()
    for step in range(10):
        trace.step(step * 1_000_000, 1_000_000 + (step == 9))
        for number in range(100):
            trace.gpu("compute", step * 1_000_000 + number * 1000, 10, stream=7)
    timeline = over_time(trace)
    assert timeline.fine == 1 < timeline.resolution
    alone = [ts // 1_000_000 for ts, _, _, _, count in drawn(timeline, "stream 7") if count == 1]
    assert {step: alone.count(step) for step in (0, 9)} == {0: 100, 9: 100}
    assert len(timeline.slices) <= 1400


def test_traces_share_what_a_page_holds(monkeypatch):
    monkeypatch.setattr(build_timelines, "_OF_ALL_TRACES", 120)
    trace = MadeUp().step(0, 1_000_000)
    for number in range(100):
        trace.gpu("compute", number * 1000, 900, stream=7)
    with database(trace) as connection:
        assert [len(build_steps(connection, 1, 0, traces).slices) <= 60 for traces in (1, 2)] == [False, True]


def test_slices_that_begin_before_or_end_after_are_cut():
    trace = (
        MadeUp(dur=2500).gpu("compute", 0, 3000, stream=1, name="k").step(0, 1000, excluded="warm-up").step(1000, 1001)
    )
    assert drawn(over_time(trace), "stream 1") == [(0, 2500, "k", 0, 1)]


def test_what_lies_outside_of_the_counted_steps_is_drawn_too_and_coarser(monkeypatch):
    monkeypatch.setattr(build_timelines, "_LEAST_OUTSIDE", 10)
    trace = MadeUp(dur=1_000_000).step(0, 100_000, excluded="warm-up").step(100_000, 100_000)
    for number in range(1000):
        trace.gpu("compute", number * 1000, 900, stream=7, name="k")
    timeline = over_time(trace)
    assert (timeline.dur, timeline.fine, timeline.detail) == (1_000_000, 1, "the counted steps")
    slices = drawn(timeline, "stream 7")
    assert sum(count for *_, count in slices) == 1000
    assert [ts for ts, *_, count in slices if count == 1] == list(range(100_000, 200_000, 1000))
    assert len(slices) <= 100 + 10
    assert TimelinePicture(timeline).note.endswith("in the counted steps each is drawn.")


def test_only_the_busiest_streams_are_drawn():
    trace = MadeUp().step(0, 450_000)
    for stream in range(9):
        trace.gpu("compute", 0, 600 + stream, stream=stream)
    streams = [lane.label for lane in over_time(trace).lanes if lane.side == "gpu"]
    assert streams == [f"stream {number}" for number in (8, 7, 6, 5, 4, 3)]


def test_gpu_slices_know_what_launched_them_or_what_is_around_it():
    trace = MadeUp().step(0, 1000)
    for depth in range(12):
        trace.cpu("op", f"op{depth}", depth, 500 - 2 * depth)
    deep = trace.cpu("runtime", "cudaLaunchKernel", 20, 10)
    trace.cpu("op", "other", 600, 100)
    near = trace.cpu("runtime", "cudaLaunchKernel", 610, 10)
    trace.gpu("compute", 700, 50, launch=deep, name="a", stream=7).gpu(
        "compute", 800, 50, launch=near, name="b", stream=7
    )
    trace.gpu("compute", 900, 50, name="c", stream=7)
    timeline = over_time(trace)
    slices = timeline.slices

    def name(i):
        return timeline.called[slices.called[i]].name

    launches = {name(i): slices.launch[i] for i in range(len(slices)) if timeline.lanes[slices.lane[i]].side == "gpu"}
    # The innermost operator of the first lies too deep as well, and no annotation is around it.
    assert {kernel: name(call) if call >= 0 else None for kernel, call in launches.items()} == {
        "a": None,
        "b": "cudaLaunchKernel",
        "c": None,
    }


@pytest.mark.parametrize("made", [waiting, complete])
def test_the_critical_path_is_drawn_where_it_runs(made):
    with database(made()) as connection:
        timeline = build_steps(connection, 1, 0)
        drawn_time = connection.execute(
            "select sum(p.dur) from critical_path as p inner join step as s using (step)"
            " where p.kind <> 'wait' and s.excluded is null"
        ).fetchone()
    path = timeline.path
    assert sum(path.dur) == drawn_time[0]
    assert list(path.ts) == sorted(path.ts)
    assert all(before + dur <= after for before, dur, after in zip(path.ts, path.dur, path.ts[1:], strict=False))


def occurrences_of(trace, **changed):
    (finding, *_) = waited().findings
    with database(trace) as connection:
        findings = [type(finding)(**{**structs.asdict(finding), **changed})]
        return dict(build_occurrences(connection, 1, (0, 10**9), findings)).get(finding.finding_id)


def test_every_finding_has_its_worst_occurrence_marked_and_what_it_points_at():
    report = waited()
    assert set(report.close_ups) == {finding.finding_id for finding in report.findings}
    for finding in report.findings:
        timeline = report.close_ups[finding.finding_id][0]
        worst = dict(zip(finding.instances.columns, finding.instances.rows[0], strict=True))
        assert timeline.title.startswith("Worst occurrence of ")
        assert (timeline.ts + timeline.marks[0].ts, timeline.marks[0].dur) == (worst["ts"], worst["dur"])
        assert (timeline.culprit >= 0) == (worst["slice_id"] is not None)


def make_pieces(*claimed):
    """Return instances with these costs, ns, one every 10 us in step 0."""
    values = ", ".join(f"({10_000 * number}, {cost})" for number, cost in enumerate(claimed))
    columns = "0 as step, ts, dur, dur::double as claimed, null::bigint as slice_id"
    query = f"select {columns} from (values {values}) as t(ts, dur) limit 5"
    return Evidence(("step", "ts", "dur"), ((0, 0, claimed[0]),), query)


@pytest.mark.parametrize(
    ("claimed", "titles"),
    [
        # one long piece costs more than a hundred short ones: a short one is not typical of the cost
        ([9] * 100 + [68_000], ["Worst occurrence of 101: 68.00 µs in step 0, 98.7 % of the cost"]),
        (
            [10, 60, 30, 40, 50],
            [
                "Worst occurrence of 5: 60 ns in step 0, 31.6 % of the cost",
                "Typical occurrence of 5: 50 ns in step 0; half of the cost is in it and costlier ones",
            ],
        ),
        ([50, 40], ["Worst occurrence of 2: 50 ns in step 0, 55.6 % of the cost"]),
    ],
)
def test_the_worst_occurrence_comes_first_and_a_typical_one_is_typical_of_the_cost(claimed, titles):
    drawn = occurrences_of(waiting(), instances=make_pieces(*claimed))
    assert [timeline.title for timeline in drawn] == titles


def test_the_typical_occurrence_makes_up_half_of_the_cost_with_costlier_ones():
    for finding in waited().findings:
        with database(waiting()) as connection:
            every = finding.instances.query.removesuffix("limit 5")
            pieces = connection.execute(
                f"select ts, dur, claimed from ({every}) order by claimed desc, step, ts"
            ).fetchall()
        costs = list(accumulate(claimed for *_, claimed in pieces))
        middle = next(place for place, cost in enumerate(costs) if cost >= costs[-1] / 2)
        places = [(each.ts + each.marks[0].ts, each.marks[0].dur) for each in waited().close_ups[finding.finding_id]]
        assert places == [piece[:2] for piece in (pieces[:1] + pieces[middle : middle + 1] if middle else pieces[:1])]


def test_an_occurrence_shows_the_gpu_work_around_it():
    for timelines in waited().close_ups.values():
        for timeline in timelines:
            (work,) = (number for number, lane in enumerate(timeline.lanes) if lane.side == "gpu")
            assert work in timeline.slices.lane


def test_a_query_of_one_piece_has_one_drawing():
    query = "select 0 as step, 1000 as ts, 50 as dur, 50.0 as claimed, null::bigint as slice_id limit 5"
    instances = Evidence(("step", "ts", "dur"), ((0, 1000, 50),), query)
    (timeline,) = occurrences_of(waiting(), instances=instances)
    assert timeline.title == "The occurrence: 50 ns in step 0"


def test_of_a_window_no_step_is_named():
    query = "select 0 as step, 1000 as ts, 50 as dur, 50.0 as claimed, null::bigint as slice_id limit 5"
    instances = Evidence(("step", "ts", "dur"), ((0, 1000, 50),), query)
    (timeline,) = occurrences_of(unmarked(), instances=instances)
    assert timeline.title == "The occurrence: 50 ns"


def test_occurrences_in_the_same_drawing_are_marked_too():
    query = (
        "select 0 as step, 1000 * unnest([1, 2, 3]) as ts, 50 as dur, 50.0 as claimed, null::bigint as slice_id limit 5"
    )
    instances = Evidence(("step", "ts", "dur"), ((0, 1000, 50),), query)
    for timeline in occurrences_of(waiting(), instances=instances):
        assert sorted(timeline.ts + mark.ts for mark in timeline.marks) == [1000, 2000, 3000]
        assert [bool(mark.text) for mark in timeline.marks] == [True, False, False]


def test_a_piece_without_a_place_in_time_is_not_drawn():
    query = "select 0 as step, 5.0 as claimed, null::bigint as ts, null::bigint as dur limit 5"
    assert occurrences_of(waiting(), instances=Evidence(("step", "claimed"), ((0, 5),), query)) is None


@pytest.mark.parametrize("is_drawn", [False, True])
def test_only_reports_to_be_drawn_pay_for_it(is_drawn):
    with database(MadeUp().step(0, 100).gpu("compute", 0, 50)) as connection:
        report = build(connection, 10, scope="drawing" if is_drawn else "document").traces[0]
    assert (report.over_time is not None) == is_drawn


def unpacked(text):
    """What pack() wrote, as drawing.js reads it."""
    whole = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(whole[:4], "little")
    head, at, columns = json.loads(whole[4 : 4 + length]), 4 + length, {}
    for name, count, width, is_rising in head.pop("columns"):
        planes = [whole[at + plane * count : at + (plane + 1) * count] for plane in range(width)]
        folded = [int.from_bytes(bytes(number), "little") for number in zip(*planes, strict=True)] or [0] * count
        numbers = [-(each + 1) // 2 if each % 2 else each // 2 for each in folded]
        columns[name] = list(accumulate(numbers)) if is_rising else numbers
        at += count * width
    assert at == len(whole)
    return head, columns


def test_packed_numbers_come_out_as_they_went_in():
    chance = random.Random(19)  # noqa: S311 - numbers for a test
    for size in (0, 1, 500):
        columns = {
            "a": sorted(chance.randrange(2**53) for _ in range(size)),
            "b": [chance.randrange(-(2**40), 2**40) for _ in range(size)],
            "c": [0] * size,
        }
        text = pack({"names": ["<b>", "ä\u202e"]}, columns, frozenset("a"))
        assert unpacked(text) == ({"names": ["<b>", "ä\u202e"]}, columns)
        assert text.isascii()
        assert "<" not in text


def test_a_drawing_has_all_slices_as_data_and_every_colour_in_its_legend():
    for timeline in (waited().over_time, *(each for pair in waited().close_ups.values() for each in pair)):
        made = TimelinePicture(timeline)
        head, columns = unpacked(made.data)
        assert columns["ts"] == list(timeline.slices.ts)
        assert columns["launch"] == list(timeline.slices.launch)
        busy = [dur - rest for dur, rest in zip(columns["dur"], columns["rest"], strict=True)]
        assert busy == list(timeline.slices.busy)
        assert head["start"] == str(timeline.ts)
        assert {colour for colour, _ in made.strokes} <= {
            f"--c-{kind.replace('_', '-')}" for kind, _ in made.legend
        } | {"--c-other"}
        assert ("mark" in dict(made.legend)) == bool(timeline.marks)
        assert "step" in dict(made.legend)


def test_the_picture_without_a_script_is_small_and_names_the_long_slices():
    made = TimelinePicture(waited().over_time)
    assert sum(len(path) for _, path in made.strokes) < 5_000
    assert {"Step 0", "traceq.fetch#loader", "idle: data loading"} <= {label.text for label in made.labels}


def test_frames_of_python_that_are_not_drawn_push_nothing_down():
    trace = MadeUp().step(0, 1000)
    for depth in range(10):
        trace.cpu("python", f"frame{depth}", depth, 500 - 2 * depth)
    trace.cpu("op", "aten::linear", 20, 200)
    trace.cpu("python", "hook", 30, 100)
    trace.cpu("op", "aten::mm", 40, 50)
    trace.cpu("op", "aten::relu", 600, 50)
    assert drawn(over_time(trace), "thread 0") == [
        (20, 200, "aten::linear", 0, 1),
        (600, 50, "aten::relu", 0, 1),
        (40, 50, "aten::mm", 1, 1),
    ]


def test_slices_of_one_row_never_run_at_once_though_what_they_began_in_ended_before():
    trace = MadeUp().step(0, 10_000, excluded="warm-up").step(10_000, 10_000)
    trace.cpu("op", "train", 0, 19_000)
    trace.cpu("python", "enter", 8_000, 1_000)
    trace.cpu("annotation", "forward", 8_500, 9_000)
    trace.cpu("op", "aten::mm", 11_000, 1_000)
    with database(trace) as connection:
        timeline = build_typical_step(connection, 1, 0)
    assert drawn(timeline, "thread 0") == [
        (0, 9_000, "train", 0, 1),
        (0, 7_500, "forward", 1, 1),
        (1_000, 1_000, "aten::mm", 2, 1),
    ]


def test_where_python_is_all_there_is_it_is_drawn():
    trace = MadeUp().step(0, 1000).gpu("compute", 0, 10)
    trace.cpu("python", "outer", 0, 500)
    trace.cpu("python", "inner", 100, 200)
    assert drawn(over_time(trace), "thread 0") == [(0, 500, "outer", 0, 1), (100, 200, "inner", 1, 1)]


def test_names_with_least_time_are_left_out_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(build_timelines, "_LEAST_NAMES", 10)
    monkeypatch.setattr(build_timelines, "_SLICES_OF_A_NAME", 10_000)
    trace = MadeUp().step(0, 100_000)
    for number in range(40):
        trace.gpu("compute", number * 1000, 100 + number, stream=7, name=f"k{number}")
    names = [name for _, _, name, _, _ in drawn(over_time(trace), "stream 7")]
    assert {name for name in names if name.startswith("k")} < {f"k{number}" for number in range(30, 40)}
    assert names.count(RARE) == 40 - len([name for name in names if name.startswith("k")]) > 30
