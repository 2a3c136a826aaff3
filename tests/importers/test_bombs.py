"""Files that are small and hold far too much: refused in one line, before they take memory or time."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from nsys_export import KERNEL, count_notes, read, write

from traceq import importers
from traceq.errors import TraceqError, UnusableTrace
from traceq.importers.chrome import cut
from traceq.importers.chrome.source import ByteStream

EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},'
MUCH = b" " * (1 << 20)


def read_all(path):
    return [batch for _, batch in importers.find(path).read(path)]


def pack_file(path, parts):
    with gzip.open(path, "wb", 6) as file:
        for part in parts:
            file.write(part)
    return path


def test_a_gzip_bomb_is_refused_and_the_limit_can_be_raised(tmp_path, monkeypatch):
    bomb = pack_file(tmp_path / "t.json.gz", [b'{"traceEvents":[' + EVENT, *[MUCH] * 80, b"{}]}"])
    with pytest.raises(UnusableTrace, match="TRACEQ_UNPACK_LIMIT"):
        read_all(bomb)
    monkeypatch.setenv("TRACEQ_UNPACK_LIMIT", "2000")
    assert read_all(bomb)


def test_a_member_of_an_archive_is_measured_too(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("t.json", "w") as member:
        for part in (b'{"traceEvents":[' + EVENT, *[MUCH] * 80, b"{}]}"):
            member.write(part)
    with pytest.raises(UnusableTrace, match="unpacks to more than"):
        read_all(path)


def test_an_archive_of_a_hundred_thousand_members_is_refused(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(60_000):
            archive.writestr(f"{number:060}", b"")
    with pytest.raises(TraceqError, match="too many members"):
        read_all(path)


def test_empty_events_are_counted_and_little_memory_is_taken(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents":[' + EVENT + b"{}," * 300_000 + b"{}]}")
    (note,) = [
        row for table, batch in importers.find(path).read(path) if table == "import_note" for row in batch.to_pylist()
    ]
    assert (note["code"], note["count"]) == ("empty_event", 300_001)


LARGE = (
    b'{"ph":"X","cat":"cpu_op","name":"large","pid":1,"tid":1,"ts":3,"dur":1,"args":{"list":['
    + b"[1]," * 500_000
    + b"[]]}},"
)


@pytest.mark.parametrize(
    ("limit", "names", "notes_"), [("1", ["a", "a"], {"large_event": 1}), ("9", ["a", "large", "a"], {})]
)
def test_an_event_too_large_to_be_kept_costs_itself_and_the_user_can_raise_the_limit(
    tmp_path, monkeypatch, limit, names, notes_
):
    monkeypatch.setenv("TRACEQ_EVENT_LIMIT", limit)
    (tmp_path / "t.json").write_bytes(
        b'{"traceEvents":[' + EVENT + LARGE + EVENT.rstrip(b",") + b'],"distributedInfo":{"rank":3}}'
    )
    found = list(importers.find(tmp_path / "t.json").read(tmp_path / "t.json"))
    rows = {table: [row for name, batch in found if name == table for row in batch.to_pylist()] for table, _ in found}
    assert [row["name"] for row in rows["cpu_slice"]] == names
    counts = {row["code"]: row["count"] for row in rows.get("import_note", [])}
    assert {code: counts.get(code, 0) for code in ("large_event",)} == {"large_event": 0} | notes_
    assert rows["trace"][0]["rank"] == 3


def test_metadata_behind_the_events_is_no_large_event(tmp_path):
    frames = ",".join(f'"{number}":{{"name":"frame {number}","parent":"{number - 1}"}}' for number in range(50_000))
    (tmp_path / "t.json").write_bytes(
        b'{"traceEvents":['
        + EVENT.rstrip(b",").replace(b'"dur":1', b'"dur":1,"args":{"lists":[{"a":[{}],"b":1}],"c":2}')
        + b'],"stackFrames":{%s},"distributedInfo":{"rank":3}}' % frames.encode()
    )
    found = [
        (table, row)
        for table, batch in importers.find(tmp_path / "t.json").read(tmp_path / "t.json")
        for row in batch.to_pylist()
    ]
    assert [row["rank"] for table, row in found if table == "trace"] == [3]
    assert [row["code"] for table, row in found if table == "import_note"] == []


def test_of_a_large_event_no_more_is_held_than_of_any(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents":[' + EVENT + LARGE[:-10] + b",[1]" * 5_000_000 + b"]}}," + EVENT + b"{}]}")
    with closing(ByteStream(path, lambda _: None)) as stream:
        _, text = cut.read_header(stream)
        sizes = [len(block) for block in cut.read_blocks(stream, text)]
        assert stream.large_events == 1
    assert sum(sizes) < cut.largest_event() + 4 * cut.BLOCK_BYTES


@pytest.mark.slow
def test_an_event_of_a_gigabyte_costs_itself(tmp_path):
    path = tmp_path / "t.json"
    with path.open("wb") as file:  # sparse
        file.write(b'{"traceEvents":[' + EVENT + b'{"ph":"X","name":"')
        file.seek(1 << 30, 1)
        file.write(b'"},' + EVENT + b"{}]}")
    batches = [(table, batch) for table, batch in importers.find(path).read(path)]
    assert sum(batch.num_rows for table, batch in batches if table == "cpu_slice") >= 1


# The command, which prints its largest memory at its end; getrusage counts that of the process that started it, too.
WITH_PEAK = """
import atexit, runpy
atexit.register(lambda: print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM"))))
runpy.run_module("traceq", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the largest memory")
@pytest.mark.parametrize(("events", "size"), [(240, 1_000_000), (6_000, 40_000)])
def test_many_long_events_take_little_more_memory_than_asked_for(tmp_path, events, size):
    path = tmp_path / "t.json"
    with path.open("wb") as file:
        file.write(b'{"traceEvents":[')
        for number in range(events):
            file.write(
                b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"x":"%s"}},'
                % (number, b"a" * size)
            )
        file.write(b"{}]}")
    command = [sys.executable, "-c", WITH_PEAK, "ingest", str(path), "-o", str(tmp_path / "t.duckdb")]
    ended = subprocess.run(
        [*command, "--memory-limit", "256MiB", "--jobs", "1"], capture_output=True, text=True, check=False
    )
    assert ended.returncode in (0, 1), ended.stderr
    assert int(ended.stdout.split()[-2]) < (256 + 300) << 10


ENDLESS = 'with recursive n(x) as (select 1 union all select x + 1 from n) select x as start, x as "end" from n'


@pytest.mark.parametrize("is_lying", [False, True])
def test_a_view_in_the_place_of_a_table_is_not_run(tmp_path, is_lying):
    path = write(tmp_path / "t.sqlite", {1: "k"}, CUPTI_ACTIVITY_KIND_RUNTIME=[{"start": 1, "end": 2, "nameId": 1}])
    with closing(sqlite3.connect(path)) as database:
        if is_lying:
            database.execute(f"create table {KERNEL} (start, end_)")
            database.execute("pragma writable_schema = on")
            database.execute(
                "update sqlite_master set sql = ? where name = ?", [f"create view {KERNEL} as {ENDLESS}", KERNEL]
            )
        else:
            database.execute(f"create view {KERNEL} as {ENDLESS}")
        database.commit()
    tables = read(path)
    assert tables["gpu_slice"] == []
    assert [row for row in tables["import_note"] if row["code"] == "view_not_read"] == [
        {
            "severity": "data_loss",
            "code": "view_not_read",
            "count": 1,
            "text": f"{KERNEL} is a view, not a table, and a view runs SQL from the file; export the report again.",
        }
    ]


def test_views_that_nobody_asks_for_say_nothing(tmp_path):
    path = write(tmp_path / "t.sqlite", {1: "k"}, **{KERNEL: [{"start": 1, "end": 2, "deviceId": 0, "streamId": 7}]})
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"create view mine as select * from {KERNEL}")
        database.commit()
    assert "view_not_read" not in count_notes(read(path))


def test_generated_columns_and_virtual_tables_are_not_run(tmp_path):
    path = write(tmp_path / "t.sqlite", {1: "k"}, **{KERNEL: [{"start": 1, "end": 2, "deviceId": 0, "streamId": 7}]})
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"alter table {KERNEL} add column correlationId as (abs(-9223372036854775808)) virtual")
        database.execute("create virtual table CUPTI_ACTIVITY_KIND_MEMSET using rtree(id, a, b)")
        database.commit()
    tables = read(path)
    assert len(tables["gpu_slice"]) == 1
    assert "table_damaged" not in count_notes(tables)
    assert count_notes(tables)["view_not_read"] == 1
