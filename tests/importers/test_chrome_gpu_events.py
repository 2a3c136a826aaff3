"""What GPU events of a Chrome trace become: kernels, copies, synchronizations, collectives, other makers and eras."""

from __future__ import annotations

import json

import pytest
from chrome_trace import args_of, count_notes, make_event, make_kernel, make_op, pick_columns, tables_of


def rows_of(tmp_path, *events, table="gpu_slice", lost=0):
    """Rows of one table; the trace must give no note but that on values `lost` to their columns."""
    tables = tables_of(tmp_path, *events)
    assert count_notes(tables) == ({"number_out_of_range": lost} if lost else {})
    return tables[table]


def test_kernel_with_all_its_arguments(tmp_path):
    args = {"External id": 9, "queued": 0, "device": 2, "context": 1, "stream": 20, "correlation": 5}
    args |= {"registers per thread": 40, "shared memory": 1024, "blocks per SM": 0.5, "warps per SM": 2}
    args |= {"grid": [132, 2, 3], "block": [128, 4, 5], "est. achieved occupancy %": 6}
    (row,) = rows_of(tmp_path, make_kernel("gemm<float>", 5, 2.5, args, pid=2, tid=20))
    assert pick_columns([row], "kind name ts dur device context stream correlation_id external_id") == [
        ("kernel", "gemm<float>", 5_000, 2_500, 2, 1, 20, 5, 9)
    ]
    columns = "grid_x grid_y grid_z block_x block_y block_z registers_per_thread shared_memory graph_id"
    assert pick_columns([row], columns) == [(132, 2, 3, 128, 4, 5, 40, 1024, None)]
    kept = {"queued": 0, "blocks per SM": 0.5, "warps per SM": 2, "est. achieved occupancy %": 6}
    assert args_of(row) == kept


def test_kernel_without_arguments_stands_where_its_track_is(tmp_path):
    (row,) = rows_of(tmp_path, make_event("kernel", "k", 1, 1, pid=3, tid=7))
    assert pick_columns([row], "device stream context correlation_id grid_x args") == [(3, 7, None, None, None, None)]


def test_a_kernel_without_device_is_counted(tmp_path):
    tables = tables_of(tmp_path, make_event("kernel", "k", 1, 1, pid="GPU", tid=7), make_kernel("l", 2, 1))
    assert pick_columns(tables["gpu_slice"], "name") == [("l",)]
    assert count_notes(tables) == {"missing_device": 1}


def test_graph_ids(tmp_path):
    inside = make_kernel("k", 1, 1, {"graph id": 4, "graph node id": 7})
    outside = make_kernel("l", 2, 1, {"graph id": 0, "graph node id": 0})
    assert pick_columns(rows_of(tmp_path, inside, outside), "graph_id graph_node_id args") == [
        (4, 7, None),
        (None, None, None),
    ]


def test_nested_arguments_of_2026_are_kept(tmp_path):
    args = {"occupancy": {"limitingFactors": "REGS", "blockLimitRegs": 2}, "priority": 0, "channel": 3}
    (row,) = rows_of(tmp_path, make_kernel("k", 1, 1, args))
    assert args_of(row) == args


@pytest.mark.parametrize(
    ("column", "args"),
    [
        ("registers_per_thread", {"registers per thread": 1 << 40}),
        ("grid_x", {"grid": [1 << 40, 1, 1]}),
        ("block_x", {"block": ["128", 1, 1]}),
        ("correlation_id", {"correlation": "none"}),
    ],
)
def test_a_number_that_fits_no_column_is_kept_as_it_is(tmp_path, column, args):
    (row,) = rows_of(tmp_path, make_kernel("k", 1, 1, args), lost=1)
    assert (row[column], args_of(row)) == (None, args)


# ---- copies


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Memcpy HtoD (Pageable -> Device)", ("h2d", "pageable", "device")),
        ("Memcpy HtoD (Pinned -> Device)", ("h2d", "pinned", "device")),
        ("Memcpy DtoH (Device -> Pinned)", ("d2h", "device", "pinned")),
        ("CopyHostToDevice", ("h2d", None, None)),
        ("MEMORY_COPY_DEVICE_TO_HOST", ("d2h", None, None)),
        ("Memcpy DtoD (Device -> Device)", ("d2d", "device", "device")),
        ("Memcpy HtoH (Pinned -> Pageable)", ("h2h", "pinned", "pageable")),
        ("Memcpy PtoP (Device -> Device)", ("p2p", "device", "device")),
        ("Memcpy HtoA (Pageable -> Array)", ("h2d", "pageable", "array")),
        ("Memcpy DtoA (Device Static -> Array)", ("d2d", "device_static", "array")),
        ("Memcpy DtoD (Managed -> Managed Static)", ("d2d", "managed", "managed_static")),
        ("Memcpy DtoH (Device -> Unknown)", ("d2h", "device", None)),
        ("Memcpy HtoD (Host -> Device)", ("h2d", None, "device")),  # ROCm does not tell pinned from pageable
        ("Memcpy HtoD", ("h2d", None, None)),
        ("Memcpy", (None, None, None)),
    ],
)
def test_copies(tmp_path, name, expected):
    args = {"device": 0, "stream": 7, "correlation": 5, "bytes": 4096, "memory bandwidth (GB/s)": 2.5}
    (row,) = rows_of(tmp_path, make_event("gpu_memcpy", name, 1, 1, args, pid=0, tid=7))
    assert pick_columns([row], "copy_kind src_memory dst_memory") == [expected]
    assert pick_columns([row], "kind name bytes correlation_id") == [("memcpy", name, 4096, 5)]
    assert args_of(row) == {"memory bandwidth (GB/s)": 2.5}


def test_copy_between_devices(tmp_path):
    args = {"device": 0, "fromDevice": 0, "inDevice": 0, "toDevice": 1}
    (row,) = rows_of(tmp_path, make_event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 1, 1, args, pid=0, tid=7))
    assert pick_columns([row], "src_device dst_device") == [(0, 1)]
    assert args_of(row) == {"inDevice": 0}


@pytest.mark.parametrize(
    ("name", "memory"), [("Memset (Device)", "device"), ("Memset (Unknown)", None), ("Memset", None)]
)
def test_memsets(tmp_path, name, memory):
    event = make_event("gpu_memset", name, 1, 1, {"device": 0, "bytes": 64}, pid=0, tid=7)
    assert pick_columns(rows_of(tmp_path, event), "kind bytes dst_memory") == [("memset", 64, memory)]


# ---- annotations, synchronizations, events


def test_projected_annotations_are_no_gpu_activity(tmp_path):
    shadow = make_event("gpu_user_annotation", "forward", 1, 9, {"External id": 4}, pid=0, tid=7)
    tables = tables_of(tmp_path, make_kernel("k", 2, 1), shadow)
    assert pick_columns(tables["gpu_annotation"], "slice_id device stream name ts dur external_id") == [
        (1, 0, 7, "forward", 1_000, 9_000, 4)
    ]
    assert len(tables["gpu_slice"]) == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Event Sync", "event"),
        ("Stream Wait Event", "stream_wait_event"),
        ("Stream Sync", "stream"),
        ("Context Sync", "context"),
        ("Sync of tomorrow", "unknown"),
    ],
)
def test_synchronizations(tmp_path, name, kind):
    args = {"cuda_sync_kind": name, "stream": 20, "correlation": 5, "device": 1, "context": 1}
    rows = rows_of(tmp_path, make_event("cuda_sync", name, 1, 2, args, pid=1, tid=1_000_020), table="synchronization")
    columns = "kind device context stream ts dur correlation_id event_id"
    assert pick_columns(rows, columns) == [(kind, 1, 1, 20, 1_000, 2_000, 5, None)]


def test_what_a_stream_waits_for(tmp_path):
    args = {"device": 0, "stream": 7, "correlation": 5, "wait_on_stream": 20}
    args |= {"wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 77}
    unknown = {"device": 0, "stream": -1, "wait_on_stream": 4294967295, "wait_on_cuda_event_record_corr_id": -1}
    events = [make_event("cuda_sync", "Stream Wait Event", 1, 2, each, pid=0, tid=7) for each in (args, unknown)]
    columns = "stream wait_on_stream wait_on_correlation_id event_id"
    assert pick_columns(rows_of(tmp_path, *events, table="synchronization"), columns) == [
        (7, 20, 4, 77),
        (None, None, None, None),
    ]


def test_recordings_of_events(tmp_path):
    args = {"event_id": 77, "stream": 7, "correlation": 4, "device": 0, "context": 1}
    rows = rows_of(
        tmp_path, make_event("cuda_event", "cudaEventRecord", 3, 0.001, args, pid=0, tid=7), table="cuda_event"
    )
    assert pick_columns(rows, "slice_id device context stream ts correlation_id event_id") == [
        (0, 0, 1, 7, 3_000, 4, 77)
    ]


# ---- collectives

ALL_REDUCE = {
    "Collective name": "allreduce",
    "In msg nelems": 1000,
    "Out msg nelems": 1000,
    "Group size": 8,
    "dtype": "BFloat16",
    "Process Group Name": "0",
    "Process Group Ranks": "[0, 1, ...]",
    "Seq": 12,
}
COLLECTIVE = "slice_id external_id op bytes dtype in_elements out_elements group_name group_size sequence"


def test_a_collective_on_its_kernel(tmp_path):
    tables = tables_of(
        tmp_path, make_kernel("gemm", 1, 1), make_kernel("ncclKernel", 2, 1, ALL_REDUCE | {"External id": 3})
    )
    (row,) = tables["collective"]
    assert pick_columns([row], COLLECTIVE) == [(1, 3, "allreduce", 2000, "BFloat16", 1000, 1000, "0", 8, 12)]
    assert args_of(row)["Process Group Ranks"] == "[0, 1, ...]"


def test_a_collective_on_the_operator_that_asks_for_it(tmp_path):
    asked = make_op("record_param_comms", 1, 1, ALL_REDUCE | {"External id": 3, "Rank": 0})
    other = make_op("record_param_comms", 2, 1, {"External id": 4})
    tables = tables_of(tmp_path, make_op("c10d::allreduce_", 0, 5), asked, other)
    assert pick_columns(tables["collective"], COLLECTIVE) == [
        (1, 3, "allreduce", 2000, "BFloat16", 1000, 1000, "0", 8, 12)
    ]
    assert pick_columns(tables["cpu_slice"], "name external_id")[1] == ("record_param_comms", 3)


@pytest.mark.parametrize(
    ("dtype", "elements", "size"),
    [
        ("Float", (10, 80), 320),
        ("Half", (80, 10), 160),
        ("Float8_e4m3fn", (8, 8), 8),
        ("Long", (2, 2), 16),
        ("Martian", (2, 2), None),
        ("Float", (None, None), None),
        ("Float", (5, None), 20),
    ],
)
def test_message_size(tmp_path, dtype, elements, size):
    args = ALL_REDUCE | {"dtype": dtype, "In msg nelems": elements[0], "Out msg nelems": elements[1]}
    assert pick_columns(rows_of(tmp_path, make_kernel("k", 1, 1, args), table="collective"), "bytes") == [(size,)]


def test_damaged_collective_keeps_what_fits(tmp_path):
    args = {"Collective name": "send", "Group size": 1 << 40, "In msg nelems": "10", "dtype": 5}
    (row,) = rows_of(tmp_path, make_kernel("k", 1, 1, args), table="collective", lost=2)
    assert pick_columns([row], "op group_size in_elements dtype") == [("send", None, 10, None)]
    assert {"Group size": 1 << 40, "dtype": 5}.items() <= args_of(row).items()


# ---- other eras and makers


def test_capitalised_categories_and_text_tids_of_2021(tmp_path):
    events = [
        make_event("Operator", "ProfilerStep#1", 0, 90, {"External id": 1, "Trace iteration": 0}, tid="100"),
        make_event("Operator", "aten::mm", 1, 9, {"External id": 2}, tid="100"),
        make_event("Operator", "Optimizer.step#SGD.step", 20, 9, tid="100"),
        make_event("Operator", "enumerate(DataLoader)#_Single.__next__", 30, 9, tid="100"),
        make_event("Runtime", "cudaLaunchKernel", 2, 3, {"external id": 2, "correlation": 5}, tid="100"),
        make_event("Kernel", "gemm", 9, 3, {"external id": 2, "correlation": 5, "device": 0}, pid=0, tid="stream 7"),
        make_event("Memcpy", "Memcpy HtoD (Pageable -> Device)", 4, 1, {"device": 0}, pid=0, tid="stream 20"),
        make_event("Memset", "Memset (Device)", 5, 1, {"device": 0}, pid=0, tid="stream 7"),
    ]
    arrows = [make_event("async", "launch", 2, None, ph=phase, id=5, tid=100) for phase in "sf"]
    tables = tables_of(tmp_path, *events, *arrows)
    host = sorted(tables["cpu_slice"], key=lambda row: row["slice_id"])
    assert pick_columns(host, "kind name external_id correlation_id") == [
        ("annotation", "ProfilerStep#1", 1, None),
        ("op", "aten::mm", 2, None),
        ("annotation", "Optimizer.step#SGD.step", None, None),
        ("annotation", "enumerate(DataLoader)#_Single.__next__", None, None),
        ("runtime", "cudaLaunchKernel", 2, 5),
    ]
    assert pick_columns(tables["gpu_slice"], "kind stream external_id correlation_id") == [
        ("kernel", 7, 2, 5),
        ("memcpy", 20, None, None),
        ("memset", 7, None, None),
    ]
    assert pick_columns(tables["thread"], "pid tid thread_name") == [(100, 100, None)]
    assert count_notes(tables) == {"flow_not_stored": 2}


def test_rocm(tmp_path):
    call = {"cid": 112, "correlation": 5, "kernel": "gemm", "grid": "[4, 1, 1]", "block": "[64, 1, 1]"}
    work = {"device": 4, "stream": 0, "hsa_queue": 2, "correlation": 5, "kind": "Dispatch Kernel"}
    events = [
        make_event("cuda_runtime", "hipLaunchKernel", 1, 2, call),
        make_event("kernel", "gemm", 5, 3, work | {"grid": [4, 1, 1], "block": [64, 1, 1]}, pid=4, tid=0),
        make_event(
            "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 2, 1, work | {"kind": "HtoD", "bytes": 8}, pid=4, tid=0
        ),
    ]
    tables = tables_of(tmp_path, *events)
    assert pick_columns(tables["cpu_slice"], "kind name correlation_id") == [("runtime", "hipLaunchKernel", 5)]
    assert args_of(tables["cpu_slice"][0]) == {key: value for key, value in call.items() if key != "correlation"}
    assert pick_columns(
        tables["gpu_slice"], "kind device stream grid_x block_x registers_per_thread bytes copy_kind"
    ) == [
        ("kernel", 4, 0, 4, 64, None, None, None),
        ("memcpy", 4, 0, None, None, None, 8, "h2d"),
    ]
    assert args_of(tables["gpu_slice"][0]) == {"hsa_queue": 2, "kind": "Dispatch Kernel"}


def test_jax(tmp_path):
    events = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "Stream #118(MemcpyD2H)"}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2.25, "name": "fusion.1", "args": {"hlo_op": "fusion.1"}},
    ]
    tables = tables_of(tmp_path, *events, "{}")
    assert pick_columns(tables["cpu_slice"], "kind category name ts dur") == [("other", None, "fusion.1", 1_500, 2_250)]
    assert pick_columns(tables["thread"], "process_name thread_name") == [("device:GPU:0", "Stream #118(MemcpyD2H)")]
    assert count_notes(tables) == {"empty_event": 1, "jax_not_measured": 1}


def test_a_second_stream_of_an_annotated_graph_is_the_lane_it_is_drawn_on(tmp_path):
    """Kernels of annotated graphs name their region, and "stream" twice (pytorch#194854)."""
    event = make_kernel("gemm", 1, 1, {"stream": 7, "graph node id": 5, "name": "attention", "lane": 62})
    tables = tables_of(tmp_path, json.dumps(event).replace('"lane"', '"stream"'))
    (row,) = tables["gpu_slice"]
    assert (row["stream"], args_of(row)) == (7, {"name": "attention", "lane": 62})
    assert count_notes(tables) == {"duplicate_key": 1}
