"""Synchronizations and CUDA events: who waited for what."""

from __future__ import annotations

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


# Recordings of events by their unique id (eventSyncId, from schema 3.23): what a wait waited for.
_RECORDINGS = pa.schema([("key", pa.int64()), ("stream", pa.int64()), ("correlation", pa.int64())])


def read_synchronizations(job: Job) -> Rows:
    """All rows of cuda_event and synchronization."""
    recorded: list[pa.RecordBatch] = []
    for rows in job.source.read(CUDA_EVENT, [*_EVENT_COLUMNS, "timestamp", "eventSyncId"]):
        columns = _place(job, rows)
        # nsys writes 0 unless the device's own timestamps were asked for.
        columns["ts"] = without(rows.column("timestamp"), 0)
        keys = _recording_keys(columns)
        batch = pa.record_batch([keys, columns["stream"], columns["correlation_id"]], schema=_RECORDINGS)
        recorded.append(batch.filter(keys.is_valid()))
        yield "cuda_event", batch_of(columns)
    recordings = pa.Table.from_batches(recorded, _RECORDINGS).combine_chunks()
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


def _synchronizations(job: Job, rows: pa.RecordBatch, recordings: pa.Table) -> pa.RecordBatch:
    columns = _place(job, rows)
    columns["kind"] = _kinds(job, rows, columns)
    columns["ts"] = rows.column("start")
    columns["dur"] = durations(rows.column("start"), rows.column("end"), SYNCHRONIZATION, job.notes)
    # The first recording of an id counts.
    waited = recordings.take(pc.index_in(_recording_keys(columns), value_set=recordings["key"]))
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
