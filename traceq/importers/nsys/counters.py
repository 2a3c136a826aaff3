"""Time series: GPU metrics, allocated memory.

Allocations (CUDA_GPU_MEMORY_USAGE_EVENTS) become running totals per device from the start of the capture; the
single allocations, with their addresses, are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import constant, labelled, looked_up
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
    for batch in job.timed(METRICS, ["timestamp", "typeId", "metricId", "value"], time="timestamp"):
        values = batch.column("value")
        job.notes.data_loss("no_value", values.null_count, f"Rows of {METRICS} without a value; they are left out.")
        yield "counter", _metric_batch(job, batch.filter(values.is_valid()), names)


def _metric_batch(job: Job, rows: pa.RecordBatch, names: dict[tuple[int, int], str]) -> pa.RecordBatch:
    titles = looked_up(lambda key: names.get(key, f"metric {key[1]}"), rows.column("typeId"), rows.column("metricId"))
    job.notes.info(
        "negative_metric",
        pc.sum(pc.less(rows.column("value"), 0)).as_py() or 0,
        f"Samples of {METRICS} below zero: nsys overflows on [Avg] metrics; use the [Throughput %] ones.",
    )
    gpus = pc.bit_wise_and(rows.column("typeId").fill_null(0), _GPU_INDEX)
    return batch_of(
        {
            "device": job.devices.of_nsys_ids(gpus),
            "name": titles,
            "unit": pa.array(map(_unit, titles.dictionary.to_pylist()), pa.string()).take(titles.indices),
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


def _memory(job: Job) -> Rows:
    totals: dict[tuple[int, str], int] = {}
    wanted = ["start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"]
    order = "start, rowid" if "start" in job.source.columns(MEMORY) else "rowid"
    for rows in job.timed(MEMORY, wanted, order=order):
        for batch in _totals(job, rows, totals):
            yield "counter", batch


def _totals(job: Job, rows: pa.RecordBatch, totals: dict[tuple[int, str], int]) -> Iterator[pa.RecordBatch]:
    """Running totals, one series per device and kind of memory; `totals` carries them from batch to batch."""
    devices = job.devices.numbers(rows.column("deviceId"), pids(rows.column("globalPid")))
    names = labelled(rows.column("memKind"), _SERIES, _DEVICE_SERIES).cast(pa.string())
    released = pc.equal(rows.column("memoryOperationType"), _RELEASE).fill_null(False)
    sizes = rows.column("bytes").fill_null(0)
    changes = pc.if_else(released, pc.negate(sizes), sizes)
    for device, name in sorted({*zip(devices.to_pylist(), names.to_pylist(), strict=True)}):
        mine = pc.and_(pc.equal(devices, device), pc.equal(names, name))
        running = pc.cumulative_sum(changes.filter(mine), start=totals.get((device, name), 0))
        totals[device, name] = running[-1].as_py()
        yield batch_of(
            {
                "device": devices.filter(mine),
                "name": names.filter(mine),
                "unit": constant("bytes", len(running)),
                "ts": rows.column("start").filter(mine),
                "value": running.cast(pa.float64(), safe=False),
            }
        )
