"""Exports of every era, without metadata and with either kind; and the real files beside the checkout."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from nsys_export import count_notes, global_id, pick_columns, read

from traceq.importers import nsys

# Columns as the versions declare them, constraints included, since those steer the reading.
BEFORE_2021 = f"""
create table CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
    graphNodeId INTEGER);
insert into CUPTI_ACTIVITY_KIND_KERNEL values (5, 9, 0, 1, 7, 3, {global_id(0)}, 2, 2, 32, 4, NULL);
create table NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventType INTEGER NOT NULL, category INTEGER NOT NULL,
    text TEXT NOT NULL, globalTid INTEGER NOT NULL, textId INTEGER NOT NULL, domainId INTEGER NOT NULL,
    uint64Value INTEGER NOT NULL, doubleValue REAL NOT NULL);
insert into NVTX_EVENTS values (4, 8, 59, 0, 'step', {global_id()}, 0, 0, 0, 0.0);
insert into NVTX_EVENTS values (6, 0, 59, 0, 'open', {global_id()}, 0, 0, 0, 0.0);
"""
OF_2022 = f"""
create table EXPORT_META_DATA (name TEXT NOT NULL, value TEXT);
insert into EXPORT_META_DATA values
    ('EXPORT_PRODUCT_VERSION', '2022.4.2.1'), ('EXPORT_SCHEMA_VERSION', '3.0.0');
create table CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    mangledName INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, graphNodeId INTEGER,
    kernel_name TEXT);
insert into CUPTI_ACTIVITY_KIND_KERNEL values
    (5, 9, 0, 1, 7, 3, {global_id(0)}, 2, 9, 32, 4, NULL, 'added by a script');
create table NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
    textId INTEGER, domainId INTEGER, jsonText TEXT);
insert into NVTX_EVENTS values (4, 8, 59, 'step', {global_id()}, NULL, 0, NULL);
insert into NVTX_EVENTS values (6, NULL, 59, 'open', {global_id()}, NULL, 0, NULL);
"""
OF_2026 = f"""
create table META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
insert into META_DATA_EXPORT values
    ('EXPORT_PRODUCT_VERSION', '2026.4.1.9'), ('EXPORT_SCHEMA_VERSION', '3.28.0');
create table CUPTI_ACTIVITY_KIND_KERNEL (
    tensorSizeMinusOneElements TEXT NOT NULL, clusterX INTEGER, graphId INTEGER, start INTEGER NOT NULL,
    end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL);
insert into CUPTI_ACTIVITY_KIND_KERNEL values ('', 0, NULL, 5, 9, 0, 1, NULL, 7, 3, {global_id(0)}, 2, 32, 4);
create table NVTX_EVENTS (
    eventId INTEGER PRIMARY KEY, start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER, binaryData TEXT);
insert into NVTX_EVENTS values (1, 4, 8, 59, 'step', {global_id()}, NULL, 0, NULL);
insert into NVTX_EVENTS values (2, 6, NULL, 59, 'open', {global_id()}, NULL, 0, NULL);
"""
IN_ALL = f"""
create table StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
insert into StringIds values (1, 'cudaLaunchKernel_v7000'), (2, 'gemm');
create table CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
insert into CUPTI_ACTIVITY_KIND_RUNTIME values (1, 3, 0, {global_id()}, 3, 1, 0);
"""


@pytest.mark.parametrize(
    ("era", "versions"),
    [(BEFORE_2021, (None, None)), (OF_2022, ("2022.4.2.1", "3.0.0")), (OF_2026, ("2026.4.1.9", "3.28.0"))],
    ids=["before 2021", "2022", "2026"],
)
def test_the_same_run_in_every_era(tmp_path, era, versions):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(IN_ALL + era)
    assert nsys.sniff(path)
    tables = read(path)
    assert pick_columns(tables["gpu_slice"], "name ts dur device stream pid correlation_id grid_x args") == [
        ("gemm", 5, 4, 0, 7, 111, 3, 4, None)
    ]
    assert pick_columns(tables["cpu_slice"], "kind name ts dur args") == [
        ("runtime", "cudaLaunchKernel", 1, 2, None),
        ("annotation", "step", 4, 4, None),
        ("annotation", "open", 6, 3, None),
    ]
    assert count_notes(tables) == {"unclosed_range": 1}
    assert pick_columns(tables["trace"], "producer_version schema_version") == [versions]


TRACES = Path(__file__).resolve().parents[2] / ".." / "shared" / "traces" / "nsys"
REAL = sorted(TRACES.glob("*.sqlite"))
EVENT_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "gpu_slice",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "gpu_slice",
    "CUPTI_ACTIVITY_KIND_MEMSET": "gpu_slice",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "synchronization",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "cuda_event",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "cpu_slice",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "cpu_slice",
    "PROFILER_OVERHEAD": "cpu_slice",
    "OSRT_API": "cpu_slice",
    "NVTX_EVENTS": "cpu_slice",
}
DESCRIBING_NVTX = "eventType in (33, 39, 75, 76)"


def rows_of(path):
    """Rows of the tables that are read, by traceq's table, and how many of them only describe."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        have = {name for (name,) in database.execute("select name from sqlite_master")}
        counts = dict.fromkeys(EVENT_TABLES.values(), 0)
        for table in have & EVENT_TABLES.keys():
            counts[EVENT_TABLES[table]] += database.execute(f"select count(*) from {table}").fetchone()[0]
        if "NVTX_EVENTS" in have:
            query = f"select count(*) from NVTX_EVENTS where {DESCRIBING_NVTX}"
            counts["cpu_slice"] -= database.execute(query).fetchone()[0]
    return counts


@pytest.mark.skipif(not REAL, reason="the real traces are not beside this checkout")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_file_is_accounted_for(path):
    before = hashlib.sha256(path.read_bytes()).digest()
    tables = read(path)
    left_out = count_notes(tables)
    expected = rows_of(path)
    expected["cpu_slice"] -= left_out.get("cuda_backtrace_not_imported", 0) + left_out.get("os_mark_not_imported", 0)
    assert {table: len(tables[table]) for table in expected} == expected
    assert "CANARY_ENVIRONMENT_VALUE" not in str(tables)
    assert all(row["severity"] != "data_loss" for row in tables["import_note"])
    assert hashlib.sha256(path.read_bytes()).digest() == before
