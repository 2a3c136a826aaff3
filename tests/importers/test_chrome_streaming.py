"""A Chrome trace is read in blocks, several at a time: neither may be seen in the result."""

from __future__ import annotations

import gzip
import json
import threading
import tracemalloc
import zipfile
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from chrome_trace import (
    count_notes,
    make_event,
    make_kernel,
    make_op,
    name_of,
    pick_columns,
    read_tables,
    render_text,
    write,
    write_text,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.importers import chrome
from traceq.importers.chrome import cut, reading

TRAPS = (
    "},{",
    '}, {"',
    '},{"ph":"X"',
    "] }",
    "}, ]",
    "} ]",
    '}\n]\n, "traceEvents": [',
    "\\",
    'quote " inside',
    "\u00e9\u4e16\U0001f600",
    "[[[{{{",
)
NESTED = {"list": [{"a": 1}, {"b": [{}, {"c": "},{"}]}, {}], "empty": [], "object": {"x": {"y": [{}, {}]}}}


def tricky_events():
    """Events of every kind with text and arguments that look like the edge between two events."""
    events = [{"ph": "B", "name": "whole", "pid": 1, "tid": 1, "ts": 0, "args": NESTED}]
    for number, trap in enumerate(TRAPS):
        ts = 10 * number
        args = {"External id": number, "trap": trap, trap: NESTED}
        events += [
            make_op(trap, ts + 0.125, 9, args),
            make_event(
                "cuda_runtime", "cudaLaunchKernel", ts + 1, 2, {"correlation": number, "list": [{"x": 1}, {"y": 2}]}
            ),
            make_kernel(trap, ts + 2.5, 3.25, {"correlation": number, "occupancy": {"a": [{"b": 1}, {"c": 2}]}}),
            make_event("python_function", trap, ts, 5, {"Python id": number}, tid=f"thread {number % 3}"),
            make_event(
                "cpu_instant_event", "[memory]", ts, None, {"Total Allocated": number, "Device Type": 1}, ph="i"
            ),
            {"ph": "C", "name": trap, "pid": 1, "ts": ts, "args": {"},{": number}},
            make_event("ac2g", "ac2g", ts, None, ph="s", id=number),
        ]
    events += [name_of("thread_name", "},{", tid=100), {"ph": "E", "pid": 1, "tid": 1, "ts": 500}]
    return events


BEFORE = {"schemaVersion": 1, "notes": ['"traceEvents": [{', *TRAPS], "deviceProperties": [{"id": 0, "name": "},{"}]}
AFTER = {"distributedInfo": {"rank": 1, "world_size": 2}, "baseTimeNanoseconds": 17, "traceName": "},{"}
FRAMES = {
    "metadata around": render_text(*tricky_events(), before=BEFORE, after=AFTER),
    "events last": render_text(*tricky_events(), before=BEFORE | AFTER),
    "events first": render_text(*tricky_events(), after=BEFORE | AFTER),
    "bare list": json.dumps(tricky_events()),
    "pretty": json.dumps({**BEFORE, "traceEvents": tricky_events(), **AFTER}, indent=2),
    "dense": json.dumps({"traceEvents": tricky_events(), **BEFORE}, separators=(",", ":"), ensure_ascii=False),
    "trailing comma": render_text(*tricky_events(), after=AFTER).replace("\n]", ",\n]"),
    "not a number": render_text(*tricky_events(), make_op("inf", 1, 2, {"blocks": 0}), after=AFTER).replace(
        ": 0}", ": inf}"
    ),
}


def dump_everything(path, jobs=1):
    """All rows as text, in an order that does not depend on batches; args may be spelt in several ways."""
    tables = read_tables(path, jobs=jobs)
    for row in chain.from_iterable(tables.values()):
        if row.get("args"):
            row["args"] = json.loads(row["args"])
    return {table: sorted(json.dumps(row, sort_keys=True) for row in rows) for table, rows in tables.items()}


class Whole(dict[str, tuple[Path, dict[str, list[str]]]]):
    """(path, rows) of each frame, read in one block."""

    def __repr__(self):
        return "the frames"  # Hypothesis prints arguments


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    found = Whole()
    for frame, content in FRAMES.items():
        path = write_text(tmp_path_factory.mktemp("frame"), content)
        found[frame] = path, dump_everything(path)
    return found


def cut_at(path, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "BLOCK_BYTES", size)
        return dump_everything(path)


def test_the_tricky_trace_is_read_as_it_was_written(whole):
    tables = read_tables(whole["metadata around"][0])
    assert len(tables["cpu_slice"]) == 4 * len(TRAPS) + 1
    assert [name for (name,) in pick_columns(tables["gpu_slice"], "name")] == list(TRAPS)
    assert pick_columns(tables["counter"], "name value")[-1] == (f"{TRAPS[-1]}.}},{{", len(TRAPS) - 1)
    assert count_notes(tables) == {"flow_not_stored": len(TRAPS)}


def test_frames_differ_only_in_what_stands_around_the_events(whole):
    for frame in ("events last", "events first", "pretty", "dense"):
        assert whole[frame][1]["cpu_slice"] == whole["metadata around"][1]["cpu_slice"], frame
        assert whole[frame][1]["gpu_slice"] == whole["metadata around"][1]["gpu_slice"], frame


@pytest.mark.sample(4)
@pytest.mark.parametrize("size", [200, 500, 1000, 4096])
@pytest.mark.parametrize("frame", FRAMES)
def test_blocks_may_be_cut_anywhere(whole, frame, size):
    path, expected = whole[frame]
    assert cut_at(path, size) == expected


ODD = {
    "plain": "",
    "an odd event": ', {"name": "odd", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "args": {"x": NaN}}',
    "damage": ', {"name": "broken, {"name": "x"',
    "half a character": ', {"name": "\\ud800", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}',
}


@pytest.mark.parametrize("place", [0, 40, 150, 299])
@pytest.mark.parametrize("odd", ODD)
def test_groups_that_are_decoded_at_once_come_in_the_order_of_the_file(odd, place, tmp_path, monkeypatch):
    """A group that cannot be decoded as a whole comes between others that are decoded meanwhile."""
    monkeypatch.setattr(cut, "BLOCK_BYTES", 300)
    monkeypatch.setattr(reading, "_GROUP_BYTES", 1200)
    events = [json.dumps(make_op(f"op {number}", number, 1, {"External id": number})) for number in range(300)]
    events[place] += ODD[odd]
    path = write_text(tmp_path, '{"traceEvents": [' + ", ".join(events) + '], "traceName": "x"}')
    tables = [read_tables(path, jobs=jobs) for jobs in (1, 4)]
    assert tables[0] == tables[1]
    names = [row["name"] for row in tables[1]["cpu_slice"] if row["name"].startswith("op ")]
    assert names == sorted(names, key=lambda name: int(name[3:]))
    assert len(names) >= 299


def test_threads_end_when_nobody_reads_on(tmp_path, monkeypatch):
    monkeypatch.setattr(cut, "BLOCK_BYTES", 300)
    monkeypatch.setattr(reading, "_GROUP_BYTES", 1200)
    before = set(threading.enumerate())
    batches = reading.read(write(tmp_path, *(make_op(f"op {number}", number, 1) for number in range(300))), jobs=4)
    next(batches)
    batches.close()
    assert set(threading.enumerate()) == before


@settings(max_examples=60, deadline=None)
@given(frame=st.sampled_from(sorted(FRAMES)), size=st.integers(64, 6000))
@pytest.mark.slow
def test_blocks_of_any_size(whole, frame, size):
    path, expected = whole[frame]
    assert cut_at(path, size) == expected


@pytest.mark.parametrize("size", [200, 1 << 20])
def test_packing_does_not_matter(tmp_path, whole, size):
    path, expected = whole["metadata around"]
    zipped = tmp_path / "trace.gz"
    half = len(FRAMES["metadata around"]) // 2
    content = path.read_bytes()
    zipped.write_bytes(gzip.compress(content[:half]) + gzip.compress(content[half:]))  # two members, as pigz makes them
    with zipfile.ZipFile(tmp_path / "trace.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "log/trace.json")
    assert cut_at(zipped, size) == expected
    assert cut_at(tmp_path / "trace.zip", size) == expected


@pytest.mark.parametrize("size", [1, 3000, 1 << 20])
def test_groups_of_blocks_give_the_same_rows(whole, monkeypatch, size):
    monkeypatch.setattr(reading, "_GROUP_BYTES", size)
    monkeypatch.setattr(cut, "BLOCK_BYTES", 1000)
    for path, expected in (whole["metadata around"], whole["not a number"]):
        assert dump_everything(path, jobs=2) == expected


def test_progress_reaches_the_size_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(cut, "BLOCK_BYTES", 1000)
    path = write(tmp_path, *(make_op("a", number, 1) for number in range(100)))
    told = []
    read_tables(path, told.append)
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size
    assert len(told) > 5


def test_threads_keep_their_numbers_over_blocks(tmp_path, monkeypatch):
    path = write(tmp_path, *(make_op("a", number, 1, tid=number % 4 + 1) for number in range(200)))
    monkeypatch.setattr(cut, "BLOCK_BYTES", 700)
    tables = read_tables(path)
    assert pick_columns(tables["thread"], "thread_id tid") == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert Counter(row["thread_id"] for row in tables["cpu_slice"]) == {0: 50, 1: 50, 2: 50, 3: 50}


def test_ranges_are_paired_over_blocks(tmp_path, monkeypatch):
    inside = [make_op("a", number, 1) for number in range(100)]
    begin, end = ({"ph": phase, "name": "all", "pid": 1, "tid": 1, "ts": ts} for phase, ts in (("B", 0), ("E", 101)))
    path = write(tmp_path, begin, *inside, end)
    monkeypatch.setattr(cut, "BLOCK_BYTES", 700)
    assert ("all", 0, 101_000) in pick_columns(read_tables(path)["cpu_slice"], "name ts dur")


def peak_of_reading(path, megabytes):
    """Peak of Python's and numpy's memory while a trace of this size streams through, in bytes."""
    event = json.dumps(make_op("aten::mm", 1.5, 2, {"External id": 1, "Input Dims": [[1024, 1024]], "Ev Idx": 5}))
    block = (event + ",\n") * 1000
    with path.open("w") as file:
        file.write('{"traceEvents": [\n')
        for _ in range(megabytes * 1_000_000 // len(block)):
            file.write(block)
        file.write(event + "]}")
    tracemalloc.start()
    try:
        rows = sum(batch.num_rows for table, batch in chrome.read(path) if table == "cpu_slice")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows > 5_000 * megabytes
    return peak


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    small = peak_of_reading(tmp_path / "small.json", 40)  # first: it imports what the other needs, too
    assert peak_of_reading(tmp_path / "large.json", 120) < 1.2 * small
