"""Synchronizations and CUDA events: which call or stream waited for which work."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import compute_durations, decode_enum, null_if
from traceq.importers.nsys.context import ImportState, Rows, build_batch

SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
CUDA_EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
TABLES = (CUDA_EVENT, SYNCHRONIZATION)

# CUPTI says "no stream" and "no event" with the largest 32-bit number; -1 is the same, widened.
_NONE = (-1, (1 << 32) - 1)
_KINDS = {0: "context", 1: "stream", 2: "event", 3: "stream_wait_event"}
_TYPES = {1: "event", 2: "stream_wait_event", 3: "stream", 4: "context"}
_EVENT_COLUMNS = ("deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId")

# Recordings of events by their unique id (eventSyncId, from schema 3.23): what a wait waited for.
_RECORDINGS = pa.schema([("key", pa.string()), ("stream", pa.int64()), ("correlation", pa.int64())])


def read_synchronizations(state: ImportState) -> Rows:
    """Yield batches of cuda_event (recordings of CUDA events), then of synchronization (waits)."""
    recorded: list[pa.RecordBatch] = []
    for rows in state.source.read(CUDA_EVENT, [*_EVENT_COLUMNS, "timestamp", "eventSyncId"]):
        columns = _common_columns(state, rows)
        # nsys writes 0 unless the device's own timestamps were asked for.
        columns["ts"] = null_if(rows.column("timestamp"), 0)
        keys = _recording_keys(columns)
        batch = pa.record_batch([keys, columns["stream"], columns["correlation_id"]], schema=_RECORDINGS)
        recorded.append(batch.filter(keys.is_valid()))
        yield "cuda_event", build_batch(columns)
    recordings = pa.Table.from_batches(recorded, _RECORDINGS).combine_chunks()
    wanted = [*_EVENT_COLUMNS, "start", "end", "syncType", "eventSyncId"]
    for rows in state.read_timed(SYNCHRONIZATION, wanted):
        yield "synchronization", _build_synchronizations(state, rows, recordings)


def _common_columns(state: ImportState, rows: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the columns that rows of cuda_event and synchronization share, with fresh slice ids."""
    process_ids = state.processes.process_ids(rows.column("globalPid"))
    return {
        "slice_id": state.take_ids(rows.num_rows),
        "device": state.devices.device_numbers_or_null(rows.column("deviceId"), process_ids),
        "context": rows.column("contextId"),
        "stream": null_if(rows.column("streamId"), *_NONE),
        "pid": process_ids,
        "correlation_id": null_if(rows.column("correlationId"), 0),
        "event_id": null_if(rows.column("eventId"), *_NONE),
        "event_sync_id": null_if(rows.column("eventSyncId"), 0, *_NONE),
    }


def _recording_keys(columns: dict[str, pa.Array]) -> pa.Array:
    """Return keys of CUDA events' recordings, unique in the file: process and event_sync_id; NULL without one."""
    pids, numbers = (columns[name].cast(pa.string()) for name in ("pid", "event_sync_id"))
    return pc.binary_join_element_wise(pids.fill_null(""), numbers, " ")


def _build_synchronizations(state: ImportState, rows: pa.RecordBatch, recordings: pa.Table) -> pa.RecordBatch:
    """Return rows of synchronization, with the stream and call recorded for the CUDA event that each waits for.

    `recordings` are the recordings of CUDA events by key (see _RECORDINGS); the first of a key counts.
    """
    columns = _common_columns(state, rows)
    columns["kind"] = _find_kinds(state, rows, columns)
    columns["ts"] = rows.column("start")
    columns["dur"] = compute_durations(rows.column("start"), rows.column("end"), SYNCHRONIZATION, state.notes)
    # The first recording of an id counts.
    waited = recordings.take(pc.index_in(_recording_keys(columns), value_set=recordings["key"]))
    columns["wait_on_stream"] = waited["stream"].combine_chunks()
    columns["wait_on_correlation_id"] = waited["correlation"].combine_chunks()
    return build_batch(columns)


def _find_kinds(state: ImportState, rows: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.DictionaryArray:
    """Return what each row waits for (context, stream, event, stream_wait_event), by which of the ids are set.

    `syncType` itself is not to be trusted: the same cudaDeviceSynchronize is 1 in files of 2021 to 2023 and 4
    later, the same cudaStreamSynchronize 2 or 3, while an event or a stream is named whenever there is one. syncType
    is used only where the file lacks the columns of these ids.
    """
    if {"streamId", "eventId"} - state.source.columns_of(SYNCHRONIZATION, ["streamId", "eventId"]).keys():
        return decode_enum(rows.column("syncType"), _TYPES, "unknown")
    stream = columns["stream"].is_valid().cast(pa.int64())
    event = columns["event_id"].is_valid().cast(pa.int64())
    return decode_enum(pc.add(stream, pc.multiply(event, 2)), _KINDS, "unknown")
