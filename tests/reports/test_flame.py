"""Flame graphs: what is inside a frame never exceeds it, and nothing is counted twice or lost."""

from __future__ import annotations

import random
from collections import Counter
from importlib.resources import as_file, files
from itertools import pairwise

import numpy as np
import pytest
from handmade_traces import MadeUp, complete, database, on_host_only, waiting

from traceq.database.connect import connect
from traceq.loading.ingest import ingest
from traceq.reports.build_flame import build_flame, make_flame, paths_of
from traceq.reports.call_paths import sum_at
from traceq.reports.document import Flame as Block
from traceq.reports.document import Heading
from traceq.reports.flame import FlameGraph, Frame, find_hottest
from traceq.reports.renderers.html.flames import flame_legend
from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text


def flame_of(trace):
    with database(trace) as connection:
        return build_flame(connection, 1)


def paths(graph):
    """Path -> (calls, host time, GPU time)."""
    names = []
    for frame in graph.frames:
        names.append((*names[frame.parent], frame.name) if frame.parent >= 0 else ())
    return {
        "/".join(name): (frame.count, frame.host_ns, frame.gpu_ns)
        for name, frame in zip(names, graph.frames, strict=True)
    }


def own_times(graph):
    """Host time of frames themselves, by name."""
    own = [frame.host_ns for frame in graph.frames]
    for frame in graph.frames[1:]:
        own[frame.parent] -= frame.host_ns
    assert min(own) >= 0
    times = Counter()
    for frame, self_ns in zip(graph.frames, own, strict=True):
        if frame.kind not in ("all", "thread"):
            times[frame.name] += self_ns
    return {name: time for name, time in times.items() if time}


def check(graph):
    """What is inside a frame never exceeds its host time, and is all of its GPU time but for what is itself on the GPU."""
    for number, frame in enumerate(graph.frames):
        inside = [each for each in graph.frames if each.parent == number]
        assert sum(each.host_ns for each in inside) <= frame.host_ns
        assert all(each.parent < place for place, each in enumerate(graph.frames))
        if inside:
            assert sum(each.gpu_ns for each in inside) == frame.gpu_ns


def test_frames_are_calls_of_one_path_with_what_they_launch():
    trace = MadeUp().step(0, 10_000)
    for ts in (0, 5_000):
        trace.cpu("op", "aten::linear", ts, 3_000)
        trace.cpu("op", "aten::mm", ts + 500, 2_000)
        launch = trace.cpu("runtime", "cudaLaunchKernel", ts + 1_000, 200)
        trace.gpu("compute", ts + 1_500, 700, launch=launch, name="gemm")
    trace.cpu("op", "aten::mm", 9_000, 100)
    trace.gpu("h2d", 100, 50, name="copy")
    around = "0/aten::linear/aten::mm/cudaLaunchKernel"
    assert paths(flame_of(trace)) == {
        "": (1, 6_100, 1_450),
        "0": (1, 6_100, 1_400),
        "0/aten::linear": (2, 6_000, 1_400),
        "0/aten::linear/aten::mm": (2, 4_000, 1_400),
        around: (2, 400, 1_400),
        f"{around}/gemm": (2, 0, 1_400),
        "0/aten::mm": (1, 100, 0),
        # Its launch is not in the trace.
        "copy": (1, 0, 50),
    }


def test_only_counted_steps_count():
    trace = (
        MadeUp()
        .step(0, 1_000, excluded="warm-up")
        .step(1_000, 1_000)
        .step(2_000, 1_000, excluded="late")
        .step(3_000, 500)
    )
    trace.cpu("python", "train", 0, 10_000)
    trace.cpu("op", "aten::mm", 900, 300)
    trace.cpu("op", "aten::mm", 2_100, 300)
    trace.cpu("op", "aten::mm", 3_100, 300)
    assert paths(flame_of(trace)) == {
        "": (1, 1_500, 0),
        "0": (1, 1_500, 0),
        "0/train": (2, 1_500, 0),
        "0/train/aten::mm": (2, 500, 0),
    }


def test_what_outlives_the_call_it_began_in_stands_beside_it():
    trace = MadeUp().step(0, 100_000)
    trace.cpu("python", "train", 0, 100_000)
    trace.cpu("python", "enter", 10_000, 20_000)
    trace.cpu("python", "record", 12_000, 10_000)
    trace.cpu("annotation", "forward", 15_000, 60_000)
    trace.cpu("op", "aten::mm", 40_000, 5_000)
    assert paths(flame_of(trace)) == {
        "": (1, 100_000, 0),
        "0": (1, 100_000, 0),
        "0/train": (1, 100_000, 0),
        "0/train/enter": (1, 5_000, 0),
        "0/train/enter/record": (1, 3_000, 0),
        "0/train/forward": (1, 60_000, 0),
        "0/train/forward/aten::mm": (1, 5_000, 0),
    }


def test_an_end_that_is_late_by_rounding_changes_nothing():
    trace = MadeUp().step(0, 100_000)
    trace.cpu("op", "outer", 0, 50_000)
    trace.cpu("op", "inner", 10_000, 41_000)
    assert paths(flame_of(trace))["0/outer/inner"] == (1, 40_000, 0)


def test_modules_and_marks_are_told_from_other_calls():
    trace = MadeUp().step(0, 1_000).step(1_000, 1_000)
    for number in range(2):
        trace.cpu("annotation", f"ProfilerStep#{number}", number * 1_000, 900)
        trace.cpu("python", "nn.Module: Linear_0", number * 1_000, 500)
        trace.cpu("python", f"<built-in method run of Engine object at 0x7ce{number}>", number * 1_000 + 10, 100)
    graph = flame_of(trace)
    assert list(paths(graph)) == [
        "",
        "0",
        "0/ProfilerStep#",
        "0/ProfilerStep#/Linear_0",
        "0/ProfilerStep#/Linear_0/<built-in method run of Engine object>",
    ]
    assert [frame.kind for frame in graph.frames] == ["all", "thread", "annotation", "module", "python"]


def innermost(calls):
    """By brute force: the time for which each is what began last of those that run, by name."""
    times = Counter()
    edges = sorted({edge for ts, dur, _ in calls for edge in (ts, ts + dur)})
    for start, end in pairwise(edges):
        running = [call for call in calls if call[0] <= start and call[0] + call[1] >= end]
        if running:
            times[max(running)[2]] += end - start
    return dict(times)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(12))
def test_own_times_are_those_of_what_began_last(seed):
    chance = random.Random(seed)  # noqa: S311 - numbers for a test
    starts = chance.sample(range(0, 4_000, 10), 25)
    calls = [(ts * 1000, chance.randrange(3, 120) * 10_000, f"f{chance.randrange(8)}") for ts in starts]
    trace = MadeUp().step(0, 10_000_000)
    for ts, dur, name in calls:
        trace.cpu("python", name, ts, dur)
    graph = flame_of(trace)
    check(graph)
    assert own_times(graph) == innermost(calls)


@pytest.mark.parametrize("trace", [waiting, complete, on_host_only])
def test_sums_of_made_up_traces_add_up(trace):
    check(flame_of(trace()))


def test_sums_of_a_real_trace_add_up(tmp_path):
    with as_file(files("traceq").joinpath("app/demo/training.pt.trace.json.gz")) as demo:
        ingest([demo], tmp_path / "demo.duckdb")
    with connect(tmp_path / "demo.duckdb") as connection:
        graph = build_flame(connection, 1)
        (on_gpu,) = connection.execute(
            "select sum(g.dur) from gpu_slice as g inner join step as s using (trace_id, step) where s.excluded is null"
        ).fetchone()
    check(graph)
    assert graph.frames[0].gpu_ns == on_gpu
    assert len(graph.frames) > 20


def test_small_frames_are_put_together():
    trace = MadeUp().step(0, 10_000_000)
    trace.cpu("op", "large", 0, 9_000_000)
    for number in range(50):
        trace.cpu("op", f"small{number}", 9_100_000 + number * 1_000, 900)
    graph = flame_of(trace)
    assert paths(graph)["0/(smaller)"] == (50, 45_000, 0)
    assert len(graph.frames) == 4
    check(graph)


def test_there_are_at_most_as_many_frames_as_fit():
    trace = MadeUp().step(0, 10_000_000)
    for number in range(200):
        trace.cpu("op", f"f{number}", number * 10_000, 1_000 + number * 10)
    with database(trace) as connection:
        found = [{**path, "gpu": path["own_gpu"]} for path in paths_of(connection, 1)]
    graph = make_flame(found, 50)
    assert len(graph.frames) <= 50
    assert graph.least_share > 0.001
    check(graph)
    assert graph.frames[0].host_ns == sum(1_000 + number * 10 for number in range(200))


def test_steps_may_have_large_numbers():
    trace = MadeUp().step(0, 100)
    trace.cpu("op", "f", 0, 50)
    trace.gpu("compute", 0, 50)

    def sums(connection):
        return [(path["name"], path["count"], path["host"], path["own_gpu"]) for path in paths_of(connection, 1)]

    with database(trace) as connection:
        near = sums(connection)
        for table in ("step", "gpu_slice"):
            connection.execute(f"update {table} set step = step + 2_000_000_000 where step is not null")
        assert sums(connection) == near
        assert sum(own_gpu for *_, own_gpu in near) == 50


def test_without_anything_on_the_host_there_is_none():
    assert flame_of(MadeUp().step(0, 100).gpu("compute", 0, 50)) is None


RECURSIVE = FlameGraph(
    (
        Frame("all", "all", -1, 1, 100, 10),
        Frame("f", "python", 0, 1, 80, 10),
        Frame("f", "python", 1, 2, 50, 10),
        Frame("g", "python", 2, 1, 20, 10),
        Frame("f", "python", 3, 1, 5, 0),
    ),
    0.001,
)


def test_what_calls_itself_counts_once():
    rows_ = [(each.name, each.count, each.self_ns, each.host_ns, each.gpu_ns) for each in find_hottest(RECURSIVE, 5)]
    assert rows_ == [("f", 4, 65, 80, 10), ("g", 1, 15, 20, 10)]


def test_the_page_has_a_table_for_who_has_no_script_and_other_formats_leave_it_out():
    document = [Heading(1, ("Report",)), Heading(2, ("Trace",), anchor="t1"), Block(RECURSIVE)]
    page = html_of(document)
    assert "own host time" in page
    assert page.count("<bdi>f</bdi>") == 1
    assert "own host time" not in blocks_to_text(document) + blocks_to_markdown(document)


def test_the_legend_has_every_colour():
    assert flame_legend(RECURSIVE) == [("other", "all"), ("python", "Python frame")]


def test_deep_stacks_are_no_problem():
    trace = MadeUp().step(0, 1_000_000)
    for depth in range(300):
        trace.cpu("python", f"f{depth}", depth * 100, 900_000 - 200 * depth)
    graph = flame_of(trace)
    assert len(graph.frames) == 302
    check(graph)


def test_threads_read_one_by_one_are_as_read_at_once(monkeypatch):
    trace = MadeUp().step(0, 10_000)
    for thread in range(3):
        trace.cpu("op", "aten::linear", thread * 10, 3_000, thread=thread)
        launch = trace.cpu("runtime", "cudaLaunchKernel", 1_000, 200 + thread, thread=thread)
        trace.gpu("compute", 1_500 + thread * 1_000, 700, launch=launch, name="gemm")
    at_once = flame_of(trace)
    monkeypatch.setattr("traceq.reports.build_flame._CALLS", 1)
    assert flame_of(trace) == at_once


def test_sums_of_long_times_are_exact():
    long = (1 << 54) + 1
    places, values = np.array([0, 1, 0, 0]), np.array([long, 7, long, 1])
    assert sum_at(places, values, 3).tolist() == [2 * long + 1, 7, 0]
