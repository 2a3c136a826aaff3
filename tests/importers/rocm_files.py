"""Made-up files of ROCm's profilers: a process with two GPU agents, some dispatches, copies, calls and ranges of roctx."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

GPUS = (
    {"product_name": "AMD Instinct MI250X", "cu_count": 110, "name": "gfx90a"},
    {"product_name": "AMD Instinct MI250X", "cu_count": 110, "name": "gfx90a"},
)
_LIMITS = {
    "wave_front_size": 64,
    "max_waves_per_cu": 32,
    "lds_size_in_kb": 64,
    "mem_banks": [{"size_in_bytes": 64 << 30}],
}

_KINDS = {
    "HIP_RUNTIME_API": ["hipLaunchKernel", "hipMemcpyAsync", "hipDeviceSynchronize"],
    "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_DEVICE"],
    "KERNEL_DISPATCH": ["KERNEL_DISPATCH_COMPLETE"],
    "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA", "roctxGetThreadId"],
    "RCCL_API": ["ncclAllReduce"],
}
CPU_HANDLE, FIRST_GPU = 10, 11


def make_rocprofv3(**changes):
    """The document that rocprofv3 writes as JSON; `changes` replace lists of records."""
    agents = [{"id": {"handle": CPU_HANDLE}, "type": 1, "logical_node_type_id": 0}]
    agents += [
        {"id": {"handle": FIRST_GPU + n}, "type": 2, "logical_node_type_id": n, "runtime_visibility": {"hip": 1}}
        | gpu
        | _LIMITS
        for n, gpu in enumerate(GPUS)
    ]
    records = {
        "kernel_dispatch": [make_dispatch(200, 300, correlation=2), make_dispatch(500, 650, gpu=1, correlation=3)],
        "memory_copy": [make_copy("MEMORY_COPY_HOST_TO_DEVICE", 120, 180, CPU_HANDLE, FIRST_GPU, correlation=1)],
        "hip_api": [
            make_call("hipMemcpyAsync", 100, 110, correlation=1),
            make_call("hipLaunchKernel", 150, 160, correlation=2),
            make_call("hipLaunchKernel", 170, 180, correlation=3),
            make_call("hipDeviceSynchronize", 200, 700, correlation=4),
        ],
        "marker_api": [make_call("roctxThreadRangeA", 90, 720, correlation=9, kind="MARKER_CORE_RANGE_API")],
    }
    tool = {
        "metadata": {
            "pid": 4711,
            "node": {"hostname": "private-name"},
            "command": ["/home/private/python3", "--token=secret"],
        },
        "agents": agents,
        "strings": {
            "buffer_records": [{"kind": kind, "operations": names} for kind, names in _KINDS.items()],
            "marker_api": [{"key": 9, "value": "traceq.step#0"}],
        },
        "kernel_symbols": [
            {
                "kernel_id": 5,
                "kernel_name": "_Z4gemmv.kd",
                "formatted_kernel_name": "gemm() [clone .kd]",
                "arch_vgpr_count": 96,
                "accum_vgpr_count": 32,
            }
        ],
        "buffer_records": records | changes,
    }
    return {"rocprofiler-sdk-tool": [tool]}


def make_dispatch(start, end, gpu=0, kernel=5, correlation=0, **more):
    info = {
        "agent_id": {"handle": FIRST_GPU + gpu},
        "queue_id": {"handle": 3},
        "kernel_id": kernel,
        "group_segment_size": 1024,
        "workgroup_size": {"x": 256, "y": 1, "z": 1},
        "grid_size": {"x": 1000, "y": 4, "z": 1},
    }
    return _record(start, end, correlation) | {"dispatch_info": info, "stream_id": {"handle": 7}} | more


def make_copy(name, start, end, source, target, correlation=0):
    numbers = {"kind": list(_KINDS).index("MEMORY_COPY"), "operation": _KINDS["MEMORY_COPY"].index(name)}
    agents = {"src_agent_id": {"handle": source}, "dst_agent_id": {"handle": target}}
    return _record(start, end, correlation) | numbers | agents | {"bytes": 4096, "stream_id": {"handle": 7}}


def make_call(name, start, end, correlation=0, kind="HIP_RUNTIME_API", thread=4712):
    numbers = {"kind": list(_KINDS).index(kind), "operation": _KINDS[kind].index(name)}
    return _record(start, end, correlation) | numbers | {"thread_id": thread}


def _record(start, end, correlation):
    return {
        "start_timestamp": start,
        "end_timestamp": end,
        "correlation_id": {"internal": correlation, "external": 0},
    }


def write_file(path, document):
    path.write_text(json.dumps(document), "utf-8")
    return path


def write_rocpd(path, *suffixes):
    """The same process as a rocpd database; with several suffixes as many processes, as merged files have them."""
    with closing(sqlite3.connect(path)) as connection:
        for suffix in suffixes or ("_0000a1b2_0c3d",):
            connection.executescript(_ROCPD.replace("{}", suffix))
        connection.commit()
    return path


_ROCPD = """
create table rocpd_metadata{} (id integer primary key, tag text, value text);
create table rocpd_string{} (id integer primary key, guid text, string text);
insert into rocpd_string{} values (1, '', 'HIP_RUNTIME_API_EXT'), (2, '', 'hipLaunchKernel'),
    (3, '', 'MEMORY_COPY_HOST_TO_DEVICE'),
    (4, '', 'MARKER_CORE_RANGE_API'), (5, '', 'roctxThreadRangeA'), (6, '', 'roctxProcessRangeA'), (7, '', 'RCCL_API'),
    (8, '', 'ncclAllReduce'), (9, '', 'hipMemcpyAsync'), (10, '', 'MEMORY_COPY'), (11, '', 'KERNEL_DISPATCH');
create table rocpd_info_node{} (id integer primary key, guid text, hostname text);
insert into rocpd_info_node{} values (1, '', 'private-name');
create table rocpd_info_process{} (id integer primary key, guid text, nid integer, pid integer, command text, environment text);
insert into rocpd_info_process{} values (4711, '', 1, 4711, '/home/private/train --token=secret',
    '{"RANK": "3", "WORLD_SIZE": "8", "TOKEN": "secret"}');
create table rocpd_info_thread{} (id integer primary key, guid text, pid integer, tid integer);
insert into rocpd_info_thread{} values (4712, '', 4711, 4712);
create table rocpd_info_agent{} (id integer primary key, guid text, nid integer, type text, type_index integer, name text,
    product_name text, extdata text);
insert into rocpd_info_agent{} values (0, '', 1, 'CPU', 0, 'a CPU', 'a CPU', '{}'),
    (1, '', 1, 'GPU', 0, 'gfx942', 'AMD Instinct MI300X', '{"cu_count": 304, "wave_front_size": 64}'),
    (2, '', 1, 'GPU', 1, 'gfx942', 'AMD Instinct MI300X', 'no JSON');
create table rocpd_info_kernel_symbol{} (id integer primary key, guid text, kernel_name text, display_name text,
    arch_vgpr_count integer, accum_vgpr_count integer);
insert into rocpd_info_kernel_symbol{} values (5, '', '_Z4gemmv.kd', 'gemm()', 96, 32);
create table rocpd_event{} (id integer primary key, guid text, category_id integer, stack_id integer, correlation_id integer,
    extdata text);
insert into rocpd_event{} values (1, '', 1, 21, 0, '{}'), (2, '', 11, 21, 0, '{}'),
    (3, '', 4, 30, 0, '{"message": "traceq.step#0"}'),
    (4, '', 4, 31, 0, '{"message": "elsewhere"}'), (5, '', 7, 32, 0, '{}'), (6, '', 1, 22, 0, '{}'), (7, '', 10, 22, 0, '{}');
create table rocpd_region{} (id integer primary key, guid text, nid integer, pid integer, tid integer, start bigint, "end" bigint,
    name_id integer, event_id integer);
insert into rocpd_region{} values (1, '', 1, 4711, 4712, 100, 110, 2, 1), (2, '', 1, 4711, 4712, 90, 700, 5, 3),
    (3, '', 1, 4711, 4712, 95, 800, 6, 4), (4, '', 1, 4711, 4712, 400, 420, 8, 5), (5, '', 1, 4711, 4712, 115, 118, 9, 6);
create table rocpd_kernel_dispatch{} (id integer primary key, guid text, nid integer, pid integer, tid integer, agent_id integer,
    kernel_id integer, queue_id integer, stream_id integer, start bigint, "end" bigint, group_segment_size integer,
    workgroup_size_x integer, workgroup_size_y integer, workgroup_size_z integer,
    grid_size_x integer, grid_size_y integer, grid_size_z integer, event_id integer);
insert into rocpd_kernel_dispatch{} values (1, '', 1, 4711, 4712, 2, 5, 1, 7, 200, 300, 1024, 256, 1, 1, 1000, 4, 1, 2);
create table rocpd_memory_copy{} (id integer primary key, guid text, nid integer, pid integer, tid integer,
    start bigint, "end" bigint, name_id integer, dst_agent_id integer, src_agent_id integer,
    size integer, stream_id integer, event_id integer);
insert into rocpd_memory_copy{} values (1, '', 1, 4711, 4712, 130, 190, 3, 2, 0, 4096, 7, 7);
create table rocpd_memory_allocate{} (id integer primary key, guid text, start bigint, "end" bigint);
insert into rocpd_memory_allocate{} values (1, '', 1, 2), (2, '', 3, 4);
"""


def write_rpd(path):
    """An RPD database: a kernel, a copy, a fill, their calls, a marker, and a call of the tool itself."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_RPD)
        connection.commit()
    return path


_RPD = """
create table rocpd_string (id integer primary key, string varchar);
insert into rocpd_string values (1, ''), (2, 'hipLaunchKernel'), (3, 'gemm()'), (4, 'KernelExecution'), (5, 'CopyDeviceToHost'),
    (6, 'FillBuffer'), (7, 'hipMemcpyWithStream'), (8, 'hipMemsetAsync'), (9, 'UserMarker'), (10, 'traceq.step#0'),
    (11, 'OpTable::writeRows');
create table rocpd_op (id integer primary key, gpuId integer, queueId integer, start integer, "end" integer,
    description_id integer, opType_id integer);
insert into rocpd_op values (1, 2, 0, 200, 300, 3, 4), (2, 2, 0, 310, 330, 1, 5), (3, 2, 1, 340, 350, 1, 6);
create table rocpd_api (id integer primary key, pid integer, tid integer, start integer, "end" integer, apiName_id integer,
    args_id integer);
insert into rocpd_api values (1, 4711, 4712, 100, 110, 2, 1), (2, 4711, 4712, 120, 335, 7, 1), (3, 4711, 4712, 336, 337, 8, 1),
    (4, 4711, 4712, 90, 400, 9, 10), (2147483649, 4711, 4713, 500, 510, 11, 1);
create table rocpd_api_ops (id integer primary key, api_id integer, op_id integer);
insert into rocpd_api_ops values (1, 1, 1), (2, 2, 2), (3, 3, 3);
create table rocpd_kernelapi (api_ptr_id integer primary key, gridX integer, gridY integer, gridZ integer, workgroupX integer,
    workgroupY integer, workgroupZ integer, groupSegmentSize integer);
insert into rocpd_kernelapi values (1, 1000, 4, 1, 256, 1, 1, 1024);
create table rocpd_copyapi (api_ptr_id integer primary key, size integer);
insert into rocpd_copyapi values (2, 4096);
create table rocpd_monitor (id integer primary key, value varchar);
insert into rocpd_monitor values (1, '800');
"""


def rpd_json(path):
    """A Chrome trace as rpd2tracing.py writes it: a GPU's process, two calls and what they cause, and a range of roctx."""
    gpu, process = {"pid": "2", "tid": "0"}, {"pid": "77", "tid": "78"}
    events = [
        {},
        {"name": "process_name", "ph": "M", "pid": "2", "args": {"name": "GPU2"}},
        {"name": "thread_name", "ph": "M", **process, "args": {"name": "Hip 78"}},
        {**gpu, "name": "CopyHostToDevice", "ts": "120", "dur": "60", "ph": "X", "args": {"desc": "CopyHostToDevice"}},
        {**gpu, "name": "gemm()", "ts": "200", "dur": "100", "ph": "X", "args": {"desc": "KernelExecution"}},
        {**gpu, "name": "FillBuffer", "ts": "320", "dur": "5", "ph": "X", "args": {"desc": "FillBuffer"}},
        {**process, "name": "UserMarker", "ts": "90", "dur": "300", "ph": "X", "args": {"desc": "forward"}},
        {**process, "name": "hipMemcpyWithStream", "ts": "100", "dur": "85", "ph": "X", "args": {"desc": ""}},
        {**process, "name": "hipLaunchKernel", "ts": "190", "dur": "6", "ph": "X", "args": {"desc": ""}},
        {**process, "cat": "api_op", "name": "api_op", "ts": "120", "id": "1", "ph": "s"},
        {**gpu, "cat": "api_op", "name": "api_op", "ts": "120", "id": "1", "ph": "f", "bp": "e"},
        {**process, "cat": "api_op", "name": "api_op", "ts": "192", "id": "2", "ph": "s"},
        {**gpu, "cat": "api_op", "name": "api_op", "ts": "200", "id": "2", "ph": "f", "bp": "e"},
        {"pid": "2", "name": "QueueDepth", "ph": "C", "ts": 100, "args": {"depth": 1}},
        {**process, "name": "lost", "ts": "", "dur": "6", "ph": "X", "args": {"desc": ""}},
    ]
    path.write_text("[ {}\n," + "\n,".join(json.dumps(each) for each in events[1:]) + "\n]\n")
    return path
