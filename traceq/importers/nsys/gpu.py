"""GPU activity: kernels, copies, memsets, graphs traced as a whole, nodes of graphs, and page faults."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import (
    build_json_objects,
    compute_durations,
    decode_enum,
    null_if,
    null_negative,
    null_out_of_range,
    to_int32,
)
from traceq.importers.nsys.context import ImportState, Rows, build_batch
from traceq.importers.rows import repeat_text

MEMORY = dict(enumerate(("pageable", "pinned", "device", "array", "managed", "device_static", "managed_static")))
_MEMORY_WORDS = [*(word.replace("_", " ").title() for word in MEMORY.values()), "Unknown"]
_MEMORIES = len(_MEMORY_WORDS)

# By copyKind: the direction that the name says, and the kind. Arrays (A) are texture memory of the device.
_COPIES = (
    ("Unknown", None), ("HtoD", "h2d"), ("DtoH", "d2h"), ("HtoA", "h2d"), ("AtoH", "d2h"), ("AtoA", "d2d"),
    ("AtoD", "d2d"), ("DtoA", "d2d"), ("DtoD", "d2d"), ("HtoH", "h2h"), ("PtoP", "p2p"), ("HtoD", "um"),
    ("DtoH", "um"), ("DtoD", "um"),
)  # fmt: skip
COPY_KINDS = {number: kind for number, (_, kind) in enumerate(_COPIES) if kind}
MIGRATION_CAUSES = dict(
    enumerate(('"prefetch"', '"page fault"', '"speculative prefetch"', '"eviction"', '"access counters"'), 1)
)

# Every name there can be, by (kind * 8 + source) * 8 + destination, so that naming is arithmetic.
_COPY_NAMES = pa.array(
    [
        f"Memcpy {direction} (Unified)" if kind == "um" else f"Memcpy {direction} ({src} -> {dst})"
        for direction, kind in _COPIES
        for src in _MEMORY_WORDS
        for dst in _MEMORY_WORDS
    ]
)
_MEMSET_NAMES = pa.array([f"Memset ({word})" for word in _MEMORY_WORDS])


def _clamp_codes(column: pa.Array, codes: int, unknown: int) -> pa.Array:
    """Return enum numbers as int32; a number outside 0..codes-1, and NULL, becomes `unknown`."""
    known = pc.and_(pc.greater_equal(column, 0), pc.less(column, codes))
    return pc.if_else(known.fill_null(False), column, pa.scalar(unknown, pa.int64())).cast(pa.int32())


def _name_copies(kinds: pa.Array, sources: pa.Array, destinations: pa.Array) -> pa.DictionaryArray:
    """Return names of copies, such as 'Memcpy HtoD (Pinned -> Device)', from their copyKind, srcKind and dstKind."""
    code = _clamp_codes(kinds, len(_COPIES), 0)
    for memory in (sources, destinations):
        code = pc.add(pc.multiply(code, _MEMORIES), _clamp_codes(memory, _MEMORIES, _MEMORIES - 1))
    return pa.DictionaryArray.from_arrays(code, _COPY_NAMES)


Columns = dict[str, pa.Array | None]

_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
_GEOMETRY = {
    "grid_x": "gridX", "grid_y": "gridY", "grid_z": "gridZ", "block_x": "blockX", "block_y": "blockY",
    "block_z": "blockZ", "registers_per_thread": "registersPerThread",
}  # fmt: skip
_CLUSTER = {"cluster_x": "clusterX", "cluster_y": "clusterY", "cluster_z": "clusterZ"}
_COOPERATIVE = {2: '"cooperative"', 3: '"cooperative on several devices"'}
_NAMES = ("demangledName", "mangledName", "shortName")


def read_gpu(state: ImportState) -> Rows:
    """Yield batches of gpu_slice: kernels, copies, memsets, and CUDA graphs that were traced as a whole."""
    for table, (wanted, describe) in _READERS.items():
        # The best name column a kernel table has; other tables have none.
        names = [name for name in _NAMES if name in state.source.columns_of(table, _NAMES)][:1]
        for rows in state.read_timed(table, [*_PLACE, *wanted, *names]):
            yield "gpu_slice", build_batch({**_common_columns(state, table, rows), **describe(state, rows)})


def _common_columns(state: ImportState, table: str, rows: pa.RecordBatch) -> Columns:
    """Return the columns of gpu_slice that all kinds of GPU work share: slice id, device, stream, time, process, ....

    The processes, and the latest end, are remembered in `state`.
    """
    starts = rows.column("start")
    lengths = compute_durations(starts, rows.column("end"), table, state.notes)
    process_ids = state.processes.process_ids(rows.column("globalPid"))
    state.extend_end(starts, lengths)
    state.gpu_pids.update(one for one in pc.unique(process_ids).to_pylist() if one is not None)
    return {
        "slice_id": state.take_ids(rows.num_rows),
        "device": state.devices.device_numbers(rows.column("deviceId"), process_ids),
        "context": rows.column("contextId"),
        "stream": rows.column("streamId"),
        "ts": starts,
        "dur": lengths,
        "pid": process_ids,
        "correlation_id": null_if(rows.column("correlationId"), 0),
    }


def _graph_ids(rows: pa.RecordBatch) -> Columns:
    """Return the columns graph_id and graph_node_id, NULL for work outside CUDA graphs."""
    return {"graph_id": null_if(rows.column("graphId"), 0), "graph_node_id": null_if(rows.column("graphNodeId"), 0)}


def _kernel_columns(state: ImportState, rows: pa.RecordBatch) -> Columns:
    """Return the columns of gpu_slice that only kernels have, with their kind and names."""
    static = null_negative(rows.column("staticSharedMemory"), "shared memory", state.notes)
    dynamic = null_negative(rows.column("dynamicSharedMemory"), "shared memory", state.notes)
    geometry = {name: to_int32(rows.column(own), own, state.notes) for name, own in _GEOMETRY.items()}
    name_ids = next((rows.column(name) for name in _NAMES if name in rows.schema.names), None)
    args = {
        "launch_type": decode_enum(rows.column("launchType"), _COOPERATIVE),
        "local_memory_per_thread": null_if(rows.column("localMemoryPerThread"), 0),
        "green_context_id": null_if(rows.column("greenContextId"), 0),
    } | {name: null_if(rows.column(own), 0) for name, own in _CLUSTER.items()}
    return {
        "kind": repeat_text("kernel", rows.num_rows),
        "name": state.strings.names_of(pa.nulls(rows.num_rows, pa.int64()) if name_ids is None else name_ids),
        "shared_memory": pc.add(static, dynamic),
        "static_shared_memory": static,
        "dynamic_shared_memory": dynamic,
        "args": build_json_objects(args),
        **geometry,
        **_graph_ids(rows),
    }


def _memcpy_columns(state: ImportState, rows: pa.RecordBatch) -> Columns:
    """Return the columns of gpu_slice that only copies have, with their kind and names."""
    process_ids = state.processes.process_ids(rows.column("globalPid"))
    args = {
        "migration_cause": decode_enum(rows.column("migrationCause"), MIGRATION_CAUSES),
        "copy_count": null_if(rows.column("copyCount"), 0, 1),
    }
    return {
        "kind": repeat_text("memcpy", rows.num_rows),
        "name": _name_copies(rows.column("copyKind"), rows.column("srcKind"), rows.column("dstKind")),
        "bytes": null_negative(rows.column("bytes"), "bytes", state.notes),
        "copy_kind": decode_enum(rows.column("copyKind"), COPY_KINDS),
        "src_memory": decode_enum(rows.column("srcKind"), MEMORY),
        "dst_memory": decode_enum(rows.column("dstKind"), MEMORY),
        "src_device": state.devices.device_numbers_or_null(rows.column("srcDeviceId"), process_ids),
        "dst_device": state.devices.device_numbers_or_null(rows.column("dstDeviceId"), process_ids),
        "args": build_json_objects(args),
        **_graph_ids(rows),
    }


def _memset_columns(state: ImportState, rows: pa.RecordBatch) -> Columns:
    """Return the columns of gpu_slice that only memsets have, with their kind and names."""
    return {
        "kind": repeat_text("memset", rows.num_rows),
        "name": pa.DictionaryArray.from_arrays(
            _clamp_codes(rows.column("memKind"), _MEMORIES, _MEMORIES - 1), _MEMSET_NAMES
        ),
        "bytes": null_negative(rows.column("bytes"), "bytes", state.notes),
        "dst_memory": decode_enum(rows.column("memKind"), MEMORY),
        "args": build_json_objects({"value": null_if(rows.column("value"), 0)}),
        **_graph_ids(rows),
    }


def _graph_launch_columns(_state: ImportState, rows: pa.RecordBatch) -> Columns:
    """Return the columns of gpu_slice for CUDA graphs traced as a whole: one row stands for all kernels of a launch."""
    graph_ids = rows.column("graphId")
    numbered = pc.binary_join_element_wise("CUDA graph", graph_ids.cast(pa.string()), " ")
    return {
        "kind": repeat_text("graph", rows.num_rows),
        "name": pc.fill_null(numbered, "CUDA graph"),
        "graph_id": graph_ids,
        "args": build_json_objects({"graph_exec_id": rows.column("graphExecId")}),
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
_READERS: dict[str, tuple[tuple[str, ...], Callable[[ImportState, pa.RecordBatch], Columns]]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (_KERNEL_COLUMNS, _kernel_columns),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (_MEMCPY_COLUMNS, _memcpy_columns),
    "CUPTI_ACTIVITY_KIND_MEMSET": (("bytes", "memKind", "value", "graphId", "graphNodeId"), _memset_columns),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (("graphId", "graphExecId"), _graph_launch_columns),
}


# The older name is used for whole graphs from 2024 on: those rows have no node.
_GRAPH_NODES = ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS")


def read_graph_nodes(state: ImportState) -> Rows:
    """Yield batches of graph_node: by which thread and when the nodes of CUDA graphs were created."""
    for table in _GRAPH_NODES:
        if "graphNodeId" not in state.source.columns_of(table, ["graphNodeId"]):
            continue
        for rows in state.read_timed(table, ["start", "globalTid", "nameId", "graphNodeId", "originalGraphNodeId"]):
            yield (
                "graph_node",
                build_batch(
                    {
                        "pid": state.processes.process_ids(rows.column("globalTid")),
                        "graph_node_id": rows.column("graphNodeId"),
                        "original_node_id": null_if(rows.column("originalGraphNodeId"), 0),
                        "thread_id": state.threads.thread_ids(rows.column("globalTid")),
                        "ts": rows.column("start"),
                        "name": state.strings.names_or_null(rows.column("nameId")),
                    }
                ),
            )


_GPU_FAULTS = "CUDA_UM_GPU_PAGE_FAULT_EVENTS"
_CPU_FAULTS = "CUDA_UM_CPU_PAGE_FAULT_EVENTS"

TABLES = (*_READERS, *_GRAPH_NODES, _GPU_FAULTS, _CPU_FAULTS)

_ACCESS = {1: "read", 2: "write", 3: "atomic", 4: "prefetch"}
_MOST_FAULTS = 1 << 40


def read_page_faults(state: ImportState) -> Rows:
    """Yield batches of page_fault: faults on unified memory of GPUs, then of CPUs, without the addresses."""
    wanted = ["start", "end", "globalPid", "deviceId", "numberOfPageFaults", "faultAccessType"]
    for rows in state.read_timed(_GPU_FAULTS, wanted):
        yield "page_fault", _gpu_faults(state, rows)
    for rows in state.read_timed(_CPU_FAULTS, ["start", "globalPid", "CpuInstruction"]):
        yield "page_fault", _cpu_faults(state, rows)


def _gpu_faults(state: ImportState, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of page_fault for groups of GPU faults on a page; a group of unknown size counts as one fault."""
    process_ids = state.processes.process_ids(rows.column("globalPid"))
    sizes = null_out_of_range(rows.column("numberOfPageFaults"), 1, _MOST_FAULTS, "numberOfPageFaults", state.notes)
    return build_batch(
        {
            "processor": repeat_text("gpu", rows.num_rows),
            "device": state.devices.device_numbers(rows.column("deviceId"), process_ids),
            "pid": process_ids,
            "ts": rows.column("start"),
            "dur": compute_durations(rows.column("start"), rows.column("end"), _GPU_FAULTS, state.notes),
            "faults": sizes.fill_null(1),
            "access": decode_enum(rows.column("faultAccessType"), _ACCESS),
        }
    )


def _cpu_faults(state: ImportState, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of page_fault for CPU faults, one fault a row, with the function that caused it."""
    return build_batch(
        {
            "processor": repeat_text("cpu", rows.num_rows),
            "pid": state.processes.process_ids(rows.column("globalPid")),
            "ts": rows.column("start"),
            "faults": pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows),
            "function": state.strings.names_or_null(rows.column("CpuInstruction")),
        }
    )
