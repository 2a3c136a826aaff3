"""Files of ROCm's profilers: what is read from them, and what is said of damaged ones."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing

import pytest
from rocm_files import (
    CPU_HANDLE,
    FIRST_GPU,
    make_call,
    make_copy,
    make_dispatch,
    make_rocprofv3,
    rpd_json,
    write_file,
    write_rocpd,
    write_rpd,
)

import traceq
from traceq.app.ingest import ingest
from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers import find, rocm, sniff
from traceq.importers.rocm import rocprofv3 as reader
from traceq.importers.unknown import explain_unknown


def list_tables(path):
    found = {}
    for table, batch in rocm.read(path):
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


def choose_columns(rows, *columns):
    return [tuple(row.get(column) for column in columns) for row in rows]


@pytest.fixture
def recorded(tmp_path):
    return list_tables(write_file(tmp_path / "a.json", make_rocprofv3()))


@pytest.fixture
def database(tmp_path):
    return list_tables(write_rocpd(tmp_path / "a.db"))


def test_a_view_in_the_place_of_a_table_is_said(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            alter table rocpd_kernel_dispatch_0000a1b2_0c3d rename to hidden;
            create view rocpd_kernel_dispatch_0000a1b2_0c3d as select * from hidden;
            create view rocpd_region as select * from rocpd_region_0000a1b2_0c3d; -- rocpd's own
        """)
    found = [note for note in list_tables(path)["import_note"] if note["code"] == "view_not_read"]
    assert choose_columns(found, "severity", "count") == [("data_loss", 1)]
    assert "rocpd_kernel_dispatch_0000a1b2_0c3d" in found[0]["text"]


def test_rows_that_were_to_be_taken_back_are_not_read(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    path.with_name("a.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    with pytest.raises(UnusableTrace, match="export it again"):
        list_tables(path)


# ---- rocprofv3's JSON


def test_json_is_recognised_by_its_first_key(tmp_path):
    assert sniff(write_file(tmp_path / "a.anyhow", make_rocprofv3())) is rocm
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(json.dumps(make_rocprofv3(), indent=1).encode()))
    assert sniff(packed) is rocm


def test_dispatches_are_kernels_with_their_blocks(recorded):
    (first, *_) = recorded["gpu_slice"]
    assert first == {
        "slice_id": 0,
        "kind": "kernel",
        "name": "gemm()",
        "ts": 200,
        "dur": 100,
        "device": 0,
        "stream": 7,
        "pid": 4711,
        "correlation_id": 2,
        "grid_x": 4,  # 1000 work items in groups of 256
        "grid_y": 4,
        "grid_z": 1,
        "block_x": 256,
        "block_y": 1,
        "block_z": 1,
        "registers_per_thread": 128,
        "shared_memory": 1024,
    }


def test_each_die_of_a_card_is_a_device(recorded):
    assert choose_columns(
        recorded["device"], "device", "name", "sm_count", "warp_size", "max_threads_per_sm", "memory_bytes"
    ) == [
        (0, "AMD Instinct MI250X", 110, 64, 2048, 64 << 30),
        (1, "AMD Instinct MI250X", 110, 64, 2048, 64 << 30),
    ]


def test_devices_are_numbered_as_the_process_sees_them(tmp_path):
    document = make_rocprofv3()
    document["rocprofiler-sdk-tool"][0]["agents"][1]["runtime_visibility"]["hip"] = 0
    found = list_tables(write_file(tmp_path / "a.json", document))
    assert choose_columns(found["device"], "device") == [
        (-1,),
        (0,),
    ]  # a dispatch of the test is on the GPU that is hidden
    assert [row["device"] for row in found["gpu_slice"] if row["ts"] == 500] == [0]


def test_copies_say_where_to(tmp_path):
    copies = [
        make_copy("MEMORY_COPY_HOST_TO_DEVICE", 1, 2, CPU_HANDLE, FIRST_GPU + 1),
        make_copy("MEMORY_COPY_DEVICE_TO_DEVICE", 3, 4, FIRST_GPU, FIRST_GPU + 1),
        make_copy("MEMORY_COPY_DEVICE_TO_DEVICE", 5, 6, FIRST_GPU, FIRST_GPU),
    ]
    found = list_tables(write_file(tmp_path / "a.json", make_rocprofv3(kernel_dispatch=[], memory_copy=copies)))[
        "gpu_slice"
    ]
    assert choose_columns(found, "device", "name", "copy_kind", "src_device", "dst_device", "src_memory", "bytes") == [
        (1, "Memcpy HtoD (Host -> Device)", "h2d", None, 1, None, 4096),
        (1, "Memcpy PtoP (Device -> Device)", "p2p", 0, 1, "device", 4096),
        (0, "Memcpy DtoD (Device -> Device)", "d2d", 0, 0, "device", 4096),
    ]


def test_ranges_of_roctx_are_annotations_with_their_message(tmp_path):
    kind = "MARKER_CORE_RANGE_API"
    markers = [
        make_call("roctxThreadRangeA", 10, 90, correlation=9, kind=kind),
        make_call("roctxProcessRangeA", 20, 95, correlation=8, kind=kind),
        make_call("roctxMarkA", 30, 31, correlation=9, kind=kind),
        make_call("roctxGetThreadId", 40, 41, kind=kind),
    ]
    collectives = [make_call("ncclAllReduce", 50, 60, kind="RCCL_API")]
    document = make_rocprofv3(marker_api=markers, rccl_api=collectives, hip_api=[])
    found = list_tables(write_file(tmp_path / "a.json", document))["cpu_slice"]
    assert choose_columns(found, "kind", "category", "name", "ts", "dur", "is_async") == [
        ("annotation", "roctx", "traceq.step#0", 10, 80, False),
        ("annotation", "roctx", "roctxProcessRangeA", 20, 75, True),
        ("annotation", "roctx", "traceq.step#0", 30, 0, False),
        ("annotation", "rccl", "ncclAllReduce", 50, 10, False),
    ]


def test_work_is_joined_with_its_call_and_steps_with_their_marks(tmp_path):
    marks = [
        make_call("roctxThreadRangeA", 1000 * n, 1000 * n + 900, correlation=100 + n, kind="MARKER_CORE_RANGE_API")
        for n in range(1, 5)
    ]
    kernels = [make_dispatch(1000 * n + 200, 1000 * n + 300, correlation=n) for n in range(1, 5)]
    calls = [make_call("hipLaunchKernel", 1000 * n + 100, 1000 * n + 110, correlation=n) for n in range(1, 5)]
    document = make_rocprofv3(marker_api=marks, kernel_dispatch=kernels, hip_api=calls, memory_copy=[])
    messages = [{"key": 100 + n, "value": f"traceq.step#{n}"} for n in range(1, 5)]
    document["rocprofiler-sdk-tool"][0]["strings"]["marker_api"] = messages
    target = tmp_path / "t.duckdb"
    ingest([write_file(tmp_path / "a.json", document)], target)
    with traceq.open(target) as session:
        assert session.sql("select count(launch_id) from gpu_slice").fetchall() == [(4,)]
        assert session.sql("select distinct source, count(*) over () from step").fetchall() == [("mark", 4)]
        assert session.sql("select value from program where property = 'vendor'").fetchall() == [("amd",)]


def test_nothing_private_is_kept(recorded, database):
    for each in (recorded, database):
        text = json.dumps([each["trace"], each["thread"]])
        assert "private" not in text
        assert "secret" not in text
        assert each["trace"][0]["host"].startswith("host-")
    assert choose_columns(recorded["thread"], "pid", "tid", "process_name") == [(4711, 4712, "python3")]


def test_records_of_other_kinds_are_counted(tmp_path):
    document = make_rocprofv3(scratch_memory=[{"a": 1}, {"a": 2}])
    notes = list_tables(write_file(tmp_path / "a.json", document))["import_note"]
    assert choose_columns(notes, "severity", "code", "count") == [("data_loss", "records_not_imported", 2)]
    assert "scratch_memory" in notes[0]["text"]


def test_odd_times_are_counted(tmp_path):
    kernels = [make_dispatch(0, 5), make_dispatch(300, 200), make_dispatch(1 << 61, 1 << 62)]
    found = list_tables(write_file(tmp_path / "a.json", make_rocprofv3(kernel_dispatch=kernels, memory_copy=[])))
    assert choose_columns(found["gpu_slice"], "ts", "dur") == [(300, 0)]
    assert choose_columns(found["import_note"], "code", "count") == [("no_start_time", 2), ("negative_duration", 1)]


def test_older_files_have_queues_and_no_streams(tmp_path):
    kernels = [make_dispatch(1, 2, stream_id=None, kernel=99)]
    found = list_tables(write_file(tmp_path / "a.json", make_rocprofv3(kernel_dispatch=kernels, memory_copy=[])))[
        "gpu_slice"
    ]
    assert choose_columns(found, "stream", "name", "registers_per_thread") == [(3, "kernel 99", None)]


def test_long_lists_are_read_in_parts(tmp_path, monkeypatch):
    kernels = [make_dispatch(n, n + 1, correlation=n) for n in range(1, 60)]
    document = make_rocprofv3(kernel_dispatch=kernels, memory_copy=[])
    whole = list_tables(write_file(tmp_path / "a.json", document))
    monkeypatch.setattr(reader, "_PART_BYTES", 700)
    assert list_tables(write_file(tmp_path / "a.json", document)) == whole


@pytest.mark.parametrize("cut", [60, 400, 1500, -2])
def test_json_that_is_cut_short_is_one_line(tmp_path, cut):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(make_rocprofv3())[:cut])
    with pytest.raises(UnusableTrace, match=rf"^{path}: is cut short or damaged \(.*\); copy it again") as caught:
        list_tables(path)
    assert "\n" not in str(caught.value)


def test_json_of_another_shape_is_one_line(tmp_path):
    with pytest.raises(UnusableTrace, match=r"is cut short or damaged \(Expected `array`"):
        list_tables(write_file(tmp_path / "a.json", {"rocprofiler-sdk-tool": {}}))


def test_json_that_is_nested_too_deep_is_one_line(tmp_path):
    path = tmp_path / "a.json"
    text = json.dumps(make_rocprofv3())
    path.write_text(text[:-1] + ', "more": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(UnusableTrace, match="is cut short or damaged"):
        list_tables(path)


def test_a_gpu_that_is_described_too_deep_has_no_properties(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "update rocpd_info_agent_0000a1b2_0c3d set extdata = ?", ['{"more": ' + "[" * 100_000 + "]" * 100_000 + "}"]
        )
        connection.commit()
    assert {each["memory_bytes"] for each in list_tables(path)["device"]} == {None}


def test_a_gzip_that_is_cut_short_is_one_line(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps(make_rocprofv3()).encode())[:-300])
    with pytest.raises(UnusableTrace, match="is cut short or damaged"):
        list_tables(path)


def test_files_without_records_say_what_to_record(tmp_path):
    document = make_rocprofv3(kernel_dispatch=[], memory_copy=[], hip_api=[], marker_api=[])
    with pytest.raises(UnusableTrace, match="holds no kernels, copies, calls or ranges; record some: rocprofv3"):
        list_tables(write_file(tmp_path / "a.json", document))


# ---- rocpd


def test_rocpd_is_recognised_by_its_tables(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    assert sniff(path) is rocm
    packed = tmp_path / "b.db"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert sniff(packed) is rocm
    assert list_tables(packed) == list_tables(path)


def test_rows_of_rocpd(database):
    assert choose_columns(
        database["gpu_slice"],
        "kind",
        "name",
        "ts",
        "dur",
        "device",
        "stream",
        "pid",
        "correlation_id",
        "grid_x",
        "bytes",
    ) == [
        ("kernel", "gemm()", 200, 100, 1, 7, 4711, 21, 4, None),
        ("memcpy", "Memcpy HtoD (Host -> Device)", 130, 60, 1, 7, 4711, 22, None, 4096),
    ]
    assert choose_columns(
        database["cpu_slice"], "kind", "category", "name", "ts", "dur", "correlation_id", "is_async"
    ) == [
        ("runtime", "hip", "hipLaunchKernel", 100, 10, 21, None),
        ("runtime", "hip", "hipMemcpyAsync", 115, 3, 22, None),
        ("annotation", "roctx", "traceq.step#0", 90, 610, None, False),
        ("annotation", "roctx", "elsewhere", 95, 705, None, True),
        ("annotation", "rccl", "ncclAllReduce", 400, 20, None, False),
    ]
    assert choose_columns(database["device"], "device", "name", "sm_count") == [
        (0, "AMD Instinct MI300X", 304),
        (1, "AMD Instinct MI300X", None),
    ]
    assert choose_columns(database["trace"], "producer", "rank", "world_size") == [("rocprofiler-sdk", 3, 8)]
    assert choose_columns(database["import_note"], "code", "count") == [("records_not_imported", 2)]


def test_a_merged_file_has_all_its_processes(tmp_path):
    found = list_tables(write_rocpd(tmp_path / "a.db", "_0000a1b2_01", "_0000a1b2_02"))
    assert len(found["gpu_slice"]) == 4
    assert [row["slice_id"] for row in found["gpu_slice"]] == sorted({row["slice_id"] for row in found["gpu_slice"]})
    assert found["trace"][0]["rank"] is None


def test_views_and_expressions_of_the_file_are_not_run(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            alter table rocpd_string_0000a1b2_0c3d rename to kept;
            create view rocpd_string_0000a1b2_0c3d as select id, string || abs(-9223372036854775807 - 1) as string from kept;
            """
        )
    names = {row["name"] for row in list_tables(path)["cpu_slice"]}
    assert "hipLaunchKernel" not in names  # it was in the view


def test_a_damaged_database_is_one_line(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    content = bytearray(path.read_bytes())
    content[5000:] = b"\xff" * (len(content) - 5000)
    path.write_bytes(content)
    with pytest.raises(UnusableTrace, match=r"the SQLite file is damaged \(.*\); copy it again"):
        list_tables(path)


def test_reading_leaves_the_folder_as_it_was(tmp_path):
    path = write_rocpd(tmp_path / "a.db")
    before = path.read_bytes()
    list_tables(path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"]
    assert path.read_bytes() == before


# ---- RPD


def test_rows_of_rpd(tmp_path):
    path = write_rpd(tmp_path / "a.rpd")
    assert sniff(path) is rocm
    found = list_tables(path)
    assert choose_columns(
        found["gpu_slice"], "kind", "name", "ts", "dur", "device", "stream", "correlation_id", "grid_x", "bytes"
    ) == [
        ("kernel", "gemm()", 200, 100, 2, 0, 1, 4, None),
        ("memcpy", "Memcpy DtoH (Device -> Host)", 310, 20, 2, 0, 2, None, 4096),
        ("memset", "Memset (Device)", 340, 10, 2, 1, 3, None, None),
    ]
    assert choose_columns(found["cpu_slice"], "kind", "category", "name", "ts", "dur", "correlation_id") == [
        ("runtime", "hip", "hipLaunchKernel", 100, 10, 1),
        ("runtime", "hip", "hipMemcpyWithStream", 120, 215, 2),
        ("runtime", "hip", "hipMemsetAsync", 336, 1, 3),
        ("annotation", "roctx", "traceq.step#0", 90, 310, None),
        ("overhead", "rpd", "OpTable::writeRows", 500, 10, None),
    ]
    assert choose_columns(found["device"], "device", "source") == [(2, "unknown")]
    assert choose_columns(found["import_note"], "code", "count") == [("records_not_imported", 1)]


def test_rpd_without_details_of_calls(tmp_path):
    path = write_rpd(tmp_path / "a.rpd")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("drop table rocpd_kernelapi; drop table rocpd_copyapi; drop table rocpd_monitor")
    found = list_tables(path)["gpu_slice"]
    assert choose_columns(found, "name", "grid_x", "bytes") == [
        ("gemm()", None, None),
        ("Memcpy DtoH (Device -> Host)", None, None),
        ("Memset (Device)", None, None),
    ]


def test_other_databases_are_none(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table rocpd_like (a)")
        connection.commit()
    assert sniff(path) is None
    with pytest.raises(UnknownFormat, match="not an nsys export, rocpd or RPD"):
        find(path)


def test_a_cut_database_is_called_damaged(tmp_path):
    path = tmp_path / "cut.rpd"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("create table rocpd_op (id integer, name text); create table filler (text text)")
        connection.executemany("insert into filler values (?)", [("x" * 1000,)] * 100)
        connection.commit()
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(UnusableTrace, match=r"a damaged SQLite database: [\d,]+ bytes of its end are missing"):
        raise explain_unknown(path)


# ---- RPD's Chrome traces


def test_a_chrome_trace_of_rpd_is_recognised_by_its_first_events(tmp_path):
    path = rpd_json(tmp_path / "a.json")
    assert sniff(path) is rocm
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list_tables(packed).keys() == list_tables(path).keys()
    other = tmp_path / "other.json"
    other.write_text('[ {}, {"name": "process_name", "ph": "M", "pid": "2", "args": {"name": "python"}}]')
    assert sniff(other) is not rocm


def test_its_processes_of_gpus_hold_operations_and_its_arrows_say_which_call_caused_them(tmp_path):
    found = list_tables(rpd_json(tmp_path / "a.json"))
    assert choose_columns(
        found["gpu_slice"], "kind", "name", "copy_kind", "ts", "dur", "device", "pid", "correlation_id"
    ) == [
        ("kernel", "gemm()", None, 200_000, 100_000, 2, 77, 3),
        ("memcpy", "Memcpy HtoD (Host -> Device)", "h2d", 120_000, 60_000, 2, 77, 2),
        ("memset", "Memset (Device)", None, 320_000, 5_000, 2, None, None),
    ]
    assert choose_columns(found["cpu_slice"], "kind", "name", "ts", "dur", "correlation_id") == [
        ("runtime", "hipMemcpyWithStream", 100_000, 85_000, 2),
        ("runtime", "hipLaunchKernel", 190_000, 6_000, 3),
        ("annotation", "forward", 90_000, 300_000, None),
    ]
    assert choose_columns(found["thread"], "pid", "tid") == [(77, 78)]
    assert choose_columns(found["trace"], "producer") == [("rocmProfileData",)]


def test_a_chrome_trace_of_rpd_that_is_cut_short_is_refused_in_a_line(tmp_path):
    path = rpd_json(tmp_path / "a.json")
    path.write_text(path.read_text()[:900])
    with pytest.raises(UnusableTrace, match="is cut short or damaged"):
        list_tables(path)
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(rpd_json(path).read_bytes())[:-20])
    with pytest.raises(UnusableTrace, match="is cut short or damaged"):
        list_tables(packed)


def test_calls_inside_one_another_and_many_operations_find_their_innermost_call(tmp_path):
    call = {"pid": "77", "tid": "78", "ph": "X", "args": {"desc": ""}}
    events = [{"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "GPU2"}}]
    for number in range(3_000):
        at = 8_306_017_478_773 + 10 * number
        events += [
            {**call, "name": "outer", "ts": str(at), "dur": "9"},
            {**call, "name": "inner", "ts": str(at + 2), "dur": "3"},
            {"pid": 2, "tid": 0, "name": "k", "ts": at + 4, "dur": 1, "ph": "X", "args": {"desc": "KernelExecution"}},
            {"pid": "77", "tid": "78", "ph": "s", "id": number, "ts": str(at + 3 + 4 * (number % 2))},
            {"pid": "2", "tid": "0", "ph": "f", "id": number, "ts": str(at + 4)},
        ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(events))
    found = list_tables(path)
    names = {row["correlation_id"]: row["name"] for row in found["cpu_slice"]}
    assert [names[row["correlation_id"]] for row in found["gpu_slice"][:4]] == ["inner", "outer", "inner", "outer"]
    assert found["gpu_slice"][1]["ts"] == (8_306_017_478_773 + 14) * 1000
