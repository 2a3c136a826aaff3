"""Memory snapshots are read opcode by opcode: the same rows of every protocol, and an error for what is none."""

from __future__ import annotations

import gzip
import io
import pickle
import random
import sqlite3
import struct
import time
import tracemalloc
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest
from snapshots import make_frames, make_history, make_segment, make_snapshot, write_file, write_tables

from traceq.common.ranks import rank_in_path
from traceq.errors import UnusableTrace
from traceq.importers import pickled
from traceq.importers.memory_snapshot import read, reading, sniff

EVENTS = """
    10 segment_alloc 1000 2048 init
    11 alloc 1000 100 init
    12 alloc 1512 200 forward
    13 free 1512 200 backward
    13 freed 1512 200 backward
    14 oom 77 4096 main
"""
SEGMENT = make_segment(1000, "512 100 used init\n1536 200 free -")
SMALL = make_snapshot(make_history(EVENTS), segments=[SEGMENT])


def list_rows(path, table):
    """The rows of a table, a tuple each."""
    found = [batch for name, batch in read(path) if name == table]
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def read_refusal(path):
    """The message with which a file is refused, without its path; None where it is read."""
    try:
        list(read(path))
    except UnusableTrace as error:
        text = str(error)
        assert "\n" not in text
        return text.removeprefix(f"{path}: ")
    return None


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_events_of_every_protocol(tmp_path, protocol):
    path = write_file(tmp_path, SMALL, protocol)
    assert sniff(path)
    assert list_rows(path, "allocator_event") == [
        (0, 0, "segment_alloc", 10_000, 1000, 2048, None, 0, 0, None),
        (0, 1, "alloc", 11_000, 1000, 100, None, 0, 0, None),
        (0, 2, "alloc", 12_000, 1512, 200, None, 0, 1, None),
        (0, 3, "free_requested", 13_000, 1512, 200, None, 0, 2, None),
        (0, 4, "free_completed", 13_000, 1512, 200, None, 0, 2, None),
        (0, 5, "oom", 14_000, None, 4096, 77, 0, 3, None),
    ]


def test_segments_blocks_and_stacks(tmp_path):
    path = write_file(tmp_path, SMALL)
    assert list_rows(path, "allocator_segment") == [
        (0, 0, 1000, 2048, None, None, None, 0, "large", "0.0", False, None)
    ]
    assert [row[:6] for row in list_rows(path, "allocator_block")] == [
        (0, 0, 1000, 512, 100, "active_allocated"),
        (0, 1, 1512, 1536, 200, "inactive"),
    ]
    stacks = list_rows(path, "allocator_stack")
    assert [row[1:] for row in stacks if row[0] == 0] == [
        (0, "__init__", "model.py", 3),
        (1, "main", "train.py", 1),
    ]
    assert list_rows(path, "trace")[0][0] == "PyTorch memory snapshot"


def test_pickler_in_python_and_no_memo(tmp_path):
    """Python's own pickler, and one that, as PyTorch's C++, numbers nothing and writes lists in one piece."""
    path = tmp_path / "snapshot.pickle"
    expected = [row[:8] for row in list_rows(write_file(tmp_path, SMALL), "allocator_event")]
    stream = io.BytesIO()
    pickle._Pickler(stream, 4).dump(SMALL)
    path.write_bytes(stream.getvalue())
    assert [row[:8] for row in list_rows(path, "allocator_event")] == expected
    stream = io.BytesIO()
    fast = pickle.Pickler(stream, 4)
    fast.fast = True
    fast.dump(SMALL)
    path.write_bytes(stream.getvalue())
    assert [row[:8] for row in list_rows(path, "allocator_event")] == expected


def as_cpp(value, numbers):
    """As PyTorch's C++ writes it, protocol 2: lists in one piece, and what is there twice is numbered when it is complete."""
    if id(value) in numbers:
        return b"j" + struct.pack("<I", numbers[id(value)][0])
    if isinstance(value, dict):
        done = b"}(" + b"".join(as_cpp(key, numbers) + as_cpp(each, numbers) for key, each in value.items()) + b"u"
    elif isinstance(value, list):
        done = b"](" + b"".join(as_cpp(each, numbers) for each in value) + b"e"
    elif isinstance(value, tuple):
        done = b"(" + b"".join(as_cpp(each, numbers) for each in value) + b"t"
    elif isinstance(value, str):
        text = value.encode()
        done = b"X" + struct.pack("<I", len(text)) + text
    elif isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    else:
        return b"\x8a\x08" + struct.pack("<q", value)
    numbers[id(value)] = (len(numbers), value)
    return done + b"r" + struct.pack("<I", len(numbers) - 1)


def test_snapshots_of_cpp(tmp_path):
    path = tmp_path / "snapshot.pickle"
    content = make_snapshot(make_history(EVENTS), make_history("1 alloc 8 1 main"), segments=[SEGMENT])
    expected = [row[:8] for row in list_rows(write_file(tmp_path, content), "allocator_event")]
    path.write_bytes(b"\x80\x02" + as_cpp(content, {}) + b".")
    assert sniff(path)
    assert [row[:8] for row in list_rows(path, "allocator_event")] == expected
    assert {row[8] for row in list_rows(path, "allocator_event")} == {0, 1, 2, 3}


def test_every_device_has_a_list_of_its_own(tmp_path):
    """Also those without events."""
    one = make_history("1 alloc 8 1 main\n2 alloc 9 2 main")
    for count in (1, 2, 3):
        traces = [[] for _ in range(count)]
        traces[-1] = one
        found = list_rows(write_file(tmp_path, make_snapshot(*traces)), "allocator_event")
        assert [row[:2] for row in found] == [(count - 1, 0), (count - 1, 1)]
    found = list_rows(write_file(tmp_path, make_snapshot(one, [], make_history("3 alloc 8 1 main"))), "allocator_event")
    assert [row[:2] for row in found] == [(0, 0), (0, 1), (2, 0)]


def test_a_list_of_segments_is_a_snapshot(tmp_path):
    path = write_file(tmp_path, [SEGMENT, make_segment(8192, "512 100 used init")])
    assert sniff(path)
    assert len(list_rows(path, "allocator_segment")) == 2


@pytest.mark.parametrize("depth", [1, 2, 999, 1000, 1001, 2500])
def test_stacks_of_any_depth(tmp_path, depth):
    """Picklers write long lists in parts, and what was written before by its number."""
    deep = [frame for number in range(depth) for frame in make_frames(f"deep.py:{number} f")]
    events = make_history("1 alloc 8 1 main\n2 alloc 9 1 main\n3 alloc 10 1 main")
    for event in events:
        event["frames"] = list(deep)
    path = write_file(tmp_path, make_snapshot(events))
    assert [row[4] for row in list_rows(path, "allocator_stack")] == list(range(depth))
    assert [row[8] for row in list_rows(path, "allocator_event")] == [0, 0, 0]


def test_long_histories_in_parts(tmp_path):
    events = make_history("\n".join(f"{at} alloc {at} 1 main" for at in range(3001)))
    found = list_rows(write_file(tmp_path, make_snapshot(events)), "allocator_event")
    assert [row[1] for row in found] == list(range(3001))


def test_annotations_become_ranges(tmp_path):
    def mark(stage, name, at):
        return {"stage": stage, "name": name, "device": 0, "time_us": at}

    marks = [
        mark("START", "a", 1),
        mark("START", "a", 2),
        mark("END", "a", 5),
        mark("END", "b", 6),
        mark("END", "a", 9),
    ]
    path = write_file(tmp_path, make_snapshot(make_history("1 alloc 8 1 main"), annotations=marks))
    assert [row[3:] for row in list_rows(path, "cpu_slice")] == [("a", 1000, 8000), ("a", 2000, 3000)]


def test_gzipped(tmp_path):
    path = write_file(tmp_path, SMALL)
    packed = tmp_path / "snapshot.pickle.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert sniff(packed)
    assert list_rows(packed, "allocator_event") == list_rows(path, "allocator_event")
    packed.write_bytes(packed.read_bytes()[:-100])
    assert read_refusal(packed)


# ---- what is no snapshot


class Calls:
    """Writes a file where it is unpickled by whoever calls what it asks for."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


class Built:
    def __reduce__(self):
        return (object, (), {"a": 1})


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("place", ["event", "frame", "segment", "settings", "top"])
def test_what_asks_for_a_call_is_not_called(tmp_path, protocol, place):
    called = tmp_path / "called"
    content = make_snapshot(make_history(EVENTS), segments=[{**SEGMENT}])
    {
        "event": content["device_traces"][0][0],
        "frame": content["device_traces"][0][0]["frames"][0],
        "segment": content["segments"][0],
        "settings": content["allocator_settings"],
        "top": content,
    }[place]["evil"] = Calls(called)
    path = write_file(tmp_path, content, protocol)
    assert "is not one for numbers, text, lists or dicts" in read_refusal(path)
    assert not called.exists()


# STOP, the opcodes of the reader, and all others: each must be refused.
PRIMITIVE = set("(N\x88\x89KMJG\x8a\x8cX\x8dCB]})\x85\x86\x87taesu\x94qrhj.\x80\x95")


def test_no_other_opcode_is_known(tmp_path):
    path = tmp_path / "one.pickle"
    known = []
    for code in range(256):
        path.write_bytes(b"\x80\x04" + bytes([code]) + b"cos\nsystem\n(S'x'\ntR.")
        if chr(code) not in PRIMITIVE and "is not one for" not in str(read_refusal(path)):
            known.append(code)
    assert known == []


def test_the_reader_knows_no_name_that_runs_anything():
    text = Path(pickled.__file__).read_text("utf-8")
    assert not [
        word for word in ("import_module", "__import__", "getattr", "eval(", "exec(", "pickle.") if word in text
    ]


BOMBS = {
    "text of 4 GiB": b"X\xff\xff\xff\xff",
    "text of 16 EiB": b"\x8d" + b"\xff" * 8,
    "bytes of 4 GiB": b"B\xff\xff\xff\xff",
    "integer of 255 bytes": b"\x8a\xff" + b"\x01" * 255 + b".",
    "frame of 16 EiB": b"\x95" + b"\xff" * 8,
    "memo far away": b"]r\xff\xff\xff\xff.",
    "reference to nothing": b"j\xff\xff\xff\xff.",
    "marks without end": b"(" * 1000,
    "lists without end": b"]" * 5_000_000,
    "a list in itself": b"]\x94h\x00a.",
    "a list in a list in itself": b"]\x94]\x94h\x00aa.",
    "a dict in itself": b"}\x94(X\x01\x00\x00\x00ah\x00u.",
    "a tuple of itself": b"]\x94h\x00\x85.",
    "doubling": b"]\x94" + b"(h\x00h\x00e\x94" * 100,
    "pop of nothing": b"a.",
    "item of nothing": b"s.",
    "end of nothing": b"u.",
    "no stop": b"]",
    "two results": b"]].",
    "a list as key": b"}]Ns.",
    "an odd dict": b"}(Nu.",
    "a dict that is no list": b"}Na.",
    "a tuple of many": b"(" + b"N" * 17 + b"t.",
    "a huge number in an event": b"}(\x8c\x06action\x8c\x05alloc\x8c\x07time_us\x8a\x09" + b"\xff" * 8 + b"\x00u.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_fail(tmp_path, name):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(b"\x80\x04" + BOMBS[name])
    assert read_refusal(path)


@pytest.mark.parametrize(
    "wrong", [{"size": -1}, {"size": 1 << 62}, {"time_us": 1 << 61}, {"addr": "x"}, {"frames": [1]}]
)
def test_events_that_cannot_be(tmp_path, wrong):
    events = make_history(EVENTS)
    events[1] |= wrong
    assert read_refusal(write_file(tmp_path, make_snapshot(events)))


def test_what_stays_is_limited(tmp_path, monkeypatch):
    """Distinct texts and stacks, items of unknown lists, objects in all."""
    content = make_snapshot(make_history("\n".join(f"{at} alloc 1 1 f{at}.py:1 f" for at in range(100))))
    for name, limit in (("_MOST_KEPT", 1000), ("_MOST_HELD", 3), ("_MOST_OBJECTS", 50)):
        with monkeypatch.context() as patch:
            patch.setattr(pickled, name, limit)
            assert "more than" in read_refusal(write_file(tmp_path, content | {"x": [None] * 10}))


def test_every_file_that_ends_early_is_refused(tmp_path):
    whole = write_file(tmp_path, SMALL).read_bytes()
    path = tmp_path / "part.pickle"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert read_refusal(path), size


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_told_in_one_line(tmp_path, seed):
    """Whatever bytes are changed, a file is read or refused: nothing else happens."""
    chance = random.Random(seed)  # noqa: S311 - the same numbers each time
    whole = write_file(tmp_path, SMALL).read_bytes()
    path = tmp_path / "damaged.pickle"
    ends = Counter()
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        ends[read_refusal(path) is None] += 1
    assert ends[False] > 10


def test_a_pickle_of_something_else_is_no_snapshot(tmp_path):
    for content in ({"a": 1}, [1, 2], "segments", {"state_dict": {}}):
        assert not sniff(write_file(tmp_path, content))
    assert "neither segments nor device_traces" in read_refusal(write_file(tmp_path, {"a": 1}))


def test_old_snapshots_have_an_order_and_no_times(tmp_path):
    """PyTorch 2.0 writes blocks without an address, and their users as a list, the last first."""
    events = make_history(EVENTS)
    for event in events:
        del event["time_us"]
    uses = [
        {"addr": 1000, "real_size": size, "frames": make_frames(stack)} for size, stack in ((100, "init"), (90, "main"))
    ]
    blocks = [
        {"size": 512, "state": "active_allocated", "history": uses},
        {"size": 1536, "state": "inactive", "history": []},
    ]
    path = write_file(
        tmp_path, make_snapshot(events, segments=[make_segment(1000, "") | {"blocks": blocks, "total_size": 2048}])
    )
    assert [row[:4] for row in list_rows(path, "allocator_event")][:2] == [
        (0, 0, "segment_alloc", None),
        (0, 1, "alloc", None),
    ]
    init, *_ = [row[0] for row in list_rows(path, "allocator_stack") if row[2] == "__init__"]
    assert list_rows(path, "allocator_block") == [
        (0, 0, 1000, 512, 100, "active_allocated", init),
        (0, 1, 1512, 1536, None, "inactive", None),
    ]


def test_numbers_are_read_as_they_are_written(tmp_path):
    """Of every width."""
    sizes = [0, 255, 256, 65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 44) + 5]
    events = make_history("\n".join(f"{at} alloc {size} {size} main" for at, size in enumerate(sizes)))
    assert [row[5] for row in list_rows(write_file(tmp_path, make_snapshot(events)), "allocator_event")] == sizes
    assert struct.calcsize("<Q") == 8


@pytest.mark.slow
def test_memory_does_not_grow_with_the_history(tmp_path, monkeypatch):
    """Rows are given while the file is read, and nothing of an event stays but the number that its objects have."""
    monkeypatch.setattr(reading, "_ROWS", 1000)
    peaks = []
    for count in (20_000, 60_000):
        path = write_file(
            tmp_path, make_snapshot(make_history("\n".join(f"{at} alloc {at} 1 main" for at in range(count))))
        )
        tracemalloc.start()
        for _ in read(path):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_list_that_grows_item_by_item_is_not_looked_at_from_its_start_each_time(tmp_path):
    frame = b"}(\x8c\x04name\x8c\x01f\x8c\x08filename\x8c\x01a\x8c\x04lineK\x01u\x94"
    path = tmp_path / "slow.pickle"
    # the first list: 20,000 frames and a number at once, then a number at a time
    path.write_bytes(
        b"\x80\x04}\x94\x8c\x08segments\x94]\x94(" + frame + b"h\x03" * 20_000 + b"K\x01e" + b"K\x01a" * 50_000 + b"s."
    )
    began = time.process_time()
    with suppress(UnusableTrace):
        list(read(path, lambda _bytes: None))
    assert time.process_time() - began < 10


def test_lists_of_more_devices_than_there_can_be_are_refused(tmp_path):
    made = tmp_path / "one_piece.pickle"
    row = b"](}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01\x8c\x07time_usK\x01ue"
    made.write_bytes(b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](" + row * 3000 + b"eu.")
    with pytest.raises(UnusableTrace, match="more than 1,024 devices"):
        list(read(made, lambda _bytes: None))


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("rank3_memory_snapshot.pickle", 3),
        ("memory_snapshot_Rank-12.pickle", 12),
        ("iteration_10/oom_r7.pickle", 7),
        ("rank2/snapshot.pickle", 2),
        ("snapshot_2.pickle", None),
        ("frank3x/our4.pickle", None),
        (f"rank{10**9}.pickle", None),
    ],
)
def test_the_name_of_the_file_tells_the_rank(path, rank):
    assert rank_in_path(Path(path)) == rank


def test_the_tables_of_a_snapshot_are_read_as_its_pickle(tmp_path):
    """All but the pools, of which SQLite files tell nothing."""
    other = make_segment(8192, "512 100 used init")
    content = make_snapshot(make_history(EVENTS), [], make_history("3 alloc 8 1 main"), segments=[SEGMENT, other])
    pickled, path = write_file(tmp_path, content), write_tables(tmp_path / "snapshot.db", content)
    assert sniff(path)
    for table in ("allocator_event", "allocator_block", "allocator_stack", "device"):
        assert sorted(list_rows(path, table)) == sorted(list_rows(pickled, table))
    without_pool = [row[:9] + row[10:] for row in list_rows(pickled, "allocator_segment")]
    assert [row[:9] + row[10:] for row in list_rows(path, "allocator_segment")] == without_pool
    packed = tmp_path / "snapshot.db.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert sniff(packed)
    assert list_rows(packed, "allocator_event") == list_rows(path, "allocator_event")
    packed.write_bytes(gzip.compress(path.read_bytes()[:9000]))
    assert sniff(packed)
    assert "cannot be read as a memory snapshot of PyTorch in SQLite" in read_refusal(packed)


def test_tables_without_their_columns_are_named_with_the_way_out(tmp_path):
    path = write_tables(
        tmp_path / "snapshot.db", SMALL, without=("device_traces.addr", "blocks.state", "segments.stream")
    )
    assert sniff(path)
    assert read_refusal(path) == (
        "cannot be read as a memory snapshot of PyTorch in SQLite: it lacks device_traces.addr, blocks.state;"
        " dump a pickle instead: torch.cuda.memory._dump_snapshot(FILE)"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("update blocks set frames = x'800428'", "its stacks are not lists of frames in JSON"),
        ("update segments set frames = '[{}]'", "'name' is not text"),
        ("update device_traces set device = -1", "'device' is not the number of a GPU"),
        ("update device_traces set size = 'x'", "'size' is not a number of at most 64 bits"),
        ("drop table blocks; create view blocks as select 1", None),
    ],
)
def test_tables_that_hold_something_else_are_refused(tmp_path, change, why):
    path = write_tables(tmp_path / "snapshot.db", SMALL)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(change)
    assert sniff(path) is (why is not None)
    if why:
        assert why in read_refusal(path)


def test_blocks_of_no_segment_are_counted(tmp_path):
    path = write_tables(tmp_path / "snapshot.db", SMALL)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update blocks set segment_id = 7 where id = 2")
    assert len(list_rows(path, "allocator_block")) == 1
    assert [row[:3] for row in list_rows(path, "import_note")] == [("data_loss", "records_not_imported", 1)]


@pytest.mark.parametrize("time_us", [None, 0])
def test_events_without_a_time_are_counted(tmp_path, time_us):
    events = make_history(EVENTS)
    for event in events[1:]:
        event["time_us"] = time_us
    for path in (write_file(tmp_path, make_snapshot(events)), write_tables(tmp_path / "old.db", make_snapshot(events))):
        assert [row[3] for row in list_rows(path, "allocator_event")] == [10_000, *[None] * 5]
        assert [row[:3] for row in list_rows(path, "import_note")] == [("info", "event_without_time", 5)]
    assert list_rows(write_file(tmp_path, SMALL), "import_note") == []
