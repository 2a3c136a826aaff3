"""Folded stacks, speedscope and pprof: every path with its times, read back without the code that wrote it."""

from __future__ import annotations

import io
import json

from profile_proto import Frame, read_profile

from traceq.common.version import __version__
from traceq.exports.folded import write_folded
from traceq.exports.pprof import write_pprof
from traceq.exports.speedscope import write_speedscope
from traceq.exports.stacks import CallPath, Stacks, walk_stacks

LONG = (1 << 53) + 1
HOSTILE = 'a;b "q" \\ </script>\n\x1b[31m\u202e é漢字'

# As paths of a flame graph come: level by level.
STACKS = Stacks(
    (
        CallPath(None, "thread", "7 python", 0, 0, 30),
        CallPath(None, "thread", "8", 0, 0, 0),
        CallPath(0, "python", "src/train.py(12): step", 5, 0, 0),
        CallPath(1, "op", "aten::mm", LONG, 0, 0),
        CallPath(0, "op", HOSTILE, 1, 0, 0),
        CallPath(2, "op", "aten::mm", 200, 0, 40),
        CallPath(5, "compute", "gemm<a, b>", 0, 300, 0),
        CallPath(2, "python", "<built-in method run>", 7, 0, 0),
    ),
    1_000,
)


def written(write, *arguments):
    file = io.BytesIO()
    count = write(*arguments, file)
    return count, file.getvalue()


def test_what_is_inside_a_path_follows_it():
    assert [way for _, way in walk_stacks(STACKS)] == [[0], [0, 2], [0, 2, 5], [0, 2, 5, 6], [0, 2, 7], [0, 4], [1, 3]]


def test_folded_stacks_have_a_line_a_path():
    count, text = written(write_folded, STACKS, "host")
    hostile = r'a:b "q" \ </script>\n\x1b[31m\u202e é漢字'
    assert text.decode().splitlines() == [
        "thread 7 python;" + hostile + " 1",
        "thread 7 python;step (train.py:12) 5",
        "thread 7 python;step (train.py:12);<built-in method run> 7",
        "thread 7 python;step (train.py:12);aten::mm 200",
        f"thread 8;aten::mm {LONG}",
    ]
    assert count == 5
    assert written(write_folded, STACKS, "gpu") == (1, b"thread 7 python;step (train.py:12);aten::mm;gemm<a, b> 300\n")
    idle = b"thread 7 python 30\nthread 7 python;step (train.py:12);aten::mm 40\n"
    assert written(write_folded, STACKS, "idle") == (2, idle)


def test_paths_that_look_alike_are_one_line():
    stacks = Stacks((CallPath(None, "op", "a;b", 1, 0, 0), CallPath(None, "annotation", "a:b", 2, 0, 0)), 10)
    assert written(write_folded, stacks, "host") == (1, b"a:b 3\n")


def speedscope_of(stacks):
    count, text = written(write_speedscope, stacks, "t.json")
    content = json.loads(text)
    frames = content["shared"]["frames"]
    profiles = {}
    for profile in content["profiles"]:
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "nanoseconds", 0)
        assert profile["endValue"] == sum(profile["weights"])
        samples = [";".join(frames[number]["name"] for number in sample) for sample in profile["samples"]]
        profiles[profile["name"]] = dict(zip(samples, profile["weights"], strict=True))
    assert count == sum(map(len, profiles.values()))
    return content, profiles


def test_speedscope_has_a_profile_a_measure():
    content, profiles = speedscope_of(STACKS)
    assert list(profiles) == ["host time", "GPU time", "GPU idle time"]
    step = "thread 7 python;step"
    assert profiles["host time"] == {
        step: 5,
        f"{step};aten::mm": 200,
        f"{step};<built-in method run>": 7,
        f"thread 7 python;{HOSTILE}": 1,
        "thread 8;aten::mm": LONG,
    }
    assert profiles["GPU time"] == {f"{step};aten::mm;gemm<a, b>": 300}
    assert profiles["GPU idle time"] == {"thread 7 python": 30, f"{step};aten::mm": 40}
    assert {"name": "step", "file": "src/train.py", "line": 12} in content["shared"]["frames"]
    assert (content["name"], content["exporter"]) == ("t.json", f"traceq@{__version__}")
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"


def test_speedscope_has_no_profile_without_time():
    _, profiles = speedscope_of(Stacks((CallPath(None, "op", "aten::mm", 3, 0, 0),), 10))
    assert profiles == {"host time": {"aten::mm": 3}}


def test_pprof_has_a_value_a_measure():
    count, data = written(write_pprof, STACKS, "t.json")
    profile = read_profile(data)
    assert profile.types == [("host", "nanoseconds"), ("gpu", "nanoseconds"), ("idle", "nanoseconds")]
    assert (profile.default, profile.binary, profile.dur) == ("host", "t.json", 1_000)
    assert profile.comments == [f"traceq {__version__}: the counted steps"]
    thread, step = Frame("thread 7 python", "", 0), Frame("step (train.py:12)", "src/train.py", 12)
    mm = Frame("aten::mm", "", 0)
    assert profile.samples == [
        ((thread,), (0, 0, 30)),
        ((thread, step), (5, 0, 0)),
        ((thread, step, mm), (200, 0, 40)),
        ((thread, step, mm, Frame("gemm<a, b>", "", 0)), (0, 300, 0)),
        ((thread, step, Frame("<built-in method run>", "", 0)), (7, 0, 0)),
        ((thread, Frame(r'a;b "q" \ </script>\n\x1b[31m\u202e é漢字', "", 0)), (1, 0, 0)),
        ((Frame("thread 8", "", 0), mm), (LONG, 0, 0)),
    ]
    assert count == 7


def test_pprof_has_no_time_of_writing():
    _, data = written(write_pprof, STACKS, "t.json")
    assert data[3:8] == b"\0" * 5
