"""Processes of nsys exports that share a process id: of containers or virtual machines of their own."""

from __future__ import annotations

from nsys_export import KERNEL, RUNTIME, SYNCHRONIZATION, count_notes, pick_columns, read, write

import traceq

FIRST, SECOND = 1 << 48 | 7 << 24, 2 << 48 | 7 << 24
SECOND_PID = 7 + (1 << 24)


def make_kernel(start, end, process, **more):
    ids = {"contextId": 1, "streamId": 7, "correlationId": 1, "globalPid": process, "demangledName": 2}
    return {"start": start, "end": end, "deviceId": 0, **ids, **more}


def make_call(start, process):
    return {"start": start, "end": start + 5, "globalTid": process | 7, "correlationId": 1, "nameId": 1}


def write_two(path, **tables):
    kernels = [make_kernel(100, 200, FIRST), make_kernel(3_000, 3_100, SECOND, deviceId=1)]
    calls = [make_call(90, FIRST), make_call(2_990, SECOND)]
    return write(
        path, {1: "cudaLaunchKernel", 2: "gemm", 3: "A", 4: "B"}, **{KERNEL: kernels, RUNTIME: calls}, **tables
    )


def test_kernels_join_with_calls_of_their_own_process(tmp_path):
    with traceq.open(write_two(tmp_path / "a.sqlite")) as trace:
        rows = trace.sql(
            "select g.device, g.pid, t.thread_id, g.ts - c.ts from gpu_slice as g join cpu_slice as c on c.slice_id = g.launch_id"
            " join thread as t using (thread_id) order by all"
        ).fetchall()
    assert rows == [(0, 7, 0, 10), (1, SECOND_PID, 1, 10)]


def test_second_process_is_called_otherwise_and_noted(tmp_path):
    names = [{"globalPid": FIRST, "name": "/bin/one"}, {"globalPid": SECOND, "name": "/bin/two"}]
    tables = read(write_two(tmp_path / "a.sqlite", PROCESSES=names))
    assert pick_columns(tables["thread"], "pid tid process_name") == [(7, 7, "one"), (SECOND_PID, 7, "two")]
    assert count_notes(tables) == {"process_ids_shared": 1}


def test_hardware_id_tells_processes_apart(tmp_path):
    kernels = [make_kernel(0, 1, FIRST), make_kernel(2, 3, FIRST | 1 << 56), make_kernel(4, 5, FIRST | -1 << 63)]
    tables = read(write(tmp_path / "a.sqlite", {2: "gemm"}, **{KERNEL: kernels}))
    assert [row["pid"] for row in tables["gpu_slice"]] == [7, 7 + (1 << 24), 7 + (2 << 24)]
    assert count_notes(tables)["process_ids_shared"] == 2


def test_domains_of_ranges_are_of_their_process(tmp_path):
    ranges = [
        {"start": 0, "end": 0, "eventType": 75, "globalTid": process | 7, "domainId": 1, "textId": name}
        for process, name in ((FIRST, 3), (SECOND, 4))
    ] + [
        {"start": 5, "end": 6, "eventType": 59, "globalTid": process | 7, "domainId": 1, "textId": 2}
        for process in (SECOND, FIRST)
    ]
    tables = read(write(tmp_path / "a.sqlite", {2: "step", 3: "A", 4: "B"}, NVTX_EVENTS=ranges))
    assert pick_columns(tables["cpu_slice"], "thread_id category") == [(0, "B"), (1, "A")]


def test_waits_name_recordings_of_their_process(tmp_path):
    events = [
        {"timestamp": 0, "correlationId": 10 + number, "streamId": 20 + number, "globalPid": process, "eventSyncId": 1}
        for number, process in enumerate((FIRST, SECOND))
    ]
    waits = [
        {"start": 5, "end": 6, "globalPid": process, "syncType": 1, "eventSyncId": 1} for process in (SECOND, FIRST)
    ]
    tables = read(write(tmp_path / "a.sqlite", CUPTI_ACTIVITY_KIND_CUDA_EVENT=events, **{SYNCHRONIZATION: waits}))
    assert pick_columns(tables["synchronization"], "wait_on_stream wait_on_correlation_id") == [(21, 11), (20, 10)]


def test_gpus_of_processes_with_one_id_are_not_mixed(tmp_path):
    kernels = [make_kernel(100, 200, FIRST), make_kernel(150, 250, SECOND)]
    devices = [{"gpuId": 0, "cudaId": 0, "pid": 7}, {"gpuId": 1, "cudaId": 0, "pid": 7}]
    tables = read(write(tmp_path / "a.sqlite", {2: "gemm"}, TARGET_INFO_CUDA_DEVICE=devices, **{KERNEL: kernels}))
    assert [row["device"] for row in tables["gpu_slice"]] == [0, 1]
    assert count_notes(tables) == {"devices_renumbered": 2, "device_unclear": 1, "process_ids_shared": 1}


def test_accesses_of_a_shared_process_id_name_no_thread(tmp_path):
    accesses = [{"fileAccessId": 1, "threadId": 7, "startedAt": 0, "endedAt": 5}]
    files = [{"fileAccessId": 1, "processId": 7, "filePath": "a"}]
    tables = read(
        write_two(tmp_path / "a.sqlite", OSRT_FILE_ACCESS_EVENTS=accesses, OSRT_FILE_ACCESS_DESCRIPTORS=files)
    )
    (access,) = tables["file_access"]
    assert [row["pid"] for row in tables["thread"] if row["thread_id"] == access["thread_id"]] == [None]
    assert count_notes(tables) == {"process_ids_shared": 1, "thread_unclear": 1}
