"""An importer of another package: traces of several CSV files, as rocprofv3 writes them (NAME_kernel_trace.csv and so on)."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa

NAME = "rocprof"

_KERNELS, _COPIES, _CALLS = "kernel", "memory_copy", "hip_api"
_DIRECTIONS = {"MEMORY_COPY_HOST_TO_DEVICE": "h2d", "MEMORY_COPY_DEVICE_TO_HOST": "d2h"}


def sniff(path):
    with path.open("rb") as file:
        return file.read(7) == b'"Kind",'


def trace_files(path):
    stem = path.name.removesuffix("_trace.csv")
    for part in (_KERNELS, _COPIES, _CALLS):
        stem = stem.removesuffix(f"_{part}")
    every = (path.with_name(f"{stem}_{part}_trace.csv") for part in (_KERNELS, _COPIES, _CALLS))
    return [each for each in every if each.exists()]


def read(path, progress=lambda _bytes: None, jobs=1):  # noqa: ARG001 - one process is enough
    cpu, gpu, done = [], [], 0
    for file in trace_files(path):
        for row in csv.DictReader(file.read_text("utf-8").splitlines()):
            number = len(cpu) + len(gpu)
            (cpu if "Function" in row else gpu).append(_slice(row) | {"slice_id": number})
        done += file.stat().st_size
        progress(done)
    yield "trace", pa.RecordBatch.from_pylist([{"producer": "rocprofv3"}])
    yield "device", pa.RecordBatch.from_pylist([{"device": 0, "name": "AMD Instinct MI300X", "source": "unknown"}])
    yield "thread", pa.RecordBatch.from_pylist([{"thread_id": 0, "pid": 1, "tid": 1}])
    yield "cpu_slice", pa.RecordBatch.from_pylist(cpu)
    for kind in ("kernel", "memcpy"):
        yield "gpu_slice", pa.RecordBatch.from_pylist([row for row in gpu if row["kind"] == kind])


def _slice(row):
    start, end = int(row["Start_Timestamp"]), int(row["End_Timestamp"])
    place = {"ts": start, "dur": end - start, "correlation_id": int(row["Correlation_Id"])}
    if "Function" in row:
        return place | {"kind": "runtime", "name": row["Function"], "thread_id": 0}
    if "Kernel_Name" in row:
        return place | {"kind": "kernel", "name": row["Kernel_Name"], "device": 0, "stream": 0}
    kind = _DIRECTIONS[row["Direction"]]
    return place | {"kind": "memcpy", "name": f"Memcpy {kind}", "copy_kind": kind, "device": 0, "stream": 0}


def write(folder, name="run", steps=20):
    """A trace of this format: steps of copy, kernel, and a call that waits for it. Returns its first file."""
    kernels, copies, calls, correlation = [], [], [], 0
    for step in range(steps):
        start = 1_000_000 * step
        for rows, kind, what, ts, dur in (
            (copies, "MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", 100_000, 50_000),
            (kernels, "KERNEL_DISPATCH", "gemm_kernel", 200_000, 300_000),
        ):
            correlation += 1
            call = "hipMemcpyAsync" if kind == "MEMORY_COPY" else "hipLaunchKernel"
            calls.append(("HIP_RUNTIME_API", call, start + ts - 20_000, start + ts - 10_000, correlation))
            rows.append((kind, what, start + ts, start + ts + dur, correlation))
        correlation += 1
        calls.append(("HIP_RUNTIME_API", "hipDeviceSynchronize", start + 210_000, start + 900_000, correlation))
    for part, column, rows in (
        (_KERNELS, "Kernel_Name", kernels),
        (_COPIES, "Direction", copies),
        (_CALLS, "Function", calls),
    ):
        with Path(folder, f"{name}_{part}_trace.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(("Kind", column, "Start_Timestamp", "End_Timestamp", "Correlation_Id"))
            writer.writerows(rows)
    return Path(folder, f"{name}_{_KERNELS}_trace.csv")
