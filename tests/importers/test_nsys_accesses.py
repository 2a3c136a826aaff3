"""Accesses to files, nodes of CUDA graphs and memory pools in nsys exports."""

from __future__ import annotations

from nsys_export import GPID, PID, TID, count_notes, global_id, pick_columns, read, write

ACCESSES, FILES = "OSRT_FILE_ACCESS_EVENTS", "OSRT_FILE_ACCESS_DESCRIPTORS"
LABELS = "ENUM_OSRT_FILE_ACCESS_EVENT_TYPE"
NODES, OLD_NODES = "CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS"
USAGE, POOLS = "CUDA_GPU_MEMORY_USAGE_EVENTS", "CUDA_GPU_MEMORY_POOL_EVENTS"


def make_access(start, end, function, size, *, kind=0, file=1):
    times = {"startedAt": start, "endedAt": end}
    return {
        **times,
        "fileAccessId": file,
        "threadId": TID,
        "eventType": kind,
        "apiCallId": function,
        "bytesProcessed": size,
    }


def test_accesses_to_files_are_on_the_thread_of_the_calls(tmp_path):
    rows = [
        make_access(1, 2, 1, 0),
        make_access(3, 9, 2, 4096),
        make_access(10, 11, 3, 7, kind=5),
        make_access(12, 13, 2, 1, file=9),
    ]
    tables = read(
        write(
            tmp_path / "a.sqlite",
            {1: "open64", 2: "pread64", 3: "sendfile"},
            OSRT_API=[{"start": 3, "end": 9, "globalTid": global_id(), "nameId": 2}],
            **{ACCESSES: rows, LABELS: [{"id": 5, "label": "Write"}]},
            **{FILES: [{"fileAccessId": 1, "processId": PID, "filePath": "/data/a.bin"}]},
        )
    )
    assert pick_columns(tables["file_access"], "thread_id ts dur operation function bytes path") == [
        (0, 1, 1, "open", "open64", 0, "/data/a.bin"),
        (0, 3, 6, "read", "pread64", 4096, "/data/a.bin"),
        (0, 10, 1, "write", "sendfile", 7, "/data/a.bin"),
        (1, 12, 1, "read", "pread64", 1, None),
    ]
    assert pick_columns(tables["thread"], "thread_id pid tid") == [(0, PID, TID), (1, None, None)]
    assert count_notes(tables) == {}


def test_nodes_of_graphs(tmp_path):
    rows = [
        {"start": 5, "end": 6, "globalTid": global_id(), "nameId": 1, "graphNodeId": 7, "originalGraphNodeId": None},
        {"start": 8, "end": 9, "globalTid": global_id(), "nameId": 2, "graphNodeId": 70, "originalGraphNodeId": 7},
    ]
    found = [(PID, 7, None, 0, 5, "cudaGraphAddKernelNode"), (PID, 70, 7, 0, 8, "cudaGraphInstantiate")]
    for table in (NODES, OLD_NODES):
        names = {1: "cudaGraphAddKernelNode", 2: "cudaGraphInstantiate"}
        tables = read(write(tmp_path / f"{table}.sqlite", names, **{table: rows}))
        assert pick_columns(tables["graph_node"], "pid graph_node_id original_node_id thread_id ts name") == found


def test_graphs_without_nodes_are_none_of_their_nodes(tmp_path):
    rows = [{"start": 5, "end": 6, "globalTid": global_id(), "nameId": 1, "graphId": 7, "graphExecId": 8}]
    assert not read(write(tmp_path / "a.sqlite", **{OLD_NODES: rows}))["graph_node"]


def make_pool(start, size, used, address=4096, **more):
    where = {"start": start, "globalPid": GPID, "deviceId": 1}
    return {**where, "address": address, "localMemoryPoolSize": size, "localMemoryPoolUtilizedSize": used, **more}


def test_pools_of_a_device_are_added_up(tmp_path):
    events = [
        make_pool(1, 100, 0, operationType=1),
        make_pool(3, 50, 50, address=8192, operationType=1),
        make_pool(9, 100, 0, operationType=2),
    ]
    usage = [
        {**make_pool(5, 100, 80), "localMemoryPoolAddress": 4096, "bytes": 80, "memKind": 2, "memoryOperationType": 0},
        {**make_pool(6, None, None), "localMemoryPoolAddress": 0, "bytes": 8, "memKind": 2, "memoryOperationType": 0},
    ]
    tables = read(write(tmp_path / "a.sqlite", **{POOLS: events, USAGE: usage}))
    series = pick_columns(tables["counter"], "name device ts value unit")
    assert [row for row in series if row[0] == "memory_pool_size"] == [
        ("memory_pool_size", 1, ts, value, "bytes") for ts, value in ((1, 100), (3, 150), (5, 150), (9, 50))
    ]
    assert [(ts, value) for name, _, ts, value, _ in series if name == "memory_pool_used"] == [
        (1, 0),
        (3, 50),
        (5, 130),
        (9, 50),
    ]
