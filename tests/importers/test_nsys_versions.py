"""Tables of nsys with a version in their name: read by the columns they have, and never twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsys_export import KERNEL, RUNTIME, count_notes, pick_columns, read, write

from traceq.importers import nsys

FIXTURE = Path(__file__).parents[2] / "fixtures" / "run" / "nsys_2026.2.sqlite"
OWN_NOTES = ("table_version", "spelled_otherwise")


def make_ranges(*names):
    return [
        {"start": n, "end": n + 1, "eventType": 59, "globalTid": 1, "text": name} for n, name in enumerate(names, 10)
    ]


def list_notes(tables, code):
    return [(row["severity"], row["count"], row["text"]) for row in tables["import_note"] if row["code"] == code]


@pytest.mark.parametrize("spell", ["{}_V2", "{}_v15", "{}_V1"])
def test_an_export_says_the_same_with_versions_in_all_names(tmp_path, spell):
    path = tmp_path / "a.sqlite"
    path.write_bytes(FIXTURE.read_bytes())
    expected = read(path)
    read_tables = ("StringIds", "NVTX_EVENTS", KERNEL, RUNTIME, "OSRT_API", "TARGET_INFO_GPU", "META_DATA_CAPTURE")
    with closing(sqlite3.connect(path)) as database:
        names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        renamed = [name for name in names if name in read_tables]
        for name in renamed:
            database.execute(f'alter table "{name}" rename to "{spell.format(name.lower())}"')
        database.commit()
    found = read(path)
    assert len(renamed) >= 6
    assert count_notes(found)["table_version"] == len(renamed)
    found["import_note"] = [row for row in found["import_note"] if row["code"] not in OWN_NOTES]
    assert found == expected


def test_what_is_read_as_what_is_told(tmp_path):
    path = write(tmp_path / "a.sqlite", NVTX_EVENTS_V2=make_ranges("step"))
    assert nsys.sniff(path)
    tables = read(path)
    assert pick_columns(tables["cpu_slice"], "name ts dur") == [("step", 10, 1)]
    assert list_notes(tables, "table_version") == [
        ("info", 1, "NVTX_EVENTS_V2 is read as NVTX_EVENTS, by the columns that both have.")
    ]


def test_of_two_versions_one_is_read_and_what_only_the_other_has_is_counted(tmp_path):
    path = write(
        tmp_path / "a.sqlite",
        NVTX_EVENTS=make_ranges("a", "b"),
        NVTX_EVENTS_V3=make_ranges("a", "b", "only here"),
    )
    tables = read(path)
    assert pick_columns(tables["cpu_slice"], "name") == [("a",), ("b",)]
    begin = "Rows of NVTX_EVENTS_V3 that were not read, because NVTX_EVENTS is read instead, so that nothing counts twice: it"
    assert list_notes(tables, "table_twice") == [
        ("info", 2, f"{begin} has the same rows."),
        ("data_loss", 1, f"{begin} has no rows with these times."),
    ]


def test_the_latest_version_with_rows_is_read(tmp_path):
    path = write(
        tmp_path / "a.sqlite",
        NVTX_EVENTS=[],
        NVTX_EVENTS_V9=make_ranges("nine"),
        NVTX_EVENTS_V10=make_ranges("ten"),
        NVTX_EVENTS_V11=[],
    )
    tables = read(path)
    assert pick_columns(tables["cpu_slice"], "name") == [("ten",)]
    assert [text.split(" that")[0] for _, _, text in list_notes(tables, "table_twice")] == ["Rows of NVTX_EVENTS_V9"]


def test_a_version_without_what_matters_is_counted(tmp_path):
    rows = [{"start": 1, "duration": 2, "deviceId": 0}, {"start": 3, "duration": 4, "deviceId": 0}]
    tables = read(write(tmp_path / "a.sqlite", **{f"{KERNEL}_V5": rows}))
    assert "gpu_slice" not in tables
    assert list_notes(tables, "table_not_imported") == [
        ("info", 2, f"Rows of {KERNEL}_V5: traceq has no use for this table yet.")
    ]


def test_other_names_are_no_versions(tmp_path):
    tables = read(write(tmp_path / "a.sqlite", **{f"{KERNEL}_VIEW": make_ranges("a"), f"{KERNEL}2": make_ranges("a")}))
    assert count_notes(tables) == {"table_not_imported": 2}


def test_a_view_of_the_plain_name_is_no_obstacle(tmp_path):
    path = write(tmp_path / "a.sqlite", NVTX_EVENTS_V2=make_ranges("step"))
    with closing(sqlite3.connect(path)) as database:
        database.execute("create view NVTX_EVENTS as select * from NVTX_EVENTS_V2")
        database.commit()
    tables = read(path)
    assert pick_columns(tables["cpu_slice"], "name") == [("step",)]
    assert count_notes(tables) == {"table_version": 1}


def test_versions_in_the_names_of_files(tmp_path):
    pq.write_table(pa.table({"id": [1], "value": ["step"]}), tmp_path / "StringIds.parquet")
    ranges = [{"start": 10, "end": 12, "eventType": 59, "globalTid": 1, "textId": 1}]
    pq.write_table(pa.Table.from_pylist(ranges), tmp_path / "NVTX_EVENTS_V2.parquet")
    assert nsys.sniff(tmp_path / "NVTX_EVENTS_V2.parquet")
    tables = read(tmp_path / "StringIds.parquet")
    assert pick_columns(tables["cpu_slice"], "name ts dur") == [("step", 10, 2)]
