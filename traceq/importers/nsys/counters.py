"""Time series: GPU metrics, allocated memory.

Allocations (CUDA_GPU_MEMORY_USAGE_EVENTS) become running totals per device from the start of the capture; the
single allocations, with their addresses, are not kept.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import constant, labelled, usable_times
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.threads import pids

METRICS = "GPU_METRICS"
MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"
TABLES = (METRICS, MEMORY)

_GPU_INDEX = 0xFF
_RELEASE = 1
# memKind: host memory is counted apart, because it does not fill the device.
_SERIES = {
    0: "memory_allocated_pageable",
    1: "memory_allocated_pinned",
    4: "memory_allocated_managed",
    6: "memory_allocated_managed",
}
_DEVICE_SERIES = "memory_allocated"


def read_counters(job: Job) -> Rows:
    """All rows of counter."""
    yield from _metrics(job)
    yield from _memory(job)


def _metrics(job: Job) -> Rows:
    names: dict[tuple[int, int], str] = {}
    for kind, metric, name in job.source.rows("TARGET_INFO_GPU_METRICS", ["typeId", "metricId", "metricName"]):
        if isinstance(kind, int) and isinstance(metric, int) and name:
            names[kind, metric] = str(name)
    for batch in job.source.read(METRICS, ["timestamp", "typeId", "metricId", "value"]):
        rows = _with_value(job, usable_times(batch, "timestamp", METRICS, job.notes), METRICS)
        if rows.num_rows:
            yield "counter", _metric_batch(job, rows, names)


def _metric_batch(job: Job, rows: pa.RecordBatch, names: dict[tuple[int, int], str]) -> pa.RecordBatch:
    kinds = rows.column("typeId").fill_null(0).dictionary_encode()
    metrics = rows.column("metricId").fill_null(0).dictionary_encode()
    width = len(metrics.dictionary)
    series = pc.add(pc.multiply(kinds.indices.cast(pa.int64()), width), metrics.indices).dictionary_encode()
    titles = []
    for code in series.dictionary.to_pylist():
        key = (kinds.dictionary[code // width].as_py(), metrics.dictionary[code % width].as_py())
        titles.append(names.get(key, f"metric {key[1]}"))
    job.notes.info(
        "negative_metric",
        pc.sum(pc.less(rows.column("value"), 0)).as_py() or 0,
        f"Samples of {METRICS} below zero: nsys overflows on [Avg] metrics; use the [Throughput %] ones.",
    )
    gpus = pc.bit_wise_and(rows.column("typeId").fill_null(0), _GPU_INDEX)
    return batch_of(
        {
            "device": job.devices.of_nsys_ids(gpus),
            "name": pa.DictionaryArray.from_arrays(series.indices, pa.array(titles, pa.string())),
            "unit": pa.array([_unit(title) for title in titles], pa.string()).take(series.indices),
            "ts": rows.column("timestamp"),
            "value": rows.column("value").cast(pa.float64(), safe=False),
        }
    )


def _unit(title: str) -> str | None:
    """What stands in brackets at the end of a metric's name."""
    found = re.search(r"\[([^\]]+)\]\s*$", title)
    if not found:
        return None
    return "percent" if found[1].endswith("%") else found[1]


def _with_value(job: Job, rows: pa.RecordBatch, table: str) -> pa.RecordBatch:
    values = rows.column("value")
    job.notes.data_loss("no_value", values.null_count, f"Rows of {table} without a value; they are left out.")
    return rows.filter(values.is_valid()) if values.null_count else rows


def _memory(job: Job) -> Rows:
    totals: dict[tuple[int, str], int] = {}
    wanted = ["start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"]
    order = "start, rowid" if "start" in job.source.columns(MEMORY) else "rowid"
    for batch in job.source.read(MEMORY, wanted, order=order):
        rows = usable_times(batch, "start", MEMORY, job.notes)
        if rows.num_rows:
            yield "counter", _totals(job, rows, totals)


def _totals(job: Job, rows: pa.RecordBatch, totals: dict[tuple[int, str], int]) -> pa.RecordBatch:
    """Running totals, one series per device and kind of memory; `totals` carries them from batch to batch."""
    devices = job.devices.numbers(rows.column("deviceId"), pids(rows.column("globalPid")))
    names = labelled(rows.column("memKind"), _SERIES, _DEVICE_SERIES).cast(pa.string())
    released = pc.equal(rows.column("memoryOperationType"), _RELEASE).fill_null(False)
    sizes = rows.column("bytes").fill_null(0)
    changes = pc.if_else(released, pc.negate(sizes), sizes)
    parts = []
    for device, name in {*zip(devices.to_pylist(), names.to_pylist(), strict=True)}:
        mine = pc.and_(pc.equal(devices, device), pc.equal(names, name))
        running = pc.cumulative_sum(changes.filter(mine), start=totals.get((device, name), 0))
        totals[device, name] = running[-1].as_py()
        times = rows.column("start").filter(mine)
        parts.append((device, name, times, running))
    parts.sort(key=lambda part: part[:2])
    lengths = [len(times) for _, _, times, _ in parts]
    return batch_of(
        {
            "device": pa.concat_arrays(
                [pa.repeat(pa.scalar(d, pa.int32()), n) for (d, *_), n in zip(parts, lengths, strict=True)]
            ),
            "name": pa.concat_arrays([pa.repeat(p[1], n) for p, n in zip(parts, lengths, strict=True)]),
            "unit": constant("bytes", rows.num_rows),
            "ts": pa.concat_arrays([times for _, _, times, _ in parts]),
            "value": pa.concat_arrays([running for *_, running in parts]).cast(pa.float64(), safe=False),
        }
    )
