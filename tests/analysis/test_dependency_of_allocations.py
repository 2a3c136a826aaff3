"""What allocates memory waits for the GPU only where it shows: where it returns as the GPU runs dry."""

from __future__ import annotations

import json

import duckdb
import pytest

from traceq.loading.ingest import ingest

STEPS = 4


def trace_text(kernel):
    """Steps of 2 ms: a kernel of `kernel` us is launched, then cudaMalloc takes 1 ms from 20 us after its start on."""
    events = []
    for step in range(STEPS):
        start = step * 2_000
        at = {"correlation": step + 1}
        events += [
            ("user_annotation", f"ProfilerStep#{step}", 1, start, 2_000, {}),
            ("cuda_runtime", "cudaLaunchKernel", 1, start + 100, 5, at),
            ("cuda_runtime", "cudaMalloc", 1, start + 130, 1_000, {}),
            ("kernel", "gemm", 7, start + 110, kernel, {"device": 0, "stream": 7, **at}),
        ]
    rows = [
        {"ph": "X", "pid": 0, "cat": c, "name": n, "tid": t, "ts": s, "dur": d, "args": a}
        for c, n, t, s, d, a in events
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": rows})


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (100, []),  # ends long before the call does
        (500, []),
        (1_015, [("allocation", "cudaMalloc", STEPS)]),  # the call returns 5 us after its end
        (1_200, []),  # still runs when the call has returned
    ],
)
def test_an_allocation_waits_where_it_returns_as_the_gpu_runs_dry(tmp_path, kernel, expected):
    (tmp_path / "trace.json").write_text(trace_text(kernel))
    ingest(tmp_path / "trace.json", tmp_path / "trace.duckdb")
    with duckdb.connect(str(tmp_path / "trace.duckdb"), read_only=True) as connection:
        found = connection.execute(
            "select d.kind, c.name, count(*) from dependency as d inner join cpu_slice as c on c.slice_id = d.target_id"
            " where d.kind in ('synchronization', 'allocation', 'queue', 'blocking_copy') group by all"
        ).fetchall()
    assert found == expected
