"""Captures are what their truth says, as plain SQLite and JSON show; what traceq makes of them is asked elsewhere.

With TRACEQ_CAPTURES=50 in the environment all of each kind are looked at, instead of some.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import pytest
from simulator.captures import KINDS, capture

import traceq
from traceq.analysis import order
from traceq.loading.ingest import ingest

SEEDS = range(int(os.environ.get("TRACEQ_CAPTURES", "12")))
NSYS_WORK = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
KINETO_WORK = {"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET"}
HOST = ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver", "hpu_op")
OTHER_HOST = ("mtia_runtime", "privateuse1_runtime", "operator", "runtime")
GPU_OF_OTHERS = ("mtia_ccp_events",)
ENDS = {"cudaFree", "cudaFreeHost", "cudaStreamDestroy", "cudaEventDestroy", "cuLibraryUnload", "cuModuleUnload"}


@cache
def write_capture(kind, seed, tmp_path):
    """Write a capture and read its file back.

    Returns work on devices as (table, name, device, start, end), calls, ranges whole and open, what the profiler said.
    """
    one = capture(kind, seed)
    path = one.write(tmp_path)
    seen = (
        read_nsys(path)
        if one.format == "nsys"
        else read_kineto(path, is_whole=one.edit is None or kind == "nothing_recorded")
    )
    path.unlink()
    return one, seen


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    return lambda kind, seed: write_capture(kind, seed, folder)


def read_nsys(path):
    with closing(sqlite3.connect(path)) as db:
        tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}

        def query_rows(table, query):
            return db.execute(query.format(table)).fetchall() if table in tables else []

        names = dict(query_rows("StringIds", "select id, value from {}"))
        work = []
        for kind in NSYS_WORK:
            name = "demangledName" if kind == "KERNEL" else "0"
            found = query_rows(f"CUPTI_ACTIVITY_KIND_{kind}", f"select {name}, deviceId, start, end from {{}}")
            work += [(kind, names.get(label, ""), *place) for label, *place in found]
        calls = query_rows("CUPTI_ACTIVITY_KIND_RUNTIME", "select nameId, start, end from {} order by start")
        ranges = query_rows("NVTX_EVENTS", "select coalesce(text, textId), start, end from {} where eventType = 59")
        settings = query_rows("META_DATA_CAPTURE", "select name, value from {}")
        return SimpleNamespace(
            work=work,
            calls=[(names[name].partition("_v")[0], start, end) for name, start, end in calls],
            ranges=[(names.get(name, name), start, end) for name, start, end in ranges if end is not None],
            open=[names.get(name, name) for name, _, end in ranges if end is None],
            host=len(calls) + len(ranges) + len(query_rows("OSRT_API", "select start from {}")),
            gpus=len(
                query_rows("TARGET_INFO_GPU", "select id from {}")
                + query_rows("TARGET_INFO_CUDA_GPU", "select name from {}")
            ),
            settings=settings,
            messages=[text for (text,) in query_rows("DIAGNOSTIC_EVENT", "select text from {}")],
        )


def read_kineto(path, *, is_whole):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if not is_whole:
        with pytest.raises(json.JSONDecodeError):
            json.loads(data)
        data = data[: data.rindex(b"  {")].rstrip().rstrip(b",") + b"]}"
    trace = json.loads(data)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    slices = [one for one in events if one["ph"] == "X"]

    def select_events(*categories):
        found = [one for one in slices if one["cat"].lower() in categories]
        return [(one, round(one["ts"] * 1000), round((one["ts"] + one["dur"]) * 1000)) for one in found]

    work = [
        (KINETO_WORK[one["cat"].lower()], one["name"], one["pid"], *when) for one, *when in select_events(*KINETO_WORK)
    ]
    return SimpleNamespace(
        work=work,
        calls=[(one["name"], *when) for one, *when in select_events("cuda_runtime", "cuda_driver")],
        ranges=[(one["name"], *when) for one, *when in select_events("user_annotation")],
        open=[],
        host=len(select_events(*HOST, *OTHER_HOST)),
        gpus=len(trace.get("deviceProperties", []) if isinstance(trace, dict) else []),
        others=len(select_events("mtia_runtime", "privateuse1_runtime", "hpu_op", *GPU_OF_OTHERS)),
    )


def draw_captures(look, kind):
    return [look(kind, seed) for seed in SEEDS]


def list_kernels(seen):
    return [one for one in seen.work if one[0] in ("KERNEL", "GRAPH_TRACE")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_many_situations_in_both_formats(kind):
    made = [capture(kind, seed) for seed in SEEDS]
    assert {one.kind for one in made} == {kind}
    assert Counter(one.format for one in made) == {"nsys": len(made) // 2, "kineto": len(made) // 2}
    assert len({one.situation for one in made}) >= 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_bytes(kind, tmp_path):
    for seed in (0, 3):
        first, again = (capture(kind, seed).write(tmp_path).read_bytes() for _ in range(2))
        assert first == again


def test_nothing_recorded_has_no_row_of_a_program(look):
    for one, seen in draw_captures(look, "nothing_recorded"):
        assert (seen.work, seen.host, one.reason) == ([], 0, "empty"), one.name


def test_hosts_alone_have_no_work_on_a_gpu(look):
    for one, seen in draw_captures(look, "host_only"):
        assert seen.work == [], one.name
        assert seen.host > 0, one.name
        said = [value for name, value in getattr(seen, "settings", []) if name == "CAPTURE_EVENT_TYPE"]
        shown = seen.gpus or seen.calls or "Cuda" in said or "hip" in one.situation
        expected = {"by_design": not shown, "other_device": not shown, "rows_missing": shown, "not_collected": True}
        assert expected[one.reason], one.name
        assert "Cuda" not in said or one.reason != "not_collected", one.name
        assert getattr(seen, "others", 0) == 0 or one.reason == "other_device", one.name


def test_start_up_has_copies_and_memsets_but_no_kernel(look):
    for one, seen in draw_captures(look, "start_up_only"):
        assert (list_kernels(seen) == []) == (one.reason != "trivial"), one.name
        assert len(list_kernels(seen)) < 10, one.name
        assert seen.work, one.name
        last = max(end for *_, end in seen.work)
        torn_down = {name for name, start, _ in seen.calls if start > last} & ENDS
        assert bool(torn_down) == (one.reason != "stopped"), one.name


def test_fragments_lack_what_their_reason_says(look):
    for one, seen in draw_captures(look, "fragment"):
        assert seen.work, one.name
        calls = Counter(name for name, _, _ in seen.calls)
        launches = sum(count for name, count in calls.items() if "Launch" in name)
        if one.reason == "graph_capture":
            assert calls["cudaStreamBeginCapture"] == calls["cudaStreamEndCapture"] > 0, one.name
            assert launches > 5 * len(list_kernels(seen)), one.name
            assert calls["cudaGraphLaunch"] == 0, one.name
        if one.reason == "devices_missing":
            rows = Counter(device for _, _, device, _, _ in seen.work)
            assert launches > len(list_kernels(seen)) > 0, one.name
            assert sum(count > 2 for count in rows.values()) < seen.gpus or one.era.name == "pre2021", one.name


def test_what_is_done_once_takes_most_of_the_window(look):
    for one, seen in draw_captures(look, "one_off"):
        assert one.once >= 0.7, one.name
        assert seen.work, one.name
        if one.reason == "whole_run":
            names = Counter(name for _, name, *_ in list_kernels(seen))
            assert max(names.values()) == 1, one.name
        else:
            assert sum(name in one.marks for name, _, _ in seen.ranges) <= 1, one.name


def test_windows_are_busy_without_start_up_or_marks(look):
    for one, seen in draw_captures(look, "window"):
        assert (one.steps, one.marks, one.once) == (None, (), 0.0), one.name
        assert len(list_kernels(seen)) > 20, one.name
        assert not any("ProfilerStep" in name or "step" in name for name, _, _ in seen.ranges), one.name
        assert (min(start for *_, start, _ in seen.work), max(end for *_, end in seen.work)) == pytest.approx(
            one.window, abs=2_000
        )


def test_steps_are_as_many_as_their_marks(look):
    for one, seen in draw_captures(look, "steps"):
        assert one.once <= 0.3, one.name
        assert one.steps >= (1 if one.reason == "marked" else 4), one.name
        if one.reason == "marked":
            assert sum(name in one.marks for name, _, _ in seen.ranges) == one.steps, one.name
        else:
            assert one.marks == (), one.name
        if one.situation == "one_kernel":
            assert len(list_kernels(seen)) == one.steps, one.name
        begin, end = one.window
        assert sum(begin - 2_000 <= start and until <= end + 2_000 for *_, start, until in seen.work) >= one.steps, (
            one.name
        )


def test_no_sequence_of_kernels_recurs_in_a_window(look):
    for one, seen in draw_captures(look, "window"):
        if one.situation != "prefills":
            names = [name for _, name, *_ in sorted(list_kernels(seen), key=lambda row: row[3])]
            eights = Counter(zip(*(names[at:] for at in range(8)), strict=False))
            assert max(eights.values()) <= 2, one.name


def test_work_of_a_stream_does_not_overlap(look):
    for kind in ("one_off", "steps"):
        for one, seen in draw_captures(look, kind)[:4]:
            if one.devices == (0,) and one.situation in ("training", "batch", "fortran", "solver"):
                times = sorted((start, end) for *_, start, end in list_kernels(seen))
                assert all(end <= start + 2_000 for (_, end), (start, _) in pairwise(times)), one.name


@pytest.mark.parametrize("kind", KINDS)
def test_traceq_reads_them_without_complaint(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(order, "TOPICS", ())
    for seed in (4, 7):
        one = capture(kind, seed)
        ingest([one.write(tmp_path)], tmp_path / f"{seed}.duckdb")
        with traceq.open(tmp_path / f"{seed}.duckdb") as db:
            complaints = db.sql("select severity, code, text from import_note where severity <> 'info'").fetchall()
        assert complaints == [] or one.is_damaged, one.name
