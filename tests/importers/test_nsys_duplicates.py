"""Descriptions that stand twice in an nsys export, in any order and with other values: rows of events stay as many."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from nsys_export import GPID, KERNEL, RUNTIME, global_id, read, write

import traceq

KERNELS = [
    {"start": 10 * n, "end": 10 * n + 5, "deviceId": n % 2, "contextId": 1, "streamId": 7, "correlationId": n + 1}
    | {"globalPid": GPID, "demangledName": 2}
    for n in range(4)
]
CALLS = [
    {"start": 10 * n - 3, "end": 10 * n, "globalTid": global_id(), "correlationId": n + 1, "nameId": 1}
    for n in range(4)
]
DESCRIPTIONS = {
    "StringIds": [{"id": 1, "value": "cudaLaunchKernel"}, {"id": 2, "value": "gemm"}],
    "TARGET_INFO_GPU": [{"id": n, "name": f"GPU {n}", "smCount": 132} for n in range(2)],
    "TARGET_INFO_CUDA_DEVICE": [{"gpuId": n, "cudaId": n, "pid": 111} for n in range(2)],
    "ThreadNames": [{"globalTid": global_id(), "nameId": 1, "priority": 10}],
    "PROCESSES": [{"globalPid": GPID, "name": "python"}],
    "TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1_700_000_000_000_000_000}],
    "META_DATA_EXPORT": [{"name": "EXPORT_PRODUCT_VERSION", "value": "2025.3"}],
}
ROW = st.sampled_from([(table, row) for table, rows in DESCRIPTIONS.items() for row in rows])


@st.composite
def draw_more(draw):
    """Rows of descriptions once more, some with another value in a column."""
    found = []
    for table, row in draw(st.lists(ROW, max_size=8)):
        column = draw(st.sampled_from([None, *row]))
        value = draw(st.one_of(st.integers(-1, 5), st.sampled_from(["other", "", None])))
        found.append((table, row if column is None else {**row, column: value}))
    return found


@settings(deadline=None, max_examples=60)
@given(draw_more(), st.booleans())
def test_repeated_descriptions_never_multiply_events(more, first):
    tables = {table: [*rows] for table, rows in DESCRIPTIONS.items()}
    for table, row in more:
        tables[table].insert(0 if first else len(tables[table]), row)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.sqlite", **{KERNEL: KERNELS, RUNTIME: CALLS}, **tables)
        found = read(path)
    assert len(found["gpu_slice"]) == len(KERNELS)
    assert len(found["cpu_slice"]) == len(CALLS)
    assert len(found["thread"]) == len(found["trace"]) == 1
    devices = [row["device"] for row in found["device"]]
    assert len(devices) == len(set(devices))
    assert {row["device"] for row in found["gpu_slice"]} <= set(devices)


@settings(deadline=None, max_examples=20)
@given(st.randoms(use_true_random=False))
def test_order_and_case_of_tables_and_columns_do_not_matter(random):
    tables = {KERNEL: KERNELS, RUNTIME: CALLS, **DESCRIPTIONS}
    names = random.sample(list(tables), len(tables))
    changed = {
        random.choice([name, name.lower(), name.upper()]): [
            {random.choice([key, key.upper()]): row[key] for key in random.sample(list(row), len(row))}
            for row in tables[name]
        ]
        for name in names
    }
    with tempfile.TemporaryDirectory() as folder:
        as_nsys = read(write(Path(folder) / "a.sqlite", **tables))
        found = read(write_cased(Path(folder) / "b.sqlite", changed))
    for table in ("gpu_slice", "cpu_slice", "thread", "device", "trace"):
        assert found[table] == as_nsys[table]


def write_cased(path, tables):
    """A file of these tables; keys of rows may differ in case, and the first row's are the columns."""
    with closing(sqlite3.connect(path)) as database:
        for name, rows in tables.items():
            columns = list(rows[0])
            database.execute(
                f"create table {name} ({', '.join(columns)})".replace(" end", ' "end"').replace(" END", ' "END"')
            )
            for row in rows:
                lower = {key.lower(): value for key, value in row.items()}
                database.execute(
                    f"insert into {name} values ({', '.join('?' * len(columns))})",
                    [lower[key.lower()] for key in columns],
                )
        database.commit()
    return path


def test_whole_tables_doubled_join_each_kernel_once(tmp_path):
    path = write(tmp_path / "a.sqlite", **{KERNEL: KERNELS, RUNTIME: CALLS}, **DESCRIPTIONS)
    with closing(sqlite3.connect(path)) as database:
        for table in DESCRIPTIONS:
            database.execute(f"insert into {table} select * from {table}")
        database.commit()
    with traceq.open(path) as trace:
        rows = trace.sql(
            "select g.name, c.name, g.ts - c.ts from gpu_slice g join cpu_slice c on c.slice_id = g.launch_id"
        ).fetchall()
    assert rows == [("gemm", "cudaLaunchKernel", 3)] * len(KERNELS)
