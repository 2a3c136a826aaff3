"""GPU work: kernels, copies, memsets, and graphs traced as a whole."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import constant, durations, int32, json_objects, labelled, non_negative, without
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.copies import COPY_KINDS, MEMORY, MIGRATION_CAUSES, copy_names, memset_names
from traceq.importers.nsys.threads import pids

Columns = dict[str, pa.Array | None]

_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
_GEOMETRY = {
    "grid_x": "gridX",
    "grid_y": "gridY",
    "grid_z": "gridZ",
    "block_x": "blockX",
    "block_y": "blockY",
    "block_z": "blockZ",
    "registers_per_thread": "registersPerThread",
}
_CLUSTER = {"cluster_x": "clusterX", "cluster_y": "clusterY", "cluster_z": "clusterZ"}
_COOPERATIVE = {2: '"cooperative"', 3: '"cooperative on several devices"'}
_NAMES = ("demangledName", "mangledName", "shortName")


def read_gpu(job: Job) -> Rows:
    """All rows of gpu_slice."""
    for table, (wanted, describe) in _READERS.items():
        # The best name column a kernel table has; other tables have none.
        names = [name for name in _NAMES if name in job.source.columns(table)][:1]
        for rows in job.timed(table, [*_PLACE, *wanted, *names]):
            yield "gpu_slice", batch_of({**_place(job, table, rows), **describe(job, rows)})


def _place(job: Job, table: str, rows: pa.RecordBatch) -> Columns:
    """Where and when, which all tables of GPU work say alike."""
    starts = rows.column("start")
    lengths = durations(starts, rows.column("end"), table, job.notes)
    process_ids = pids(rows.column("globalPid"))
    job.seen(starts, lengths)
    job.gpu_pids.update(one for one in pc.unique(process_ids).to_pylist() if one is not None)
    return {
        "slice_id": job.ids(rows.num_rows),
        "device": job.devices.numbers(rows.column("deviceId"), process_ids),
        "context": rows.column("contextId"),
        "stream": rows.column("streamId"),
        "ts": starts,
        "dur": lengths,
        "pid": process_ids,
        "correlation_id": without(rows.column("correlationId"), 0),
    }


def _graph_columns(rows: pa.RecordBatch) -> Columns:
    return {
        "graph_id": without(rows.column("graphId"), 0),
        "graph_node_id": without(rows.column("graphNodeId"), 0),
    }


def _kernels(job: Job, rows: pa.RecordBatch) -> Columns:
    static = non_negative(rows.column("staticSharedMemory"), "shared memory", job.notes)
    dynamic = non_negative(rows.column("dynamicSharedMemory"), "shared memory", job.notes)
    geometry = {name: int32(rows.column(own), own, job.notes) for name, own in _GEOMETRY.items()}
    name_ids = next((rows.column(name) for name in _NAMES if name in rows.schema.names), None)
    args = {
        "launch_type": labelled(rows.column("launchType"), _COOPERATIVE),
        "local_memory_per_thread": without(rows.column("localMemoryPerThread"), 0),
        "green_context_id": without(rows.column("greenContextId"), 0),
    } | {name: without(rows.column(own), 0) for name, own in _CLUSTER.items()}
    return {
        "kind": constant("kernel", rows.num_rows),
        "name": job.strings.names(pa.nulls(rows.num_rows, pa.int64()) if name_ids is None else name_ids),
        "shared_memory": pc.add(static, dynamic),
        "static_shared_memory": static,
        "dynamic_shared_memory": dynamic,
        "args": json_objects(args),
        **geometry,
        **_graph_columns(rows),
    }


def _memcpys(job: Job, rows: pa.RecordBatch) -> Columns:
    process_ids = pids(rows.column("globalPid"))
    args = {
        "migration_cause": labelled(rows.column("migrationCause"), MIGRATION_CAUSES),
        "copy_count": without(rows.column("copyCount"), 0, 1),
    }
    return {
        "kind": constant("memcpy", rows.num_rows),
        "name": copy_names(rows.column("copyKind"), rows.column("srcKind"), rows.column("dstKind")),
        "bytes": non_negative(rows.column("bytes"), "bytes", job.notes),
        "copy_kind": labelled(rows.column("copyKind"), COPY_KINDS),
        "src_memory": labelled(rows.column("srcKind"), MEMORY),
        "dst_memory": labelled(rows.column("dstKind"), MEMORY),
        "src_device": job.devices.optional(rows.column("srcDeviceId"), process_ids),
        "dst_device": job.devices.optional(rows.column("dstDeviceId"), process_ids),
        "args": json_objects(args),
        **_graph_columns(rows),
    }


def _memsets(job: Job, rows: pa.RecordBatch) -> Columns:
    return {
        "kind": constant("memset", rows.num_rows),
        "name": memset_names(rows.column("memKind")),
        "bytes": non_negative(rows.column("bytes"), "bytes", job.notes),
        "dst_memory": labelled(rows.column("memKind"), MEMORY),
        "args": json_objects({"value": without(rows.column("value"), 0)}),
        **_graph_columns(rows),
    }


def _graphs(_job: Job, rows: pa.RecordBatch) -> Columns:
    """A launch of a graph traced with --cuda-graph-trace=graph: one row stands for all its kernels."""
    graph_ids = rows.column("graphId")
    numbered = pc.binary_join_element_wise("CUDA graph", graph_ids.cast(pa.string()), " ")
    return {
        "kind": constant("graph", rows.num_rows),
        "name": pc.fill_null(numbered, "CUDA graph"),
        "graph_id": graph_ids,
        "args": json_objects({"graph_exec_id": rows.column("graphExecId")}),
    }


_KERNEL_COLUMNS = (
    *_GEOMETRY.values(),
    *("staticSharedMemory", "dynamicSharedMemory", "graphId", "graphNodeId"),
    *("launchType", "localMemoryPerThread", "greenContextId"),
    *_CLUSTER.values(),
)
_MEMCPY_COLUMNS = (
    *("bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"),
    *("graphId", "graphNodeId", "migrationCause", "copyCount"),
)
_READERS: dict[str, tuple[tuple[str, ...], Callable[[Job, pa.RecordBatch], Columns]]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (_KERNEL_COLUMNS, _kernels),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (_MEMCPY_COLUMNS, _memcpys),
    "CUPTI_ACTIVITY_KIND_MEMSET": (("bytes", "memKind", "value", "graphId", "graphNodeId"), _memsets),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (("graphId", "graphExecId"), _graphs),
}
TABLES = tuple(_READERS)
