"""Time series: GPU metrics, allocated memory, memory pools.

Allocations (CUDA_GPU_MEMORY_USAGE_EVENTS) become running totals per device from the start of the capture; the
single allocations, with their addresses, are not kept. Pools (cudaMallocAsync) say themselves how large they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import decode_enum, map_rows
from traceq.importers.nsys.context import ImportState, Rows, build_batch
from traceq.importers.rows import batches_of, repeat_text

METRICS = "GPU_METRICS"
MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"
POOLS = "CUDA_GPU_MEMORY_POOL_EVENTS"
TABLES = (METRICS, MEMORY, POOLS)

_GPU_INDEX = 0xFF
_RELEASE = 1
# More bytes no machine has: a petabyte.
_MOST_BYTES = 1 << 50
_POOL_DESTROYED = 2
# memKind: host memory is counted apart, because it does not fill the device.
_SERIES = {
    0: "memory_allocated_pageable",
    1: "memory_allocated_pinned",
    4: "memory_allocated_managed",
    6: "memory_allocated_managed",
}
_DEVICE_SERIES = "memory_allocated"
_POOL_SERIES = {"localMemoryPoolSize": "memory_pool_size", "localMemoryPoolUtilizedSize": "memory_pool_used"}


def read_counters(state: ImportState) -> Rows:
    """Yield batches of counter: GPU metrics, then allocated memory, then sizes of memory pools."""
    yield from _read_metrics(state)
    yield from _read_memory(state)
    yield from _read_pools(state)


def _read_metrics(state: ImportState) -> Rows:
    """Yield batches of counter with the samples of GPU metrics; samples without a value are left out and counted."""
    names: dict[tuple[int, int], str] = {}
    for kind, metric, name in state.source.fetch_rows("TARGET_INFO_GPU_METRICS", ["typeId", "metricId", "metricName"]):
        if isinstance(kind, int) and isinstance(metric, int) and name:
            names[kind, metric] = str(name)
    for batch in state.read_timed(METRICS, ["timestamp", "typeId", "metricId", "value"], time="timestamp"):
        values = batch.column("value")
        state.notes.data_loss("no_value", values.null_count, f"Rows of {METRICS} without a value; they are left out.")
        yield "counter", _build_metric_batch(state, batch.filter(values.is_valid()), names)


def _build_metric_batch(state: ImportState, rows: pa.RecordBatch, names: dict[tuple[int, int], str]) -> pa.RecordBatch:
    """Return rows of GPU_METRICS as rows of counter; `names` are the metrics' names by (typeId, metricId).

    Values below zero are kept, and counted in a note.
    """
    titles = map_rows(lambda key: names.get(key, f"metric {key[1]}"), rows.column("typeId"), rows.column("metricId"))
    state.notes.info(
        "negative_metric",
        pc.sum(pc.less(rows.column("value"), 0)).as_py() or 0,
        f"Samples of {METRICS} below zero: nsys overflows on [Avg] metrics; use the [Throughput %] ones.",
    )
    gpus = pc.bit_wise_and(rows.column("typeId").fill_null(0), _GPU_INDEX)
    return build_batch(
        {
            "device": state.devices.numbers_of_nsys_ids(gpus),
            "name": titles,
            "unit": pa.array(map(_unit_of, titles.dictionary.to_pylist()), pa.string()).take(titles.indices),
            "ts": rows.column("timestamp"),
            "value": rows.column("value").cast(pa.float64(), safe=False),
        }
    )


def _unit_of(title: str) -> str | None:
    """Return the unit in brackets at the end of a metric's name, "percent" if it ends in %; None without brackets."""
    found = re.search(r"\[([^\]]+)\]\s*$", title)
    if not found:
        return None
    return "percent" if found[1].endswith("%") else found[1]


def _read_memory(state: ImportState) -> Rows:
    """Yield batches of counter with the bytes allocated so far, after each allocation and release."""
    totals: dict[tuple[int, str], int] = {}
    wanted = ["start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"]
    order = "start, rowid" if "start" in state.source.columns_of(MEMORY, ["start"]) else "rowid"
    for rows in state.read_timed(MEMORY, wanted, order=order):
        for batch in _add_up(state, rows, totals):
            yield "counter", batch


def _add_up(state: ImportState, rows: pa.RecordBatch, totals: dict[tuple[int, str], int]) -> Iterator[pa.RecordBatch]:
    """Yield a batch of running totals (bytes) per device and kind of memory, for a batch of allocations and releases.

    `totals` holds the totals so far by (device, name of the series), and is updated. Impossible sizes count as 0 bytes.
    """
    devices = state.devices.device_numbers(
        rows.column("deviceId"), state.processes.process_ids(rows.column("globalPid"))
    )
    names = decode_enum(rows.column("memKind"), _SERIES, _DEVICE_SERIES).cast(pa.string())
    released = pc.equal(rows.column("memoryOperationType"), _RELEASE).fill_null(False)
    sizes = rows.column("bytes")
    is_size = pc.and_(pc.greater_equal(sizes, 0), pc.less_equal(sizes, _MOST_BYTES))
    state.notes.data_loss(
        "number_out_of_range",
        pc.sum(pc.invert(is_size)).as_py() or 0,
        f"Rows of {MEMORY} with sizes that cannot be true; they count as 0 bytes.",
    )
    sizes = pc.if_else(is_size, sizes, 0).fill_null(0)
    changes = pc.if_else(released, pc.negate(sizes), sizes)
    for device, name in sorted({*zip(devices.to_pylist(), names.to_pylist(), strict=True)}):
        mine = pc.and_(pc.equal(devices, device), pc.equal(names, name))
        running = pc.cumulative_sum(changes.filter(mine), start=totals.get((device, name), 0))
        totals[device, name] = running[-1].as_py()
        yield build_batch(
            {
                "device": devices.filter(mine),
                "name": names.filter(mine),
                "unit": repeat_text("bytes", len(running)),
                "ts": rows.column("start").filter(mine),
                "value": running.cast(pa.float64(), safe=False),
            }
        )


def _read_pools(state: ImportState) -> Rows:
    """Yield two batches of counter, reserved and used bytes of all memory pools of a device after each pool event."""
    rows = [
        (start, device, *pool) for table in (MEMORY, POOLS) for start, device, *pool in _read_pool_events(state, table)
    ]
    rows.sort(key=lambda row: row[0])
    for place, name in enumerate(_POOL_SERIES.values()):
        sizes: dict[object, int] = {}
        totals: dict[int, int] = {}
        series: list[dict[str, Any]] = []
        for start, device, pool, *values in rows:
            size = values[place]
            totals[device] = totals.get(device, 0) + size - sizes.get(pool, 0)
            sizes[pool] = size
            series.append(
                {"device": device, "name": name, "unit": "bytes", "ts": start, "value": float(totals[device])}
            )
        yield from batches_of("counter", series)


def _read_pool_events(state: ImportState, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield (start in ns, device, (pid, address) of the pool, bytes reserved, bytes in use) per event of a memory pool.

    Both sizes are 0 once the pool is destroyed. Nothing where the table has no columns about pools.
    """
    address = "localMemoryPoolAddress" if table == MEMORY else "address"
    wanted = ["start", "globalPid", "deviceId", address, "operationType", *_POOL_SERIES]
    if not {address, *_POOL_SERIES} <= state.source.columns_of(table, wanted).keys():
        return
    for batch in state.read_timed(table, wanted):
        said = pc.and_(*(pc.greater_equal(batch.column(column), 0).fill_null(False) for column in _POOL_SERIES))
        rows = batch.filter(pc.and_(said, pc.not_equal(batch.column(address), 0).fill_null(False)))
        process_ids = state.processes.process_ids(rows.column("globalPid"))
        devices = state.devices.device_numbers(rows.column("deviceId"), process_ids)
        is_gone = pc.equal(rows.column("operationType"), _POOL_DESTROYED).fill_null(False)
        sizes = [pc.if_else(is_gone, 0, rows.column(column)) for column in _POOL_SERIES]
        pools = zip(process_ids.to_pylist(), rows.column(address).to_pylist(), strict=True)
        values = (size.to_pylist() for size in sizes)
        yield from zip(rows.column("start").to_pylist(), devices.to_pylist(), pools, *values, strict=True)
