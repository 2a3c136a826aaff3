"""Synchronizations and CUDA events: who waited for what."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import durations, labelled, without
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.threads import pids

SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
CUDA_EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
TABLES = (CUDA_EVENT, SYNCHRONIZATION)

# CUPTI says "no stream" and "no event" with the largest 32-bit number; -1 is the same, widened.
_NONE = (-1, (1 << 32) - 1)
_KINDS = {0: "context", 1: "stream", 2: "event", 3: "stream_wait_event"}
_TYPES = {1: "event", 2: "stream_wait_event", 3: "stream", 4: "context"}
_EVENT_COLUMNS = ("deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId")
_PID_SHIFT = 40


class _Recordings:
    """Recordings of events by their unique id (eventSyncId, from schema 3.23): what a wait waited for."""

    def __init__(self) -> None:
        self._keys: list[npt.NDArray[np.int64]] = []
        self._places: list[pa.Table] = []

    def add(self, keys: pa.Array, streams: pa.Array, correlations: pa.Array) -> None:
        present = keys.is_valid()
        self._keys.append(keys.filter(present).to_numpy(zero_copy_only=False))
        self._places.append(pa.table({"stream": streams, "correlation": correlations}).filter(present))

    def close(self) -> None:
        """Sort what was added; the first recording of an id counts."""
        if not self._keys:
            return
        self._sorted, first = np.unique(np.concatenate(self._keys), return_index=True)
        self._table = pa.concat_tables(self._places).take(pa.array(first))

    def find(self, keys: pa.Array) -> pa.Table | None:
        """Stream and correlation of each recording, NULL where it is not in the file."""
        if not self._keys or not len(self._sorted):
            return None
        wanted = keys.fill_null(-1).to_numpy(zero_copy_only=False)
        at = np.searchsorted(self._sorted, wanted).clip(max=len(self._sorted) - 1)
        return self._table.take(pa.array(at, mask=self._sorted[at] != wanted))


def read_synchronizations(job: Job) -> Rows:
    """All rows of cuda_event and synchronization."""
    recordings = _Recordings()
    for rows in job.source.read(CUDA_EVENT, [*_EVENT_COLUMNS, "timestamp", "eventSyncId"]):
        yield "cuda_event", _events(job, rows, recordings)
    recordings.close()
    wanted = [*_EVENT_COLUMNS, "start", "end", "syncType", "eventSyncId"]
    for rows in job.timed(SYNCHRONIZATION, wanted):
        yield "synchronization", _synchronizations(job, rows, recordings)


def _place(job: Job, rows: pa.RecordBatch) -> dict[str, pa.Array]:
    process_ids = pids(rows.column("globalPid"))
    return {
        "slice_id": job.ids(rows.num_rows),
        "device": job.devices.optional(rows.column("deviceId"), process_ids),
        "context": rows.column("contextId"),
        "stream": without(rows.column("streamId"), *_NONE),
        "pid": process_ids,
        "correlation_id": without(rows.column("correlationId"), 0),
        "event_id": without(rows.column("eventId"), *_NONE),
        "event_sync_id": without(rows.column("eventSyncId"), 0, *_NONE),
    }


def _recording_keys(columns: dict[str, pa.Array]) -> pa.Array:
    """Ids of recordings are per process, so the process is part of the key."""
    return pc.add(pc.shift_left(columns["pid"].fill_null(0), _PID_SHIFT), columns["event_sync_id"])


def _events(job: Job, rows: pa.RecordBatch, recordings: _Recordings) -> pa.RecordBatch:
    columns = _place(job, rows)
    # nsys writes 0 unless the device's own timestamps were asked for.
    columns["ts"] = without(rows.column("timestamp"), 0)
    recordings.add(_recording_keys(columns), columns["stream"], columns["correlation_id"])
    return batch_of(columns)


def _synchronizations(job: Job, rows: pa.RecordBatch, recordings: _Recordings) -> pa.RecordBatch:
    columns = _place(job, rows)
    columns["kind"] = _kinds(job, rows, columns)
    columns["ts"] = rows.column("start")
    columns["dur"] = durations(rows.column("start"), rows.column("end"), SYNCHRONIZATION, job.notes)
    waited = recordings.find(_recording_keys(columns))
    if waited is not None:
        columns["wait_on_stream"] = waited["stream"].combine_chunks()
        columns["wait_on_correlation_id"] = waited["correlation"].combine_chunks()
    return batch_of(columns)


def _kinds(job: Job, rows: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.DictionaryArray:
    """What was waited for, from which ids are there.

    `syncType` itself is not to be trusted: the same cudaDeviceSynchronize is 1 in files of 2021 to 2023 and 4
    later, the same cudaStreamSynchronize 2 or 3, while an event or a stream is named whenever there is one.
    """
    if {"streamId", "eventId"} - job.source.columns(SYNCHRONIZATION).keys():
        return labelled(rows.column("syncType"), _TYPES, "unknown")
    stream = columns["stream"].is_valid().cast(pa.int64())
    event = columns["event_id"].is_valid().cast(pa.int64())
    return labelled(pc.add(stream, pc.multiply(event, 2)), _KINDS, "unknown")
