"""Walk through the numbers of ROCm's files at the borders of their columns: kept or counted, and never another number."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from math import isnan

import pytest
from borders import BORDERS, INTEGERS, NESTED, collect_tables, count_losses, find_untold
from rocm_files import (
    CPU_HANDLE,
    FIRST_GPU,
    make_call,
    make_copy,
    make_dispatch,
    make_rocprofv3,
    rpd_json,
    write_file,
    write_rocpd,
    write_rpd,
)

import traceq
from traceq.app.ingest import ingest
from traceq.errors import TraceqError
from traceq.importers import rocm
from traceq.importers.sqlite import quote_name

STORED = [value for value in BORDERS if not isinstance(value, int) or -(2**63) <= value < 2**63] + [b"\xff"]
"""Values that SQLite can store."""
TIMES = ("start", "end")
LINKS = ("nid", "tid", "agent_id", "kernel_id", "name_id", "event_id", "src_agent_id", "dst_agent_id", "apiName_id")
LINKS += ("args_id", "description_id", "opType_id")
"""Columns that are ids of rows of other tables: of one that is not there nothing is known."""
TABLES = [
    (write_rocpd, "rocpd_kernel_dispatch_0000a1b2_0c3d", "gpu_slice"),
    (write_rocpd, "rocpd_memory_copy_0000a1b2_0c3d", "gpu_slice"),
    (write_rocpd, "rocpd_region_0000a1b2_0c3d", "cpu_slice"),
    (write_rpd, "rocpd_op", "gpu_slice"),
    (write_rpd, "rocpd_api", "cpu_slice"),
]


def list_columns(path, table):
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("select name from pragma_table_info(?)", [table])]


def put_rows(path, table, columns):
    """Put rows like its first one into a SQLite table, one for each border in each column (of all but times if none is named).

    Return the values by start.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        cursor = connection.execute(f"select * from {table} limit 1")
        names = [name for name, *_ in cursor.description]
        first = dict(zip(names, cursor.fetchone(), strict=True)) | {"end": 5000}
        columns = columns or [name for name in names if name not in ("id", "guid", *TIMES)]
        # A table without types keeps every value as it is.
        connection.execute(f"drop table {table}")
        connection.execute(f"create table {table} ({', '.join(map(quote_name, names))})")
        fields = [(columns[0], first[columns[0]]), *((column, value) for column in columns for value in STORED)]
        for number, (column, value) in enumerate(fields):
            row = first | {"id": 100 + number, "start": 1000 + number, column: value}
            marks = ", ".join("?" * len(names))
            connection.execute(f"insert into {table} values ({marks})", [row[name] for name in names])
    return {1000 + number: value for number, (_, value) in enumerate(fields) if number}


@pytest.mark.parametrize(("write", "table", "found"), TABLES)
def test_every_number_of_a_table_is_kept_or_counted(tmp_path, write, table, found):
    path = write(tmp_path / "a.db")
    put = put_rows(path, table, ())
    assert len(put) > 3 * len(STORED)
    links = len([name for name in list_columns(path, table) if name in LINKS])
    tables = collect_tables(rocm.read(path))
    rows = [row for row in tables[found] if row["ts"] >= 1000 and row.get("category") != "rpd"]
    but = ("slice_id", "dur", "thread_id", "pid", "device", "correlation_id", "src_device", "dst_device", "grid_x")
    assert find_untold(put, rows, count_losses(tables) + links * len(STORED), "ts", (*but, "grid_y", "grid_z")) == ""
    assert {row["device"] for row in tables["gpu_slice"]} <= {-1, 0, 1, 2, *(v for v in STORED if isinstance(v, int))}


@pytest.mark.parametrize(("write", "table", "found"), TABLES)
@pytest.mark.parametrize("column", TIMES)
def test_every_time_of_a_table_is_kept_or_counted(tmp_path, write, table, found, column):
    path = write(tmp_path / "a.db")
    put = put_rows(path, table, [column])
    tables = collect_tables(rocm.read(path))
    rows = [row for row in tables[found] if row["ts"] >= 1000 or column == "start"]
    counted = {note["code"]: note["count"] for note in tables["import_note"]}
    if column == "start":
        usable = [value for value in STORED if isinstance(value, int) and 0 < value < 2**60]
        assert {row["ts"] for row in rows} >= set(usable)
        assert counted["no_start_time"] == len(STORED) - len(usable)
    else:
        lasting = {row["ts"]: row["dur"] for row in rows if row["dur"] and row["ts"] > 1000}
        assert lasting == {ts: put[ts] - ts for ts in lasting}
        assert counted["no_end_time"] + counted["negative_duration"] == len(STORED) - len(lasting)


@pytest.mark.parametrize("write", [write_rocpd, write_rpd])
def test_all_of_them_make_a_database(tmp_path, write):
    path = write(tmp_path / "a.db")
    put = [put_rows(path, table, ()) for writer, table, _ in TABLES if writer == write]
    ingest([path], tmp_path / "a.duckdb")
    with traceq.open(tmp_path / "a.duckdb") as traces:
        ((kept, least, most),) = traces.sql("select count(*), min(device), max(bytes) from gpu_slice").fetchall()
    assert len(STORED) < kept < sum(map(len, put))
    assert least >= -1
    assert most is None or most < 2**50


def list_fields(record, *place):
    """List the places of all numbers in a record of JSON that are read."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield from list_fields(value, *place, name)
        elif name != "external":
            yield (*place, name)


def put_value(record, place, value):
    name, *inner = place
    return record | {name: put_value(record[name], inner, value) if inner else value}


RECORDS = {
    "kernel_dispatch": make_dispatch(1000, 5000, correlation=2),
    "memory_copy": make_copy("MEMORY_COPY_HOST_TO_DEVICE", 1000, 5000, CPU_HANDLE, FIRST_GPU, correlation=1),
    "hip_api": make_call("hipMemcpyAsync", 1000, 5000, correlation=1),
    "marker_api": make_call("roctxThreadRangeA", 1000, 5000, correlation=9, kind="MARKER_CORE_RANGE_API"),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_every_number_of_a_record_is_kept_or_counted(tmp_path, kind):
    record = RECORDS[kind]
    fields = list(list_fields(record))
    assert len(fields) > 4
    table = "gpu_slice" if kind in ("kernel_dispatch", "memory_copy") else "cpu_slice"
    # Calls of roctx that the names of operations do not tell are no ranges.
    for place in [place for place in fields if kind != "marker_api" or place[0] not in ("kind", "operation")]:
        records = [put_value(record, place, value) for value in INTEGERS]
        tables = collect_tables(rocm.read(write_file(tmp_path / "a.json", make_rocprofv3(**{kind: records}))))
        rows = [row for row in tables[table] if row["dur"] not in (10, 60, 100, 150, 500, 630)]
        lost = len(INTEGERS) - len(rows) + sum(row["stream"] is None for row in rows if "stream" in row)
        assert max(lost, 0) <= count_losses(tables), place
        assert all(0 <= row["dur"] < 2**60 for row in rows), place
        assert {row.get("bytes") for row in rows} <= {None, 4096, *INTEGERS}, place


@pytest.mark.parametrize("value", [value for value in [*BORDERS, *NESTED] if type(value) is not int])
def test_what_is_no_number_in_a_record_is_refused_in_one_line(tmp_path, value):
    for kind, record in RECORDS.items():
        for place in list_fields(record):
            path = write_file(tmp_path / "a.json", make_rocprofv3(**{kind: [put_value(record, place, value)]}))
            try:
                tables = collect_tables(rocm.read(path))
            except TraceqError as error:
                words = str(error)
            else:
                # NULL stands for what need not be there, and whole floats for integers.
                words = "" if value is None or isinstance(value, float) else f"{tables['gpu_slice']}\n"
            assert "\n" not in words, place


@pytest.mark.parametrize("member", ["ts", "dur", "pid", "tid", "id"])
def test_every_number_of_a_drawn_trace_is_kept_or_counted(tmp_path, member):
    usual = json.loads(rpd_json(tmp_path / "usual.json").read_text())
    base = {
        "name": "hipLaunchKernel",
        "ph": "X",
        "pid": "77",
        "tid": "78",
        "ts": "5000",
        "dur": "6",
        "args": {"desc": ""},
    }
    values = [value for value in BORDERS if value is not None and not (isinstance(value, float) and isnan(value))]
    for value in [*values, *map(str, INTEGERS), None, *NESTED]:
        path = tmp_path / "a.json"
        text = json.dumps([*usual, base | {member: value}])
        path.write_text(text.replace("Infinity", '"Infinity"'))
        try:
            tables = collect_tables(rocm.read(path))
        except TraceqError as error:
            assert "\n" not in str(error)  # noqa: PT017 - some are refused, others read
            continue
        rows = [row for row in tables["cpu_slice"] if row["ts"] not in (90_000, 100_000, 190_000)]
        lost = (not rows) + sum(row["dur"] == 0 and value not in (0, "0") for row in rows)
        lost += (
            sum(row["pid"] is None or row["tid"] is None for row in tables["thread"]) if value not in ("", None) else 0
        )
        # One event of the usual trace has no time.
        assert lost < count_losses(tables) or not lost, value
