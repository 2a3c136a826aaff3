"""Flame graphs of two sides: the same call path is one frame, and what steps differ by is no change."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from handmade_traces import MadeUp, database
from msgspec.structs import replace

from traceq.reports import build_flame_difference as building
from traceq.reports.build_flame_difference import build_flame_difference, read_run_paths
from traceq.reports.document import Flame, Heading
from traceq.reports.flame import FlameDifference, FramePair, TimeChange
from traceq.reports.renderers.html.flames import flame_data
from traceq.reports.renderers.to_html import html_of
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.compare.known_noise import KnownNoise
from traceq.runs.read import read_runs

MS = 1_000_000
# So little that what steps differ by decides.
NONE = KnownNoise(0.0)


def read_side(trace, statistic="typical", change_run=lambda run: run):
    with database(trace) as connection:
        (run,) = read_runs(connection, "made up", [1], ()).values()
        return read_run_paths(connection, 1, change_run(run), statistic)


def made(*steps, thread=0, name="train"):
    """A trace with a step for each {name of an operator: its time in ms}; each launches a kernel that takes half as long."""
    trace = MadeUp()
    for number, operators in enumerate(steps):
        ts = number * 100 * MS
        trace.step(ts, 100 * MS)
        trace.cpu("annotation", f"ProfilerStep#{number}", ts, 99 * MS, thread=thread)
        trace.cpu("python", name, ts, 98 * MS, thread=thread)
        for operator, ms in operators.items():
            trace.cpu("op", operator, ts, int(ms * MS), thread=thread)
            launch = trace.cpu("runtime", "cudaLaunchKernel", ts, int(ms * MS) // 4, thread=thread)
            trace.gpu("compute", ts + MS, int(ms * MS) // 2, launch=launch, name=f"void kernel_of_{operator}(int)")
            ts += int(ms * MS)
    return trace


def compare(base, new, **more):
    sides = [each if isinstance(each, list) else [each] for each in (base, new)]
    return build_flame_difference(*sides, **{"kind": None, "noise": NONE, "level": 0.02, **more})


def list_frames(graph):
    """Path -> (calls of the base, of the new side, host time of both in ms, GPU time of both in ms)."""
    names, found = [], {}
    for frame in graph.frames:
        names.append(f"{names[frame.parent]}/{frame.name}" if frame.parent >= 0 else "")
        times = (frame.host.base_ns, frame.host.new_ns, frame.gpu.base_ns, frame.gpu.new_ns)
        found[names[-1]] = (frame.base_calls, frame.new_calls, *(ns / MS for ns in times))
    return found


def test_call_paths_of_both_sides_are_one_frame_each_with_times_per_step():
    base = made(*[{"mm": 10, "gone": 4}] * 4)
    new = made(*[{"mm": 20, "added": 2}] * 8)
    around = "/0/ProfilerStep#/train"
    assert list_frames(compare(read_side(base), read_side(new))) == {
        "": (0, 0, 99, 99, 7, 11),
        "/0": (0, 0, 99, 99, 7, 11),
        "/0/ProfilerStep#": (1, 1, 99, 99, 7, 11),
        around: (1, 1, 98, 98, 7, 11),
        f"{around}/mm": (1, 1, 10, 20, 5, 10),
        f"{around}/mm/cudaLaunchKernel": (1, 1, 2.5, 5, 5, 10),
        f"{around}/mm/cudaLaunchKernel/void kernel_of_mm(int)": (1, 1, 0, 0, 5, 10),
        f"{around}/gone": (1, 0, 4, 0, 2, 0),
        f"{around}/gone/cudaLaunchKernel": (1, 0, 1, 0, 2, 0),
        f"{around}/gone/cudaLaunchKernel/void kernel_of_gone(int)": (1, 0, 0, 0, 2, 0),
        f"{around}/added": (0, 1, 0, 2, 0, 1),
        f"{around}/added/cudaLaunchKernel": (0, 1, 0, 0.5, 0, 1),
        f"{around}/added/cudaLaunchKernel/void kernel_of_added(int)": (0, 1, 0, 0, 0, 1),
    }


def test_only_steps_of_the_statistic_count():
    steps = [{"mm": 10}, {"mm": 10}, {"mm": 10}, {"mm": 50}]
    trace = made(*steps)
    with database(trace) as connection:
        (run,) = read_runs(connection, "made up", [1], ()).values()
    longest = replace(run, steps=tuple(replace(step, dur=100 + number) for number, step in enumerate(run.steps)))
    typical, mean = (read_side(trace, statistic, lambda _: longest) for statistic in ("typical", "mean"))
    assert list_frames(compare(typical, mean))["/0/ProfilerStep#/train/mm"][2:4] == (10, 20)


def test_a_function_that_moved_to_another_line_and_folder_is_the_same():
    sides = [
        read_side(made({"mm": 10}, name=name)) for name in ("/a/src/net.py(12): run", "/home/b/src/net.py(18): run")
    ]
    frames = list_frames(compare(*sides))
    assert frames["/0/ProfilerStep#//home/b/src/net.py(18): run"][2:4] == (98, 98)
    assert len([path for path in frames if path.endswith("run")]) == 1


def test_threads_are_paired_by_what_runs_in_them():
    sides = []
    for main, other in ((0, 1), (5, 3)):
        trace = made({"mm": 10}, thread=main)
        trace.cpu("op", "backward", 0, 30 * MS, thread=other)
        sides.append(read_side(trace))
    frames = list_frames(compare(*sides))
    assert frames["/5/ProfilerStep#/train/mm"][2:4] == (10, 10)
    assert frames["/3/backward"][2:4] == (30, 30)
    assert set(frames).isdisjoint({"/0", "/1"})


@pytest.mark.parametrize("is_waiting", [False, True])
def test_of_many_threads_each_is_compared_with_few(monkeypatch, is_waiting):
    """Pair 600 threads, which all have a frame in common or all do nothing else, with those of another run in other order."""
    threads = {each: {("os", "poll"): 9.0} | ({} if is_waiting else {("op", f"of {each}"): 1.0}) for each in range(600)}
    others = {10_000 - each: dict(times) for each, times in threads.items()}
    compared, compare_times = [], building._sum_shared_time

    def count(times, other):
        compared.append(1)
        return compare_times(times, other)

    monkeypatch.setattr(building, "_sum_shared_time", count)
    pairs = building._pair_alike(threads, others)
    assert len(compared) <= 600 * 20
    assert len(set(pairs.values())) == len(pairs) == 600
    if not is_waiting:
        assert pairs == {each: 10_000 - each for each in range(600)}


def test_every_thread_of_the_run_with_fewer_is_paired():
    """Pair 5 waiting threads with 60: more than those that each of them is compared with at first."""
    few, many = (
        [
            {"path": 2 * each + inside, "parent": 2 * each if inside else None, "kind": kind, "name": kind, "host": 9}
            for each in range(threads)
            for inside, kind in enumerate(("thread", "os"))
        ]
        for threads in (5, 60)
    )
    run_of = read_side(made({"mm": 10}))
    tree = building._Tree()
    numbers, others = (tree.add_run(replace(run_of, paths=paths))[::2] for paths in (many, few))
    assert len(set(numbers)) == 60
    assert len(set(others) & set(numbers)) == 5


def test_a_difference_within_what_steps_differ_by_is_noise():
    shaky, steady = ((8, 12, 9, 11, 8, 12, 9, 11), (10,) * 8)
    base = made(*[{"shaky": first, "steady": second} for first, second in zip(shaky, steady, strict=True)])
    new = made(*[{"shaky": first + 1, "steady": second + 1} for first, second in zip(shaky, steady, strict=True)])
    graph = compare(*(read_side(each, "mean") for each in (base, new)))
    found = {frame.name: frame.host for frame in graph.frames}
    assert found["shaky"].delta_ns == found["steady"].delta_ns == MS
    assert found["shaky"].is_noise
    assert not found["steady"].is_noise
    assert found["steady"].noise_ns == 0
    assert "shaky" not in [each.name for each in graph.changed]
    (steadily,) = [each.own for each in graph.changed if each.name == "steady"]
    assert (steadily.base_ns, steadily.new_ns) == (7_500_000, 8_250_000)


def test_assumed_noise_between_runs_counts_too():
    sides = [read_side(made(*[{"mm": ms}] * 8)) for ms in (10, 10.2)]
    for noise, is_noise in ((NONE, False), (None, True), (KnownNoise(0.05), True)):
        found = {frame.name: frame.host for frame in compare(*sides, noise=noise).frames}
        assert found["mm"].is_noise == is_noise


def test_what_single_steps_differ_by_is_not_known():
    graph = compare(read_side(made({"mm": 10})), read_side(made({"mm": 10.1})))
    assert {frame.name: frame.host for frame in graph.frames}["mm"] == TimeChange(10 * MS, 10_100_000, None)
    assert "every difference has a colour" in page_of(graph)


def test_runs_of_a_side_count_the_same():
    base = [read_side(made(*[{"mm": ms}] * steps)) for ms, steps in ((10, 2), (20, 8))]
    frame = list_frames(compare(base, read_side(made({"mm": 15}, {"mm": 15}))))["/0/ProfilerStep#/train/mm"]
    assert frame == (1, 1, 15, 15, 7.5, 7.5)


def test_of_a_server_only_steps_of_the_kind_count():
    def with_kinds(run):
        return replace(
            run,
            steps=tuple(replace(step, kind="decode" if step.step % 2 else "prefill") for step in run.steps),
        )

    sides = [
        read_side(made(*[{"mm": prefill}, {"mm": decode, "decoder": 1}] * 4), "mean", with_kinds)
        for prefill, decode in ((40, 10), (50, 12))
    ]
    decode = list_frames(compare(*sides, kind="decode"))
    assert decode["/0/ProfilerStep#/train/mm"] == (1, 1, 10, 12, 5, 6)
    assert decode["/0/ProfilerStep#/train/decoder"][:2] == (1, 1)
    assert "/0/ProfilerStep#/train/decoder" not in list_frames(compare(*sides, kind="prefill"))
    assert compare(*sides, kind="mixed") is None


def test_small_frames_are_put_together_until_there_are_few():
    operators = {f"op{number}": 1 + number / 10 for number in range(30)}
    sides = [read_side(made(*[operators] * 2)) for _ in range(2)]
    whole, few = compare(*sides), compare(*sides, most=20)
    assert len(few.frames) <= 20 < len(whole.frames)
    assert few.least_share > whole.least_share == 0.001
    (train,) = [number for number, frame in enumerate(few.frames) if frame.name == "train"]
    inside = sum(frame.host.new_ns for frame in few.frames if frame.parent == train)
    assert inside == int(sum(ms * MS for ms in operators.values()))
    assert all(frame.parent < place for place, frame in enumerate(few.frames))


def test_without_call_paths_on_a_side_there_is_no_graph():
    on_gpu_only = MadeUp().step(0, 100 * MS).gpu("compute", 0, 50 * MS)
    assert read_side(on_gpu_only) is None
    assert compare([], read_side(made({"mm": 10}))) is None


def frame(name, base, new, noise, parent=0):
    times = TimeChange(base, new, noise)
    return FramePair(name, "op", parent, 1.0, 1.5, times, TimeChange(0, 0, 0))


GRAPH = FlameDifference((frame("all", 100, 120, 5, parent=-1), frame("mm", 60, 80, None)), 0.001, (), 0.02)


def page_of(graph):
    return html_of([Heading(1, ("Compare",)), Heading(2, ("Both",), anchor="comparison"), Flame(graph)])


def test_the_script_is_given_both_sides():
    whole = zlib.decompress(base64.b64decode(flame_data(GRAPH)))
    length = int.from_bytes(whole[:4], "little")
    head = json.loads(whole[4 : 4 + length])
    assert head["names"] == ["all", "mm"]
    assert head["changes"][0] == "--c-much-longer"
    at, found = 4 + length, {}
    for name, count, width, _ in head["columns"]:
        planes = [whole[at + plane * count : at + (plane + 1) * count] for plane in range(width)]
        folded = [sum(byte[place] << (8 * plane) for plane, byte in enumerate(planes)) for place in range(count)]
        found[name] = [-(each + 1) // 2 if each % 2 else each // 2 for each in folded]
        at += count * width
    assert {name: found[name] for name in ("countNew", "hostBase", "hostNew", "hostNoise", "gpuNew")} == {
        "countNew": [150, 150],
        "hostBase": [100, 60],
        "hostNew": [120, 80],
        "hostNoise": [5, -1],
        "gpuNew": [0, 0],
    }


@pytest.mark.parametrize("kind", ["much longer", "longer", "as long", "shorter", "much shorter"])
def test_the_page_explains_every_colour(kind):
    assert page_of(GRAPH).count(f"var(--c-{kind.replace(' ', '-')})") == 1


def test_the_page_has_the_names_that_changed_and_says_when_none_did():
    assert "own host time changed beyond noise" in page_of(GRAPH)
    sides = [read_side(made(*[{"mm": ms}] * 2)) for ms in (10, 12)]
    page = page_of(compare(*sides))
    assert "<bdi>mm</bdi>" in page
    assert "+1.500 ms" in page


def test_text_has_no_flame_graph():
    assert "mm" not in blocks_to_text([Heading(1, ("Compare",)), Flame(GRAPH)])
