"""From a memory snapshot to the rows of traceq's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from traceq.common.ranks import rank_in_path
from traceq.errors import UnusableTrace
from traceq.importers.memory_snapshot.database import read_tables
from traceq.importers.memory_snapshot.parts import AnnotationMark, SnapshotParts
from traceq.importers.packed import DAMAGED, open_unpacked, read_head
from traceq.importers.pickled import Malformed, Pairs, PickledItems, PickleReader
from traceq.importers.rows import Notes, batches_of
from traceq.importers.sqlite import DAMAGED_DATABASE, SQLITE, open_database

_ROWS = 50_000
_WHOLE, _TEXT, _SMALL = pa.int64(), pa.string(), pa.int32()

_UNREADABLE: tuple[type[Exception], ...] = (Malformed, *DAMAGED)
_UNREADABLE_TABLES: tuple[type[Exception], ...] = (Malformed, *DAMAGED_DATABASE)

SCHEMAS = {
    "allocator_event": pa.schema({
        "device": _SMALL, "number": _WHOLE, "action": _TEXT, "ts": _WHOLE, "address": _WHOLE, "bytes": _WHOLE,
        "device_free": _WHOLE, "stream": _WHOLE, "stack_id": _WHOLE, "compile_context": _TEXT,
    }),
    "allocator_segment": pa.schema({
        "segment_id": _WHOLE, "device": _SMALL, "address": _WHOLE, "bytes": _WHOLE, "allocated_bytes": _WHOLE,
        "active_bytes": _WHOLE, "requested_bytes": _WHOLE, "stream": _WHOLE, "kind": _TEXT, "pool": _TEXT,
        "is_expandable": pa.bool_(), "stack_id": _WHOLE,
    }),
    "allocator_block": pa.schema({
        "segment_id": _WHOLE, "number": _WHOLE, "address": _WHOLE, "bytes": _WHOLE, "requested_bytes": _WHOLE,
        "state": _TEXT, "stack_id": _WHOLE,
    }),
    "allocator_stack": pa.schema({
        "stack_id": _WHOLE, "depth": _SMALL, "name": _TEXT, "file": _TEXT, "line": _WHOLE,
    }),
}  # fmt: skip


def read(path: Path, progress: Callable[[int], None]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) for a memory snapshot, pickle or SQLite; raises UnusableTrace, with the reason, for any other file."""
    gathered = _BatchCollector()
    parts = SnapshotParts(gathered.add)
    notes = Notes()
    if read_head(path, len(SQLITE)) == SQLITE:
        yield from _read_database(path, gathered, parts, notes)
        progress(path.stat().st_size)
        settings: dict[str, Any] = {}
    else:
        settings = yield from _read_pickle(path, gathered, parts, progress)
    yield from batches_of("trace", [_trace_row(path, settings)])
    devices = sorted({*parts.events, *gathered.devices})
    yield from batches_of("device", [{"device": device, "source": "unknown"} for device in devices])
    yield from _build_annotations(parts.marks)
    notes.info(
        "event_without_time",
        parts.timeless,
        "events of the allocator without a time (PyTorch before 2.1 writes none): only their order is known",
    )
    yield from notes.batches()


def _read_pickle(
    path: Path, gathered: _BatchCollector, parts: SnapshotParts, progress: Callable[[int], None]
) -> Generator[tuple[str, pa.RecordBatch], None, dict[str, Any]]:
    """Yield (table, batch) of a pickled snapshot's events, segments, blocks and stacks; return the allocator's settings by name.

    Raises UnusableTrace where the file is no such pickle.
    """
    with open_unpacked(path) as file:
        reader = PickleReader(file, parts.dict_of, parts.list_of, progress)
        try:
            for _ in reader.run():
                yield from gathered.take_batches(_ROWS)
        except _UNREADABLE as error:
            raise UnusableTrace(f"{path}: cannot be read as a memory snapshot of PyTorch: {error}") from None
        whole = reader.result
    yield from gathered.take_batches(0)
    return _read_settings(path, whole, parts)


def _read_database(
    path: Path, gathered: _BatchCollector, parts: SnapshotParts, notes: Notes
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) of the events, segments, blocks and stacks of a snapshot as SQLite.

    Adds to `notes` how many blocks belong to no segment of the file. Raises UnusableTrace where the tables cannot be
    read.
    """
    try:
        with open_database(path) as connection:
            for left_out in read_tables(connection, parts):
                yield from gathered.take_batches(_ROWS)
                notes.data_loss(
                    "records_not_imported", left_out, "blocks of segments that are not in the file were left out"
                )
    except _UNREADABLE_TABLES as error:
        why = " ".join(str(error).split())
        raise UnusableTrace(
            f"{path}: cannot be read as a memory snapshot of PyTorch in SQLite: {why}; dump a pickle instead:"
            " torch.cuda.memory._dump_snapshot(FILE)"
        ) from None
    yield from gathered.take_batches(0)


class _BatchCollector:
    """Collector of rows by table until there are enough for a batch; `devices` are the numbers of the devices with segments."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Sequence[Any]]] = {}
        self.devices: set[int] = set()

    def add(self, table: str, row: Sequence[Any]) -> None:
        self._rows.setdefault(table, []).append(row)
        if table == "allocator_segment":
            self.devices.add(row[1])

    def take_batches(self, least: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield and remove all rows of each table that has more than `least` rows, as (table, batch of at most 50,000 rows)."""
        for table, rows in self._rows.items():
            if len(rows) > least:
                for start in range(0, len(rows), _ROWS):
                    yield table, _build_batch(SCHEMAS[table], rows[start : start + _ROWS])
                rows.clear()


def _build_batch(schema: pa.Schema, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    arrays = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _read_settings(path: Path, whole: Any, parts: SnapshotParts) -> dict[str, Any]:
    """Return the allocator's settings by name from `whole`, the object in the file; empty if it is a list or has none.

    Raises UnusableTrace if the file has neither segments nor a history of events, or the events are not in a list per
    device.
    """
    if type(whole) is PickledItems:
        return {}
    if type(whole) is not Pairs or not {"segments", "device_traces"} & set(whole):
        raise UnusableTrace(
            f"{path}: a pickle, but not a memory snapshot of PyTorch: it has neither segments nor device_traces"
        )
    traces = whole.get("device_traces", ())
    if sum(parts.events.values()) and not _are_in_place(traces, parts.events):
        raise UnusableTrace(f"{path}: its events are not in a list for each device, as PyTorch writes them")
    found = whole.get("allocator_settings", ())
    kept = found.items() if type(found) is Pairs else ()
    return {str(key): value for key, value in kept if type(value) in (bool, int, str)}


def _are_in_place(traces: Any, events: dict[int, int]) -> bool:
    """Return whether each device with events has them in the list at its own index in `traces`, as PyTorch writes them."""
    return type(traces) is PickledItems and all(
        device < len(traces) and type(traces[device]) is PickledItems and traces[device].tag == device
        for device in events
    )


def _trace_row(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "producer": "PyTorch memory snapshot",
        # the file itself does not tell its rank
        "rank": rank_in_path(path),
        # times are microseconds of the host's clock
        "utc_origin_ns": 0,
        "args": json.dumps({"allocator_settings": settings}),
    }


def _build_annotations(marks: Sequence[AnnotationMark]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the (table, batch) of record_function()'s ranges: a thread per GPU, and a CPU slice of kind annotation per range.

    A stop closes the latest open range of its name on its device; a start without a stop is dropped.
    """
    opened_at: dict[tuple[int, str], list[int]] = {}
    ranges = []
    for mark in marks:
        starts = opened_at.setdefault((mark.device, mark.name), [])
        if mark.is_start:
            starts.append(mark.ts)
        elif starts and starts[-1] <= mark.ts:
            ranges.append((mark.device, mark.name, starts.pop(), mark.ts))
    if not ranges:
        return
    threads = {device: place for place, device in enumerate(sorted({device for device, *_ in ranges}))}
    yield from batches_of(
        "thread",
        [{"thread_id": place, "thread_name": f"annotations of GPU {device}"} for device, place in threads.items()],
    )
    slices = [
        {
            "slice_id": number,
            "thread_id": threads[device],
            "kind": "annotation",
            "name": name,
            "ts": start,
            "dur": end - start,
        }
        for number, (device, name, start, end) in enumerate(sorted(ranges, key=lambda each: (each[2], -each[3])))
    ]
    yield from batches_of("cpu_slice", slices)
