"""Ranges that need not nest: what docs/formats.md says of them, on an export whose ranges cross threads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nsys_export import GPID, KERNEL, RUNTIME, global_id, write

import traceq

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")
OTHER_PROCESS = 112


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Two steps that cross a range of 100 to 1,500 us; launches of two threads, and of another process, at 200, 600, ... us."""
    ranges = [("traceq.step#0", 0, 1000, 9), ("traceq.step#1", 1000, 2000, 222), ("load", 100, 1500, 9)]
    path = tmp_path_factory.mktemp("free") / "t.sqlite"
    launches = [(200 + 400 * n, global_id(222 if n % 2 else 9), GPID) for n in range(5)]
    launches.append((250, global_id(5, OTHER_PROCESS), global_id(0, OTHER_PROCESS)))
    write(
        path,
        {1: "cudaLaunchKernel", 2: "gemm"},
        NVTX_EVENTS=[
            {"start": ts * 1000, "end": end * 1000, "eventType": 60, "text": name}
            | {"globalTid": global_id(), "endGlobalTid": global_id(tid)}
            for name, ts, end, tid in ranges
        ],
        **{
            RUNTIME: [
                {"start": ts * 1000, "end": ts * 1000 + 5000, "globalTid": thread, "correlationId": n, "nameId": 1}
                for n, (ts, thread, _) in enumerate(launches, 1)
            ],
            KERNEL: [
                {"start": ts * 1000 + 9000, "end": ts * 1000 + 10_000 + n, "correlationId": n, "demangledName": 2}
                | {"deviceId": int(process != GPID), "contextId": 1, "streamId": 7, "globalPid": process}
                for n, (ts, _, process) in enumerate(launches, 1)
            ],
        },
    )
    opened = traceq.open(path)
    yield opened
    opened.close()


def test_the_query_of_the_page_says_what_was_launched_in_them(traces):
    (query,) = re.findall(r"## Ranges that need not nest\n.*?```sql\n(.*?)```", PAGE, re.DOTALL)
    assert traces.sql(query).fetchall() == [
        ("traceq.step#0", 0, 1_000_000, 2, 1001 + 1002),
        ("load", 100_000, 1_400_000, 4, 1001 + 1002 + 1003 + 1004),
        ("traceq.step#1", 1_000_000, 1_000_000, 3, 1003 + 1004 + 1005),
    ]


def test_they_stand_on_no_stack_and_mark_steps(traces):
    around = "coalesce(parent_id, annotation_id, outer_annotation_id, phase_id, context_id)"
    assert traces.sql(f"select count(*) from cpu_slice where {around} is not null").fetchall() == [(0,)]
    assert traces.sql(
        "select name, depth, args ->> 'end_tid' from cpu_slice where kind = 'annotation' order by ts"
    ).fetchall() == [
        ("traceq.step#0", None, "9"),
        ("load", None, "9"),
        ("traceq.step#1", None, None),
    ]
    assert traces.sql("select name from step order by step").fetchall() == [("traceq.step#0",), ("traceq.step#1",)]
