"""XSpaces of JAX: what is read from them, and what is said of damaged ones."""

from __future__ import annotations

import gzip
import json

import pytest
from xspace import Ref, make_field, make_plane, make_space

import traceq
from traceq.app.ingest import ingest
from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers import find, sniff, xplane
from traceq.importers.xplane.wire import DamagedMessage, read_fields, to_double, to_signed

NVIDIA = {
    "device_vendor": "Nvidia",
    "core_count": 132,
    "memory_size": 80 << 30,
    "memory_bandwidth": 3_352_000_000_000,
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
}
MI300X = {
    "device_vendor": "AMD",
    "core_count": 304,
    "memory_size": 206_141_652_992,
    "memory_bandwidth": 2_662_400_000_000,
    "compute_cap_major": 9,
    "compute_cap_minor": 4,
}
KERNEL = {
    "correlation_id": 7,
    "kernel_details": Ref("regs:32 static_shared:16 dynamic_shared:8 grid:4,2,1 block:128,1,1 occ_pct:50.0"),
    "hlo_op": Ref("fusion.1"),
    "hlo_module": Ref("jit_f"),
}
METADATA = make_plane("/host:metadata", {})
# us -> ps
US = 1_000_000


def write_file(path, *planes):
    path.write_bytes(make_space(*planes))
    return path


def list_tables(path):
    found = {}
    for table, batch in xplane.read(path):
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


def choose_columns(rows, *columns):
    return [tuple(row.get(column) for column in columns) for row in rows]


def make_gpu(events, line="Stream #13(Compute)", stats=NVIDIA, number=0):
    return make_plane(f"/device:GPU:{number}", {(13, line): events}, number, stats)


def make_host(events, thread=(99, "python/99")):
    return make_plane("/host:CPU", {thread: events})


@pytest.mark.parametrize(
    "first",
    [METADATA, make_gpu([]), make_host([]), make_plane("/device:TPU:0", {}), make_plane("Task Environment", {})],
)
def test_a_space_is_recognised_by_its_first_plane(tmp_path, first):
    path = write_file(tmp_path / "named.anyhow", first)
    assert sniff(path) is xplane
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert sniff(path) is xplane


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\n\x05hello", make_field(1, make_field(2, "a plane")), b"\n" + b"\xff" * 40]
)
def test_other_bytes_are_none(tmp_path, content):
    path = tmp_path / "a.pb"
    path.write_bytes(content)
    assert sniff(path) is None
    with pytest.raises((UnknownFormat, UnusableTrace)):
        find(path)


def test_kernels_with_their_geometry(tmp_path):
    found = list_tables(write_file(tmp_path / "a.pb", METADATA, make_gpu([("gemm.kd", 5 * US + 999, 2 * US, KERNEL)])))
    (row,) = found["gpu_slice"]
    assert json.loads(row.pop("args")) == {"hlo_op": "fusion.1", "hlo_module": "jit_f"}
    assert {key: value for key, value in row.items() if value is not None} == {
        "slice_id": 0,
        "kind": "kernel",
        "name": "gemm",
        "ts": 6000,  # picoseconds are rounded down
        "dur": 2000,
        "device": 0,
        "stream": 13,
        "correlation_id": 7,
        "grid_x": 4,
        "grid_y": 2,
        "grid_z": 1,
        "block_x": 128,
        "block_y": 1,
        "block_z": 1,
        "registers_per_thread": 32,
        "shared_memory": 24,
        "static_shared_memory": 16,
        "dynamic_shared_memory": 8,
    }


def test_kernels_of_amd(tmp_path):
    details = {"kernel_details": " grid:219,40,1 block:256,1,1 private_mem:0 group_mem:49280 occ_pct:0"}
    found = list_tables(write_file(tmp_path / "a.pb", make_gpu([("k", 0, US, details)], "Stream #16(Kernel)", MI300X)))
    assert choose_columns(
        found["gpu_slice"], "grid_x", "grid_y", "block_x", "shared_memory", "registers_per_thread"
    ) == [(219, 40, 256, 49280, None)]
    assert choose_columns(
        found["device"], "name", "compute_capability", "sm_count", "memory_bandwidth", "warp_size"
    ) == [("AMD Instinct MI300X", None, 304, None, 64)]


def test_a_gpu_that_could_be_several_models_has_the_name_of_its_maker(tmp_path):
    stats = MI300X | {"core_count": 104, "memory_size": 64 << 30, "compute_cap_minor": 0}
    found = list_tables(write_file(tmp_path / "a.pb", make_gpu([("k", 0, US)], stats=stats)))
    assert choose_columns(found["device"], "name", "warp_size") == [("AMD", None)]


def test_copies_and_fills(tmp_path):
    copies = [
        ("MemcpyH2D", 0, US, {"memcpy_details": "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}),
        ("MemcpyP2P", 2 * US, US, {"memcpy_details": "kind_src:device kind_dst:device size:8 dest:1 async:1"}),
        ("Memset", 4 * US, US, {"memset_details": "kind:device size:64 async:1"}),
    ]
    found = list_tables(write_file(tmp_path / "a.pb", make_gpu(copies, "Stream #14(MemcpyH2D,Memset)")))["gpu_slice"]
    assert choose_columns(found, "kind", "name", "copy_kind", "src_memory", "dst_memory", "bytes", "stream") == [
        ("memcpy", "Memcpy HtoD (Pageable -> Device)", "h2d", "pageable", "device", 4096, 14),
        ("memcpy", "Memcpy PtoP (Device -> Device)", "p2p", "device", "device", 8, 14),
        ("memset", "Memset (Device)", None, None, "device", 64, 14),
    ]


def test_what_threads_did(tmp_path):
    events = [
        ("PjitFunction(f)", 0, 50 * US),
        ("PjitFunction(f)", US, 48 * US),
        ("$api.py:3154 block_until_ready", 60 * US, 30 * US),
        ("$builtins len", 61 * US, US),
        ("train", 100 * US, 9 * US, {"step_num": 5, "_r": 1}),
    ]
    calls = [("cuLaunchKernel", 10 * US, US, {"correlation_id": 7, "device_id": 0})]
    found = list_tables(write_file(tmp_path / "a.pb", make_host(events), make_host(calls, (583, "Host Threads/583"))))
    assert choose_columns(found["cpu_slice"], "thread_id", "kind", "name", "ts", "dur", "correlation_id") == [
        (0, "annotation", "PjitFunction(f)", 1000, 50_000, None),
        (0, "other", "PjitFunction(f)", 2000, 48_000, None),  # the same call, once more
        (0, "python", "api.py(3154): block_until_ready", 61_000, 30_000, None),
        (0, "python", "builtins len", 62_000, 1000, None),
        (0, "annotation", "traceq.step#5", 101_000, 9000, None),
        (1, "runtime", "cuLaunchKernel", 11_000, 1000, 7),
    ]
    assert choose_columns(found["thread"], "thread_id", "tid", "thread_name") == [
        (0, 99, "python"),
        (1, 583, "Host Threads"),
    ]
    (trace,) = found["trace"]
    assert trace["host"].startswith("host-")
    assert "private" not in json.dumps(trace)


def test_launches_and_steps_are_found(tmp_path):
    marks = [("train", n * 100 * US, 90 * US, {"step_num": n}) for n in range(4)]
    calls = [("cuLaunchKernel", n * 100 * US + 10 * US, US, {"correlation_id": n + 1}) for n in range(4)]
    work = [("gemm", n * 100 * US + 20 * US, 50 * US, {"correlation_id": n + 1}) for n in range(4)]
    path = write_file(tmp_path / "a.pb", make_gpu(work), make_host(marks), make_host(calls, (583, "Host Threads/583")))
    ingest([path], tmp_path / "t.duckdb")
    with traceq.open(tmp_path / "t.duckdb") as session:
        assert session.sql("select count(launch_id) from gpu_slice").fetchall() == [(4,)]
        assert session.sql("select source, count(*) from step group by source").fetchall() == [("mark", 4)]


def test_waiting_for_arrays_is_synchronization(tmp_path):
    events = [("$api.py:3154 block_until_ready", 0, 30 * US), ("$train.py:7 loop", 40 * US, US)]
    ingest([write_file(tmp_path / "a.pb", make_gpu([("gemm", 0, 5 * US)]), make_host(events))], tmp_path / "t.duckdb")
    with traceq.open(tmp_path / "t.duckdb") as session:
        assert session.sql("select name, activity from host_name where activity is not null").fetchall() == [
            ("api.py(3154): block_until_ready", "synchronization")
        ]


def test_lines_that_xprof_derives_are_not_read_twice(tmp_path):
    lines = {
        (13, "Stream #13(Compute)"): [("gemm", 0, US)],
        (1, "XLA Ops"): [("fusion.1", 0, US)],
        (2, "XLA Modules"): [("jit_f", 0, US)],
        (3, "Steps"): [("7", 0, 10 * US), ("8", 10 * US, 10 * US)],
        (4, "Something new"): [("x", 0, US)],
    }
    found = list_tables(
        write_file(tmp_path / "a.pb", make_plane("/device:GPU:0", lines, stats=NVIDIA), make_host([("f", 0, US)]))
    )
    assert choose_columns(found["gpu_slice"], "name") == [("gemm",)]
    assert choose_columns(found["import_note"], "code", "count") == [("line_not_imported", 1)]
    marks = [row for row in found["cpu_slice"] if row["name"].startswith("traceq.step")]
    assert choose_columns(marks, "name", "ts", "dur") == [
        ("traceq.step#7", 1000, 10_000),
        ("traceq.step#8", 11_000, 10_000),
    ]


def test_steps_of_the_program_go_before_those_of_a_gpu(tmp_path):
    lines = {(13, "Stream #13"): [("gemm", 0, US)], (3, "Steps"): [("7", 0, 10 * US)]}
    path = write_file(
        tmp_path / "a.pb", make_plane("/device:GPU:0", lines), make_host([("train", 0, US, {"step_num": 1})])
    )
    assert choose_columns(list_tables(path)["cpu_slice"], "name") == [("traceq.step#1",)]


def test_tpus_are_told_as_what_they_are(tmp_path):
    tpu = make_plane("/device:TPU:0", {(1, "XLA Ops"): [("fusion", 0, US)]})
    with pytest.raises(UnusableTrace, match=r"its devices are not GPUs \(/device:TPU:0\)"):
        list_tables(write_file(tmp_path / "a.pb", tpu))
    notes = list_tables(write_file(tmp_path / "b.pb", tpu, make_host([("f", 0, US)])))["import_note"]
    assert choose_columns(notes, "severity", "code", "count") == [("data_loss", "device_not_imported", 1)]


def test_odd_events_are_counted(tmp_path):
    aggregated = make_field(4, make_field(1, 1) + make_field(5, 12))
    negative = make_field(4, make_field(1, 1) + make_field(2, -5_000_000) + make_field(3, US))
    plain = make_field(4, make_field(1, 1) + make_field(2, 0) + make_field(3, US))
    line = make_field(
        3, make_field(1, 13) + make_field(2, "Stream #13") + make_field(3, 1) + aggregated + negative + plain
    )
    path = write_file(tmp_path / "a.pb", make_field(2, "/device:GPU:0") + line)
    found = list_tables(path)
    assert choose_columns(found["gpu_slice"], "name", "ts", "dur") == [("event 1", 1, 1000)]
    assert sorted(choose_columns(found["import_note"], "code", "count")) == [
        ("aggregated_events", 1),
        ("no_start_time", 1),
    ]


def test_numbers_of_the_wrong_kind_do_no_harm(tmp_path):
    line = make_field(
        3,
        make_field(1, "text")
        + make_field(2, "Stream #13")
        + make_field(4, make_field(1, "x") + make_field(4, 9) + make_field(2, 5)),
    )
    odd = make_field(2, "/device:GPU:0") + line + make_field(4, 3) + make_field(6, 1)
    assert list_tables(write_file(tmp_path / "a.pb", odd))["gpu_slice"][0]["name"] == "event 0"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_file_that_is_cut_short_is_one_line(tmp_path, cut):
    path = write_file(tmp_path / "a.pb", METADATA, make_gpu([("gemm", 0, US, KERNEL)]))
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(UnusableTrace, match=rf"^{path}: is cut short or damaged \(.*\); copy it again") as caught:
        list_tables(path)
    assert "\n" not in str(caught.value)


def test_an_empty_space_says_so(tmp_path):
    with pytest.raises(UnusableTrace, match="holds no events of GPUs or of the host; was the profiler stopped"):
        list_tables(write_file(tmp_path / "a.pb", METADATA))


def test_numbers():
    assert to_signed(2**64 - 1) == -1
    assert to_double(0x3FF0_0000_0000_0000) == 1.0
    assert list(read_fields(b"\x08\x96\x01", (0, 3))) == [(1, 150, (0, 0))]
    with pytest.raises(DamagedMessage):
        list(read_fields(b"\x0b", (0, 1)))
    with pytest.raises(DamagedMessage):
        list(read_fields(b"\x08" + b"\xff" * 11, (0, 12)))


# Values that no column of 32 bits, or of 64, holds.
BORDERS = [2**31 - 1, 2**31, 2191500840, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, 1e300, float("nan"), "text"]
DETAILS = ("regs", "static_shared", "dynamic_shared", "group_mem", "grid", "block", "size", "num_bytes")


@pytest.mark.parametrize("value", BORDERS)
def test_numbers_at_the_borders_of_their_columns_end_in_no_error(tmp_path, value):
    numbers = dict.fromkeys(("correlation_id", "context_id", "cuda_graph_id", "cuda_graph_node_id", "step_num"), value)
    told = " ".join(f"{name}:{value}" + f",{value},{value}" * (name in ("grid", "block")) for name in DETAILS)
    kinds = [{**numbers, f"{kind}_details": told} for kind in ("kernel", "memcpy", "memset")]
    gpu = make_gpu([("k", US, US, kind) for kind in kinds], stats=dict.fromkeys(NVIDIA, value))
    calls = [("cudaLaunchKernel", 0, US, {"correlation_id": value}), ("other", US, US, numbers)]
    trace = write_file(tmp_path / "a.xplane.pb", gpu, make_host(calls))
    ingest([trace], tmp_path / "a.duckdb")
    with traceq.open(tmp_path / "a.duckdb") as traces:
        assert traces.sql("select count(*) from gpu_slice").fetchall() == [(3,)]
        assert traces.sql("select count(*) from cpu_slice").fetchall() == [(2,)]


def test_registers_beyond_their_column_are_null_and_counted(tmp_path):
    stats = KERNEL | {"kernel_details": Ref("regs:2191500840 grid:4,4294967296,1 block:128,1,1")}
    tables = list_tables(write_file(tmp_path / "a.xplane.pb", make_gpu([("k", US, US, stats)])))
    assert choose_columns(tables["gpu_slice"], "registers_per_thread", "grid_x", "grid_y") == [(None, 4, None)]
    assert {note["text"]: note["count"] for note in tables["import_note"] if note["code"] == "number_out_of_range"} == {
        f"values of gpu_slice.{column} that its column cannot hold are NULL": 1
        for column in ("grid_y", "registers_per_thread")
    }
