"""GPU tables of nsys exports: kernels, copies, memsets, graphs, synchronizations, devices."""

from __future__ import annotations

import json

import pytest
from nsys_export import (
    GPID,
    KERNEL,
    MEMCPY,
    MEMSET,
    NO,
    SYNCHRONIZATION,
    count_notes,
    global_id,
    pick_columns,
    read,
    write,
)

PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": GPID}


def make_kernel(start, end, **more):
    return {"start": start, "end": end, "demangledName": 1, **PLACE, **more}


def test_kernel_with_all_columns(tmp_path):
    geometry = {
        "gridX": 2,
        "gridY": 3,
        "gridZ": 4,
        "blockX": 32,
        "blockY": 2,
        "blockZ": 1,
        "registersPerThread": 40,
    }
    memory = {"staticSharedMemory": 100, "dynamicSharedMemory": 28, "localMemoryPerThread": 16}
    rows = [make_kernel(5, 15, correlationId=9, graphNodeId=3, graphId=2, launchType=2, **geometry, **memory)]
    tables = read(write(tmp_path / "a.sqlite", {1: "gemm(int)"}, **{KERNEL: rows}))
    columns = "kind name ts dur device context stream pid correlation_id graph_id graph_node_id"
    assert pick_columns(tables["gpu_slice"], columns) == [("kernel", "gemm(int)", 5, 10, 0, 1, 7, 111, 9, 2, 3)]
    columns = "grid_x grid_y grid_z block_x block_y block_z registers_per_thread"
    assert pick_columns(tables["gpu_slice"], columns) == [(2, 3, 4, 32, 2, 1, 40)]
    columns = "shared_memory static_shared_memory dynamic_shared_memory"
    assert pick_columns(tables["gpu_slice"], columns) == [(128, 100, 28)]
    assert json.loads(tables["gpu_slice"][0]["args"]) == {
        "launch_type": "cooperative",
        "local_memory_per_thread": 16,
    }


def test_kernel_with_the_fewest_columns(tmp_path):
    rows = [{"start": 5, "end": 15, "deviceId": 0, "shortName": 1}]
    tables = read(write(tmp_path / "a.sqlite", {1: "gemm"}, **{KERNEL: rows}))
    columns = "kind name ts dur device stream pid grid_x args"
    assert pick_columns(tables["gpu_slice"], columns) == [("kernel", "gemm", 5, 10, 0, None, None, None, None)]
    assert count_notes(tables) == {}


def test_args_only_where_there_is_something_to_say(tmp_path):
    rows = [make_kernel(0, 1), make_kernel(2, 3, localMemoryPerThread=8), make_kernel(4, 5, launchType=1)]
    tables = read(write(tmp_path / "a.sqlite", {1: "k"}, **{KERNEL: rows}))
    assert pick_columns(tables["gpu_slice"], "args") == [(None,), ('{"local_memory_per_thread":8}',), (None,)]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((1, 0, 2), ("Memcpy HtoD (Pageable -> Device)", "h2d", "pageable", "device")),
        ((2, 2, 1), ("Memcpy DtoH (Device -> Pinned)", "d2h", "device", "pinned")),
        ((3, 1, 3), ("Memcpy HtoA (Pinned -> Array)", "h2d", "pinned", "array")),
        ((8, 2, 5), ("Memcpy DtoD (Device -> Device Static)", "d2d", "device", "device_static")),
        ((9, 0, 1), ("Memcpy HtoH (Pageable -> Pinned)", "h2h", "pageable", "pinned")),
        ((10, 2, 2), ("Memcpy PtoP (Device -> Device)", "p2p", "device", "device")),
        ((11, 7, 7), ("Memcpy HtoD (Unified)", "um", None, None)),
        ((12, 7, 7), ("Memcpy DtoH (Unified)", "um", None, None)),
        ((13, 4, 4), ("Memcpy DtoD (Unified)", "um", "managed", "managed")),
        ((99, None, -5), ("Memcpy Unknown (Unknown -> Unknown)", None, None, None)),
    ],
)
def test_copy_is_named_as_pytorch_names_it(tmp_path, kinds, expected):
    copy = dict(zip(("copyKind", "srcKind", "dstKind"), kinds, strict=True))
    tables = read(write(tmp_path / "a.sqlite", **{MEMCPY: [{"start": 0, "end": 4, "bytes": 64, **PLACE, **copy}]}))
    assert pick_columns(tables["gpu_slice"], "name copy_kind src_memory dst_memory") == [expected]
    assert pick_columns(tables["gpu_slice"], "kind bytes dur") == [("memcpy", 64, 4)]


def test_copy_between_devices_and_migration_cause(tmp_path):
    copy = {"start": 0, "end": 4, "bytes": 64, "copyKind": 10, "srcDeviceId": 0, "dstDeviceId": 3, **PLACE}
    migration = {**copy, "copyKind": 11, "migrationCause": 2, "srcDeviceId": None, "dstDeviceId": None}
    tables = read(write(tmp_path / "a.sqlite", **{MEMCPY: [copy, migration]}))
    assert pick_columns(tables["gpu_slice"], "src_device dst_device args") == [
        (0, 3, None),
        (None, None, '{"migration_cause":"page fault"}'),
    ]


def test_memset_and_graph(tmp_path):
    memset = {"start": 0, "end": 4, "bytes": 8, "memKind": 2, "value": 0, **PLACE}
    graph = {"start": 5, "end": 9, "graphId": 6, "graphExecId": 8, "correlationId": 3, **PLACE}
    tables = read(write(tmp_path / "a.sqlite", **{MEMSET: [memset], "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [graph]}))
    assert pick_columns(tables["gpu_slice"], "kind name dst_memory bytes graph_id correlation_id args") == [
        ("memset", "Memset (Device)", "device", 8, None, None, None),
        ("graph", "CUDA graph 6", None, None, 6, 3, '{"graph_exec_id":8}'),
    ]


@pytest.mark.parametrize("sync_type", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("stream", "event", "kind"),
    [
        (NO, NO, "context"),
        (7, NO, "stream"),
        (NO, 2, "event"),
        (7, 2, "stream_wait_event"),
        (-1, -1, "context"),
    ],
)
def test_synchronization_is_what_its_ids_say(tmp_path, sync_type, stream, event, kind):
    row = {"start": 1, "end": 3, **PLACE, "streamId": stream, "eventId": event, "syncType": sync_type}
    tables = read(write(tmp_path / "a.sqlite", **{SYNCHRONIZATION: [row]}))
    named = (None if stream in (NO, -1) else stream, None if event in (NO, -1) else event)
    assert pick_columns(tables["synchronization"], "kind stream event_id ts dur pid") == [(kind, *named, 1, 2, 111)]


def test_synchronization_type_counts_where_ids_are_missing(tmp_path):
    rows = [{"start": 1, "end": 3, "syncType": kind} for kind in (1, 4, 9)]
    tables = read(write(tmp_path / "a.sqlite", **{SYNCHRONIZATION: rows}))
    assert pick_columns(tables["synchronization"], "kind") == [("event",), ("context",), ("unknown",)]


def test_wait_finds_the_recording_of_its_process(tmp_path):
    other = global_id(0, pid=112)
    events = [
        {**PLACE, "streamId": 13, "eventId": 2, "eventSyncId": 5, "correlationId": 40, "timestamp": 0},
        {**PLACE, "streamId": 14, "eventId": 2, "eventSyncId": 5, "correlationId": 41, "globalPid": other},
    ]
    waits = [{"start": 1, "end": 2, **PLACE, "eventId": 2, "eventSyncId": n, "globalPid": other} for n in (5, 6)]
    tables = read(write(tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_CUDA_EVENT=events, **{SYNCHRONIZATION: waits}))
    assert pick_columns(tables["cuda_event"], "stream event_id event_sync_id ts pid") == [
        (13, 2, 5, None, 111),
        (14, 2, 5, None, 112),
    ]
    assert pick_columns(tables["synchronization"], "event_sync_id wait_on_stream wait_on_correlation_id") == [
        (5, 14, 41),
        (6, None, None),
    ]


GPU_INFO = {
    "vmId": 0,
    "name": "H100",
    "computeMajor": 9,
    "computeMinor": 0,
    "smCount": 132,
    "totalMemory": 80 << 30,
    "threadsPerWarp": 32,
    "maxWarpsPerSm": 64,
    "maxBlocksPerSm": 32,
    "maxRegistersPerSm": 65536,
    "maxShmemPerSm": 233472,
    "memoryBandwidth": 3_350_000_000_000,
}


def test_device_description(tmp_path):
    tables = read(write(tmp_path / "a.sqlite", TARGET_INFO_GPU=[{"id": 4, "cuDevice": 0, **GPU_INFO}]))
    columns = "device name compute_capability sm_count memory_bytes warp_size max_threads_per_sm max_blocks_per_sm"
    assert pick_columns(tables["device"], columns) == [(0, "H100", "9.0", 132, 80 << 30, 32, 2048, 32)]
    columns = "registers_per_sm shared_memory_per_sm memory_bandwidth source"
    assert pick_columns(tables["device"], columns) == [(65536, 233472, 3_350_000_000_000, "trace")]


@pytest.mark.parametrize("damaged", ["threadsPerWarp", "maxWarpsPerSm"])
def test_a_product_of_damaged_numbers_is_not_known(tmp_path, damaged):
    gpu = {"id": 4, "cuDevice": 0, **GPU_INFO, damaged: (1 << 63) - 1}
    tables = read(write(tmp_path / "a.sqlite", TARGET_INFO_GPU=[gpu]))
    assert pick_columns(tables["device"], "sm_count max_threads_per_sm") == [(132, None)]
    assert "value_out_of_range" in count_notes(tables)


@pytest.mark.parametrize("number", [-1, 1 << 31, (1 << 63) - 1, -(1 << 63)])
@pytest.mark.parametrize("column", ["pid", "cudaId", "gpuId"])
def test_numbers_that_no_gpu_or_process_has_tie_nothing(tmp_path, column, number):
    links = [{"pid": 7, "cudaId": 0, "gpuId": 4}, {"pid": 8, "cudaId": 0, "gpuId": 5, column: number}]
    gpus = [{"id": key, "cuDevice": None, **GPU_INFO} for key in (4, 5)]
    rows = {KERNEL: [make_kernel(0, 1, deviceId=0)], "TARGET_INFO_GPU": gpus, "TARGET_INFO_CUDA_DEVICE": links}
    tables = read(write(tmp_path / "a.sqlite", {1: "k"}, **rows))
    assert pick_columns(tables["device"], "device name") == [(0, "H100")]


def test_device_that_is_used_but_not_described(tmp_path):
    tables = read(write(tmp_path / "a.sqlite", {1: "k"}, **{KERNEL: [make_kernel(0, 1, deviceId=3)]}))
    assert pick_columns(tables["device"], "device name source") == [(3, None, "unknown")]


def test_ordinal_is_not_nsys_id(tmp_path):
    gpus = [{"id": 1, "cuDevice": 0, "name": "first"}, {"id": 0, "cuDevice": 1, "name": "second"}]
    tables = read(write(tmp_path / "a.sqlite", TARGET_INFO_GPU=gpus))
    assert pick_columns(tables["device"], "device name") == [(0, "first"), (1, "second")]


def test_visible_devices_are_counted_as_the_process_does(tmp_path):
    gpus = [{"id": n, "cuDevice": n, "name": f"gpu {n}"} for n in range(4)]
    links = [{"gpuId": 3, "cudaId": 0, "pid": 111}]
    tables = read(
        write(
            tmp_path / "a.sqlite",
            {1: "k"},
            TARGET_INFO_GPU=gpus,
            TARGET_INFO_CUDA_DEVICE=links,
            **{KERNEL: [make_kernel(0, 1)]},
        )
    )
    assert pick_columns(tables["device"], "device name") == [(0, "gpu 3")]
    assert pick_columns(tables["gpu_slice"], "device") == [(0,)]


def test_one_ordinal_for_two_gpus_is_taken_apart(tmp_path):
    gpus = [{"id": n, "cuDevice": n, "name": f"gpu {n}"} for n in range(2)]
    links = [{"gpuId": 0, "cudaId": 0, "pid": 111}, {"gpuId": 1, "cudaId": 0, "pid": 112}]
    kernels = [make_kernel(0, 1), make_kernel(0, 1, globalPid=global_id(0, pid=112))]
    tables = read(
        write(
            tmp_path / "a.sqlite",
            {1: "k"},
            TARGET_INFO_GPU=gpus,
            TARGET_INFO_CUDA_DEVICE=links,
            **{KERNEL: kernels},
        )
    )
    assert pick_columns(tables["gpu_slice"], "pid device") == [(111, 0), (112, 1)]
    assert pick_columns(tables["device"], "device name") == [(0, "gpu 0"), (1, "gpu 1")]
    assert count_notes(tables) == {"devices_renumbered": 2}


def test_devices_before_2021(tmp_path):
    row = {
        "deviceId": 0,
        "pid": 111,
        "pciBusId": "0000:01:00.0",
        "name": "V100",
        "computeCapabilityMajor": 7,
        "computeCapabilityMinor": 0,
        "numMultiprocessors": 80,
        "globalMemoryBandwidth": 898_048_000,
        "numThreadsPerWarp": 32,
        "maxWarpsPerMultiprocessor": 64,
    }
    tables = read(write(tmp_path / "a.sqlite", TARGET_INFO_CUDA_GPU=[row]))
    assert pick_columns(
        tables["device"], "device name compute_capability sm_count max_threads_per_sm memory_bandwidth"
    ) == [(0, "V100", "7.0", 80, 2048, 898_048_000_000)]


def test_slice_ids_are_unique_and_the_same_every_time(tmp_path):
    copies = [{"start": 5, "end": 6, "copyKind": 1, **PLACE}]
    waits = [{"start": 1, "end": 2, **PLACE, "eventId": NO}]
    path = write(
        tmp_path / "a.sqlite", {1: "k"}, **{KERNEL: [make_kernel(0, 1)], MEMCPY: copies, SYNCHRONIZATION: waits}
    )
    first, second = read(path), read(path)
    assert first == second
    assert [row["slice_id"] for row in (*first["gpu_slice"], *first["synchronization"])] == [0, 1, 2]
