"""nsys files as files: recognised by content, left untouched, gzip'd, damaged, exported by nsys."""

from __future__ import annotations

import gzip
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsys_export import KERNEL, RUNTIME, count_notes, global_id, pick_columns, read, write

from traceq.errors import MissingTool, UnusableTrace
from traceq.importers import nsys
from traceq.loading.sources import find_sources


def make_kernels(count, **more):
    return [{"start": n, "end": n + 1, "deviceId": 0, "demangledName": 1, **more} for n in range(count)]


@pytest.fixture
def export(tmp_path):
    return write(tmp_path / "a.sqlite", {1: "gemm"}, **{KERNEL: make_kernels(3)})


@pytest.mark.parametrize("name", ["no suffix", "a?b#c%20.json", 'sp ace\'s "q".trace'])
def test_name_does_not_matter(export, name):
    renamed = export.rename(export.with_name(name))
    assert nsys.sniff(renamed)
    assert nsys.is_sqlite(renamed)
    assert len(read(renamed)["gpu_slice"]) == 3


def test_gzip(export, tmp_path):
    packed = tmp_path / "b"
    packed.write_bytes(gzip.compress(export.read_bytes()))
    assert nsys.sniff(packed)
    assert nsys.is_sqlite(packed)
    assert read(packed) == read(export)


def test_temporary_files_are_gone_even_when_the_reader_is_dropped(export, tmp_path, monkeypatch):
    packed = tmp_path / "b"
    packed.write_bytes(gzip.compress(export.read_bytes()))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    batches = nsys.read(packed)
    next(batches)
    assert list(folder.iterdir())
    batches.close()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"traceEvents": []}',
        b"\x1f\x8b",
        gzip.compress(b'{"traceEvents": []}', mtime=0),
        b"\x00" * 200,
        b"SQLite format 3 is nice",
    ],
)
def test_other_files_are_not_recognised(tmp_path, content):
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    assert not nsys.sniff(path)
    assert not nsys.is_sqlite(path)


def test_other_sqlite_is_not_recognised(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table people (name)")
        database.commit()
    assert not nsys.sniff(path)
    assert nsys.is_sqlite(path)


def test_folder_is_not_recognised(tmp_path):
    assert not nsys.sniff(tmp_path)


def test_file_is_not_touched(export):
    export.chmod(stat.S_IRUSR)
    before = (export.read_bytes(), export.stat().st_mtime_ns, sorted(export.parent.iterdir()))
    nsys.sniff(export)
    read(export)
    assert (export.read_bytes(), export.stat().st_mtime_ns, sorted(export.parent.iterdir())) == before


def test_progress_ends_with_the_size_of_the_file(tmp_path):
    path = write(tmp_path / "a.sqlite", {1: "gemm"}, **{KERNEL: make_kernels(70_000)})
    told = []
    for _ in nsys.read(path, told.append):
        pass
    assert told == sorted(told)
    assert len(told) >= 3
    assert told[-1] == path.stat().st_size


def test_unfinished_writes_beside_the_file(export):
    export.with_name(export.name + "-wal").write_bytes(b"pending")
    assert count_notes(read(export)) == {"wal_ignored": 1}


# How a journal begins, and how it begins when what it is for is done.
HOT, DONE = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504), bytes(512)


def test_rows_that_were_to_be_taken_back_are_not_read(export):
    export.with_name(f"{export.name}-journal").write_bytes(HOT)
    with pytest.raises(UnusableTrace, match="journal") as caught:
        read(export)
    assert "\n" not in str(caught.value)


def test_a_real_hot_journal(tmp_path):
    """An export whose writer is killed once its rows are on the disk and before they count."""
    path = write(tmp_path / "a.sqlite", {1: "gemm"}, **{KERNEL: make_kernels(5)})
    script = f"""if True:
        import os, sqlite3
        connection = sqlite3.connect({str(path)!r}, isolation_level=None)
        connection.execute("pragma cache_size = 1")
        connection.execute("begin")
        connection.execute("update {KERNEL} set start = start + 1000000")
        connection.execute("create table filler as with recursive n(x) as (select 1 union all select x + 1 from n limit 9999)"
            " select x, zeroblob(100) from n")
        os._exit(0)
        """
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(UnusableTrace, match="export it again"):
        read(path)
    with closing(sqlite3.connect(path)) as connection:  # as the message says
        connection.execute("select * from sqlite_master").fetchall()
    assert len(read(path)["gpu_slice"]) == 5


def test_a_journal_that_is_done_says_nothing(export):
    export.with_name(f"{export.name}-journal").write_bytes(DONE)
    assert count_notes(read(export)) == {}


def test_truncated_file(tmp_path):
    path = write(tmp_path / "a.sqlite", {1: "gemm"}, **{RUNTIME: [], KERNEL: make_kernels(70_000)})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 9 // 10])
    tables = read(path)
    assert 60_000 < len(tables["gpu_slice"]) < 70_000
    # Of the page that was cut in two, rows are left without values.
    assert count_notes(tables).items() >= {"table_damaged": 1, "truncated": 1}.items()
    assert count_notes(tables).keys() <= {"table_damaged", "truncated", "no_start_time"}


def test_damaged_schema(export):
    data = bytearray(export.read_bytes())
    data[100:2000] = b"\xff" * 1900
    export.write_bytes(data)
    with pytest.raises(UnusableTrace, match="damaged") as caught:
        read(export)
    assert "\n" not in str(caught.value)


def test_only_the_header_is_left(tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + b"StringIds" * 20)
    assert nsys.sniff(path)
    with pytest.raises(UnusableTrace, match="damaged"):
        read(path)


def test_truncated_gzip(tmp_path):
    path = write(tmp_path / "a.sqlite", {1: "gemm"}, **{KERNEL: make_kernels(70_000)})
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) * 9 // 10])
    tables = read(path)
    assert 0 < len(tables["gpu_slice"]) < 70_000
    assert count_notes(tables)["truncated"] == 2


@pytest.mark.parametrize(("after", "noted"), [(bytes(600), {}), (b"PK and more", {"truncated": 1})])
def test_what_follows_the_end_of_a_gzip_file_is_said_unless_it_is_padding(export, tmp_path, after, noted):
    packed = tmp_path / "b"
    packed.write_bytes(gzip.compress(export.read_bytes()) + after)
    assert nsys.sniff(packed)
    tables = read(packed)
    assert tables["gpu_slice"] == read(export)["gpu_slice"]
    assert {code: count for code, count in count_notes(tables).items() if code == "truncated"} == noted


def test_missing_file(tmp_path):
    with pytest.raises(UnusableTrace, match="cannot be read"):
        read(tmp_path / "nothing")


def test_file_of_another_kind(tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"something else")
    with pytest.raises(UnusableTrace, match="neither"):
        read(path)


def test_no_tables_to_read(tmp_path):
    tables = read(write(tmp_path / "a.sqlite"))
    assert len(tables["trace"]) == 1
    assert not tables["gpu_slice"]


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "run one.nsys-rep"
    path.write_bytes(b"\x0a\x07opaque")
    return path


def test_report_is_recognised_by_name_unless_it_is_something_else(report):
    assert nsys.sniff(report)
    report.write_bytes(b'{"traceEvents": []}')
    assert not nsys.sniff(report)


def test_report_without_nsys(report, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingTool, match=r"nsys export --type sqlite --output .*run one\.sqlite"):
        read(report)


def fake_nsys(folder, script, monkeypatch):
    program = folder / "nsys"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_report_is_exported_by_nsys_with_payloads(report, export, tmp_path, monkeypatch):
    # $6 is the argument of --output.
    fake_nsys(tmp_path, f'test "$4" = --include-blobs=true && cp "{export}" "$6"', monkeypatch)
    assert read(report)["gpu_slice"] == read(export)["gpu_slice"]


def test_report_is_exported_by_an_nsys_that_knows_no_payloads(report, export, tmp_path, monkeypatch):
    fake_nsys(tmp_path, f'test "$4" = --output && cp "{export}" "$5"', monkeypatch)
    assert read(report)["gpu_slice"] == read(export)["gpu_slice"]


def tables_of(export, folder, write, suffix):
    """The tables of an export as files of a folder, as `nsys export --type parquetdir` and arrowdir write them."""
    folder.mkdir()
    with closing(sqlite3.connect(export)) as database:
        for (name,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
            rows = database.execute(f'select * from "{name}"')
            columns = [column[0] for column in rows.description]
            values = list(zip(*rows.fetchall(), strict=True)) or [[]] * len(columns)
            write(
                pa.table({key: list(of) for key, of in zip(columns, values, strict=True)}), folder / f"{name}{suffix}"
            )
    return folder


def write_arrow(table, path):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_stream(table, path):
    """Write the table as an Arrow stream, as nsys does."""
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


@pytest.mark.parametrize(
    ("write", "suffix"), [(pq.write_table, ".parquet"), (write_arrow, ".arrow"), (write_stream, ".arrow")]
)
def test_an_export_of_one_file_a_table_is_read_like_one_of_sqlite(export, tmp_path, write, suffix):
    folder = tables_of(export, tmp_path / "one_dir", write, suffix)
    (source,) = find_sources([folder])
    assert source == find_sources([folder / f"{KERNEL}{suffix}"])[0]
    assert source.shown == folder
    assert len(source.files) == len(list(folder.iterdir()))
    assert read(source.path) == read(export)


def test_a_damaged_table_is_named(export, tmp_path):
    folder = tables_of(export, tmp_path / "one_pqtdir", pq.write_table, ".parquet")
    (folder / f"{KERNEL}.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(UnusableTrace, match=rf"{KERNEL}\.parquet: cannot be read .* export it again"):
        read(find_sources([folder])[0].path)


@pytest.mark.parametrize("size", [0, 7, 100, -9])
def test_a_stream_cut_short_is_named(export, tmp_path, size):
    folder = tables_of(export, tmp_path / "one_arwdir", write_stream, ".arrow")
    path = folder / f"{KERNEL}.arrow"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(UnusableTrace, match=rf"{KERNEL}\.arrow: cannot be read .* export it again"):
        read(find_sources([folder])[0].path)


def test_global_ids_of_64_bits_are_those_of_sqlite(tmp_path):
    process = -1 << 56 | 7 << 24
    rows = [{"start": 0, "end": 5, "globalTid": process | 7, "nameId": 1}]
    export = write(tmp_path / "a.sqlite", {1: "call"}, **{RUNTIME: rows})
    folder = tables_of(export, tmp_path / "one_arwdir", write_stream, ".arrow")
    table = pa.table({key: [row[key] for row in rows] for key in rows[0]})
    unsigned = pa.array([rows[0]["globalTid"] + (1 << 64)], pa.uint64())
    write_stream(table.set_column(2, "globalTid", unsigned), folder / f"{RUNTIME}.arrow")
    assert read(find_sources([folder])[0].path) == read(export)


def test_a_folder_with_a_table_of_strings_is_no_export(tmp_path):
    pq.write_table(pa.table({"id": [1], "value": ["x"]}), tmp_path / "StringIds.parquet")
    assert not nsys.sniff(tmp_path / "StringIds.parquet")


def test_report_nsys_cannot_read(report, tmp_path, monkeypatch):
    fake_nsys(tmp_path, "echo starting; echo 'unsupported version' >&2; exit 1", monkeypatch)
    with pytest.raises(UnusableTrace, match="unsupported version"):
        read(report)


def test_times_that_cannot_be(tmp_path):
    times = [(None, 5), (5, None), (9, 3), (1, 1 << 62), (-(1 << 63), (1 << 63) - 1), (-4, 2), ("x", 3)]
    rows = [{"start": start, "end": end, "globalTid": global_id(), "nameId": 1} for start, end in times]
    tables = read(write(tmp_path / "a.sqlite", {1: "call"}, **{RUNTIME: rows}))
    assert pick_columns(tables["cpu_slice"], "ts dur") == [(5, 0), (9, 0), (1, 0), (-4, 6), (0, 3)]
    assert count_notes(tables) == {
        "no_start_time": 2,
        "no_end_time": 2,
        "negative_duration": 1,
        "value_out_of_range": 1,
    }


def test_numbers_that_cannot_be(tmp_path):
    rows = [
        *make_kernels(1, gridX=1 << 40, deviceId=None, staticSharedMemory=-5),
        *make_kernels(1, gridX=1.0e30, deviceId=1 << 50, staticSharedMemory=5),
    ]
    tables = read(write(tmp_path / "a.sqlite", {1: "k"}, **{KERNEL: rows}))
    assert pick_columns(tables["gpu_slice"], "grid_x device static_shared_memory") == [
        (None, -1, None),
        (None, -1, 5),
    ]
    assert count_notes(tables) == {"value_out_of_range": 4, "no_device": 2}
    assert pick_columns(tables["device"], "device source") == [(-1, "unknown")]


def test_types_may_change_in_the_middle_of_a_column(tmp_path):
    rows = [*make_kernels(70_000), {"start": "70000", "end": 70_001.0, "deviceId": "0", "demangledName": 1}]
    tables = read(write(tmp_path / "a.sqlite", {1: "gemm"}, **{KERNEL: rows}))
    assert pick_columns(tables["gpu_slice"][-2:], "slice_id ts dur name") == [
        (69_999, 69_999, 1, "gemm"),
        (70_000, 70_000, 1, "gemm"),
    ]
    assert count_notes(tables) == {}


def test_strings_that_cannot_be(tmp_path):
    rows = [{"id": 1, "value": "first"}, {"id": 1, "value": "second"}, {"id": 1 << 40, "value": "far"}]
    rows += [{"id": 3, "value": ""}, {"id": 4, "value": None}, {"id": None, "value": "x"}]
    path = write(
        tmp_path / "a.sqlite",
        **{KERNEL: [{**make_kernels(1)[0], "demangledName": n} for n in (1, 1 << 40, 3, 4, 5, None)]},
    )
    with closing(sqlite3.connect(path)) as database:
        database.executemany("insert into StringIds values (:id, :value)", rows)
        database.execute("insert into StringIds values (5, cast(x'6bfffe' as text))")
        database.commit()
    tables = read(path)
    assert [row["name"] for row in tables["gpu_slice"]] == [
        "first",
        "far",
        "unknown",
        "unknown",
        "k\ufffd\ufffd",
        "unknown",
    ]
    assert count_notes(tables) == {"duplicate_string_id": 1, "invalid_utf8": 1, "missing_string": 3}


def test_invalid_utf8_in_nvtx_text(tmp_path):
    path = write(tmp_path / "a.sqlite", NVTX_EVENTS=[{"start": 0, "end": 1, "eventType": 59, "text": b"a\xff"}])
    tables = read(path)
    assert pick_columns(tables["cpu_slice"], "name") == [("a\ufffd",)]
    assert count_notes(tables) == {"invalid_utf8": 1}


def test_names_in_another_case_are_read_and_told(tmp_path):
    path = write(
        tmp_path / "t.sqlite",
        {1: "k"},
        CUPTI_ACTIVITY_KIND_RUNTIME=[{"start": 1, "end": 2, "NAMEID": 1}],
        cupti_activity_kind_kernel=[{"start": 1, "end": 2, "deviceId": 0, "streamId": 7}],
    )
    tables = read(path)
    assert pick_columns(tables["gpu_slice"], "ts device stream") == [(1, 0, 7)]
    assert [row["name"] for row in tables["cpu_slice"]] == ["k"]
    assert [row["text"] for row in tables["import_note"] if row["code"] == "spelled_otherwise"] == [
        f"{found} is read as {name}, which nsys calls it."
        for found, name in (
            ("cupti_activity_kind_kernel", "CUPTI_ACTIVITY_KIND_KERNEL"),
            ("CUPTI_ACTIVITY_KIND_RUNTIME.NAMEID", "nameId"),
        )
    ]


def test_a_column_that_is_called_as_the_number_of_a_row(tmp_path):
    path = write(tmp_path / "a.sqlite", **{KERNEL: make_kernels(2)})
    expected = read(path)["gpu_slice"]
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"alter table {KERNEL} add column rowid")
        database.execute(f"update {KERNEL} set rowid = x'fffe'")
        database.commit()
    assert read(path)["gpu_slice"] == expected
