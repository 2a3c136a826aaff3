"""Host tables of nsys exports: CUDA calls, OS calls, overhead, MPI, threads, counters, diagnostics."""

from __future__ import annotations

import hashlib
import json

import pytest
from nsys_export import GPID, KERNEL, RUNTIME, TID, count_notes, global_id, pick_columns, read, write

from traceq.importers.nsys.diagnostics import remove_private
from traceq.importers.nsys.threads import program_name


def make_call(start, end, name=1, **more):
    return {"start": start, "end": end, "globalTid": global_id(), "nameId": name, **more}


def test_runtime_and_driver_calls(tmp_path):
    calls = [
        make_call(0, 5, 1, eventClass=0, correlationId=7, returnValue=0),
        make_call(6, 8, 2, eventClass=1, correlationId=0, returnValue=2),
    ]
    names = {1: "cudaLaunchKernel_ptsz_v7000", 2: "cuMemAlloc_v2"}
    tables = read(write(tmp_path / "a.sqlite", names, **{RUNTIME: calls}))
    assert pick_columns(tables["cpu_slice"], "kind category name ts dur correlation_id thread_id args") == [
        ("runtime", "runtime", "cudaLaunchKernel", 0, 5, 7, 0, None),
        ("runtime", "driver", "cuMemAlloc_v2", 6, 2, None, 0, '{"return_value":2}'),
    ]
    assert pick_columns(tables["thread"], "thread_id pid tid process_name thread_name") == [(0, 111, TID, None, None)]


def test_suffixes_of_calls(tmp_path):
    names = ["cudaMalloc_v3020", "cuLaunchKernel_ptsz", "cuMemcpyHtoDAsync_v2_ptsz", "cuGetProcAddress_v2"]
    calls = [make_call(n, n + 1, n) for n in range(4)]
    tables = read(write(tmp_path / "a.sqlite", dict(enumerate(names)), **{RUNTIME: calls}))
    assert [row["name"] for row in tables["cpu_slice"]] == [
        "cudaMalloc",
        "cuLaunchKernel",
        "cuMemcpyHtoDAsync_v2",
        "cuGetProcAddress_v2",
    ]


def test_call_stack_rows_do_not_count_a_call_twice(tmp_path):
    calls = [make_call(0, 9, 1, eventClass=67, correlationId=7), make_call(1, 8, 2, eventClass=0, correlationId=7)]
    tables = read(write(tmp_path / "a.sqlite", {1: "cudaMalloc", 2: "cudaMalloc_v3020"}, **{RUNTIME: calls}))
    assert pick_columns(tables["cpu_slice"], "name ts") == [("cudaMalloc", 1)]
    assert count_notes(tables) == {"cuda_backtrace_not_imported": 1}


def test_os_calls_without_marks(tmp_path):
    calls = [
        make_call(0, 5, 1, eventClass=27, returnValue=64),
        {"start": 3, "end": 3, "globalTid": GPID, "nameId": 2, "eventClass": 31, "returnValue": 0},
    ]
    tables = read(write(tmp_path / "a.sqlite", {1: "read", 2: "[Unknown]"}, OSRT_API=calls))
    assert pick_columns(tables["cpu_slice"], "kind name args") == [("os", "read", '{"return_value":64}')]
    assert count_notes(tables) == {"os_mark_not_imported": 1}
    assert len(tables["thread"]) == 1


def test_overhead(tmp_path):
    old, new = make_call(0, 5, 1, returnValue=0), make_call(6, 8, 2, overheadType=7, correlationId=3)
    tables = read(
        write(
            tmp_path / "a.sqlite",
            {1: "Buffer flush", 2: "Lazy loading"},
            PROFILER_OVERHEAD=[old],
            CUPTI_ACTIVITY_KIND_OVERHEAD=[new],
        )
    )
    assert pick_columns(tables["cpu_slice"], "kind category name args") == [
        ("overhead", "profiler", "Buffer flush", None),
        ("overhead", "lazy_function_loading", "Lazy loading", '{"correlation_id":3}'),
    ]


def test_mpi(tmp_path):
    mpi = {"start": 0, "end": 9, "globalTid": global_id(), "textId": 1, "size": 64, "recvSize": 32, "rootRank": 0}
    ranks = [{"globalTid": global_id(), "rank": 3}]
    tables = read(write(tmp_path / "a.sqlite", {1: "MPI_Bcast"}, MPI_COLLECTIVES_EVENTS=[mpi], MPI_RANKS=ranks))
    assert pick_columns(tables["cpu_slice"], "kind category name dur") == [("annotation", "MPI", "MPI_Bcast", 9)]
    assert json.loads(tables["cpu_slice"][0]["args"]) == {"bytes": 64, "receive_bytes": 32, "root_rank": 0}
    assert pick_columns(tables["trace"], "rank world_size") == [(3, None)]


def test_threads_are_numbered_as_they_appear_and_named(tmp_path):
    calls = [
        make_call(0, 1),
        {**make_call(2, 3), "globalTid": global_id(9)},
        make_call(4, 5),
        {**make_call(6, 7), "globalTid": None},
    ]
    tables = read(
        write(
            tmp_path / "a.sqlite",
            {1: "cudaMalloc", 2: "pt_main_thread", 3: "stranger"},
            ThreadNames=[{"nameId": 2, "globalTid": global_id()}, {"nameId": 3, "globalTid": global_id(77)}],
            PROCESSES=[
                {"globalPid": GPID, "pid": 111, "name": "/home/me/bin/python3.11 train.py --token=abc"},
                {"globalPid": global_id(0, pid=5), "pid": 5, "name": "/usr/bin/private"},
            ],
            **{RUNTIME: calls},
        )
    )
    assert pick_columns(tables["cpu_slice"], "thread_id") == [(0,), (1,), (0,), (2,)]
    assert pick_columns(tables["thread"], "thread_id pid tid process_name thread_name") == [
        (0, 111, 222, "python3.11", "pt_main_thread"),
        (1, 111, 9, "python3.11", None),
        (2, None, None, None, None),
    ]


def test_program_name():
    names = [
        "/usr/bin/python3",
        "C:\\Program Files\\app.exe",
        "train.py --secret=/x/y",
        "kworker/0:1",
        "",
        "a/",
    ]
    assert [program_name(name) for name in names] == ["python3", "app.exe", "train.py", "0:1", None, None]


def test_gpu_metrics(tmp_path):
    kind = (1 << 56) + 1
    samples = [
        {"timestamp": 0, "typeId": kind, "metricId": 1, "value": 70},
        {"timestamp": 0, "typeId": kind, "metricId": 2, "value": 1500},
        {"timestamp": 5, "typeId": kind, "metricId": 9, "value": -3},
        {"timestamp": 5, "typeId": kind, "metricId": 1, "value": None},
    ]
    names = [
        {"typeId": kind, "metricId": 1, "metricName": "SMs Active [Throughput %]"},
        {"typeId": kind, "metricId": 2, "metricName": "GPC Clock Frequency [MHz]"},
    ]
    gpus = [{"id": 1, "cuDevice": 0, "name": "a"}, {"id": 0, "cuDevice": 1, "name": "b"}]
    tables = read(
        write(tmp_path / "a.sqlite", GPU_METRICS=samples, TARGET_INFO_GPU_METRICS=names, TARGET_INFO_GPU=gpus)
    )
    assert pick_columns(tables["counter"], "device name unit ts value") == [
        (0, "SMs Active [Throughput %]", "percent", 0, 70.0),
        (0, "GPC Clock Frequency [MHz]", "MHz", 0, 1500.0),
        (0, "metric 9", None, 5, -3.0),
    ]
    assert count_notes(tables) == {"no_value": 1, "negative_metric": 1}


def test_memory_events_become_running_totals(tmp_path):
    events = [
        {"start": at, "deviceId": device, "bytes": size, "memKind": kind, "memoryOperationType": release}
        for at, device, size, kind, release in [
            (9, 0, 100, 2, 1),
            (1, 0, 100, 2, 0),
            (2, 1, 10, 2, 0),
            (3, 0, 50, 2, 0),
            (4, 0, 7, 1, 0),
        ]
    ]
    tables = read(write(tmp_path / "a.sqlite", CUDA_GPU_MEMORY_USAGE_EVENTS=events))
    assert pick_columns(tables["counter"], "device name unit ts value") == [
        (0, "memory_allocated", "bytes", 1, 100.0),
        (0, "memory_allocated", "bytes", 3, 150.0),
        (0, "memory_allocated", "bytes", 9, 50.0),
        (0, "memory_allocated_pinned", "bytes", 4, 7.0),
        (1, "memory_allocated", "bytes", 2, 10.0),
    ]


@pytest.mark.parametrize("size", [-1, (1 << 50) + 1, (1 << 63) - 1])
def test_memory_that_no_machine_has_counts_as_none(tmp_path, size):
    events = [
        {"start": at, "deviceId": 0, "bytes": each, "memKind": 2, "memoryOperationType": 0}
        for at, each in ((1, 100), (2, size), (3, size), (4, None), (5, 10))
    ]
    tables = read(write(tmp_path / "a.sqlite", CUDA_GPU_MEMORY_USAGE_EVENTS=events))
    assert [row["value"] for row in tables["counter"]] == [100.0, 100.0, 100.0, 100.0, 110.0]
    assert count_notes(tables)["number_out_of_range"] == 2


def test_diagnostics(tmp_path):
    rows = [
        {"severity": 1, "text": "Profiling has started."},
        {"severity": 2, "text": "No NVTX events collected. Does the process use NVTX?"},
        {"severity": 2, "text": "No NVTX events collected. Does the process use NVTX?"},
        {"severity": 1, "text": "12 CUDA events were dropped, buffer /home/me/x.bin was full"},
        {"severity": 3, "text": "Failed to start: TOKEN=abc command line: python train.py --key 7"},
    ]
    tables = read(write(tmp_path / "a.sqlite", DIAGNOSTIC_EVENT=rows))
    assert pick_columns(tables["import_note"], "severity code count text") == [
        ("info", "nsys_warning", 2, "nsys: No NVTX events collected. Does the process use NVTX?"),
        ("error", "events_dropped", 1, "nsys: 12 CUDA events were dropped, buffer <path> was full"),
        ("error", "nsys_error", 1, "nsys: Failed to start: TOKEN=<removed> command line: <removed>"),
    ]


def test_scrubbing_of_windows_paths_and_line_breaks():
    assert remove_private("cannot open C:\\Users\\me\\a.log\n(see ~/notes/b)") == "cannot open <path> (see <path>)"


def test_every_table_that_is_not_read_is_counted(tmp_path):
    tables = read(
        write(
            tmp_path / "a.sqlite",
            my_own=[{"x": 1}],
            NET_IB_DEVICE_PORT_INFO=[{"guid": 0}, {"guid": 1}],
            ENUM_CUDA_MEMCPY_OPER=[{"id": 1}],
            META_DATA_CAPTURE=[{"name": "a", "value": "b"}],
        )
    )
    assert pick_columns(tables["import_note"], "severity code count text") == [
        ("info", "table_not_imported", count, f"Rows of {table}: traceq has no use for this table yet.")
        for table, count in [("my_own", 1), ("NET_IB_DEVICE_PORT_INFO", 2)]
    ]


def test_trace_row(tmp_path):
    capture = [
        {"name": "CAPTURE_EVENT_TYPE", "value": "NvtxEvents"},
        {"name": "CAPTURE_EVENT_TYPE", "value": "Cuda"},
        {"name": "CUDA_GRAPH_TRACE_OPTIONS:MODE", "value": "Graph"},
        {"name": "PROCESS_0:COMMAND", "value": "python secret.py"},
        {"name": "RUN_DURATION_MS", "value": "12; secret"},
    ]
    tables = read(
        write(
            tmp_path / "a.sqlite",
            META_DATA_EXPORT=[
                {"name": "EXPORT_PRODUCT_VERSION", "value": "2025.1.3.140"},
                {"name": "EXPORT_SCHEMA_VERSION", "value": "3.17.2"},
            ],
            META_DATA_CAPTURE=capture,
            TARGET_INFO_SESSION_START_TIME=[{"utcEpochNs": 17, "utcTime": "x"}],
            ANALYSIS_DETAILS=[{"duration": 154_000_000_000}, {"duration": "x"}, {"duration": -1}],
            TARGET_INFO_SYSTEM_ENV=[
                {"name": "Hostname", "value": "node7"},
                {"name": "DeviceEnvironment", "value": "TOKEN=1"},
            ],
        )
    )
    pseudonym = "host-" + hashlib.sha256(b"node7").hexdigest()[:8]
    columns = "producer producer_version schema_version host utc_origin_ns rank"
    assert pick_columns(tables["trace"], columns) == [("Nsight Systems", "2025.1.3.140", "3.17.2", pseudonym, 17, None)]
    assert json.loads(tables["trace"][0]["args"]) == {
        "captured": ["Cuda", "NvtxEvents"],
        "cuda_graph_trace_options_mode": "Graph",
        "recording": {"dur_ns": 154_000_000_000},
    }


@pytest.mark.parametrize(
    ("utc", "local", "zone"),
    [
        ("2025-06-29T16:21:21", "2025-06-29T21:51:21", 5.5),
        ("2023-10-04T04:13:59", "2023-10-03T21:13:59", -7),
        ("2025-12-06T07:51:16", "2025-12-06T07:51:17", 0),
        ("2025-12-06T07:51:16", "2025-12-07T07:51:16", None),
        ("2025-12-06T07:51:16", "2025-12-06T08:01:16", None),
        ("2025-12-06T07:51:16", None, None),
        ("x", "y", None),
    ],
)
def test_the_zone_of_the_machine(utc, local, zone, tmp_path):
    start = {"utcEpochNs": 17, "utcTime": utc, "localTime": local}
    tables = read(write(tmp_path / "a.sqlite", TARGET_INFO_SESSION_START_TIME=[start]))
    assert pick_columns(tables["trace"], "utc_zone_ns") == [(None if zone is None else round(zone * 3600 * 10**9),)]


def make_environment(**variables):
    return [{"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": f"{k}={v}"} for k, v in variables.items()]


def make_kernels(*pids):
    return [{"start": 0, "end": 1, "deviceId": 0, "globalPid": global_id(0, pid)} for pid in pids]


def test_rank_of_the_launcher_when_one_process_used_a_gpu(tmp_path):
    variables = make_environment(RANK="5", WORLD_SIZE="8", SOME_KEY="secret")
    tables = read(write(tmp_path / "a.sqlite", META_DATA_CAPTURE=variables, **{KERNEL: make_kernels(1, 1)}))
    assert pick_columns(tables["trace"], "rank world_size") == [(5, 8)]
    assert "secret" not in str(tables)


def test_no_rank_when_several_processes_used_gpus_or_numbers_are_odd(tmp_path):
    several = write(
        tmp_path / "a.sqlite", META_DATA_CAPTURE=make_environment(RANK=0, WORLD_SIZE=2), **{KERNEL: make_kernels(1, 2)}
    )
    odd = write(
        tmp_path / "b.sqlite", META_DATA_CAPTURE=make_environment(RANK=9, WORLD_SIZE=2), **{KERNEL: make_kernels(1)}
    )
    assert pick_columns(read(several)["trace"], "rank world_size") == [(None, None)]
    assert pick_columns(read(odd)["trace"], "rank world_size") == [(None, None)]
