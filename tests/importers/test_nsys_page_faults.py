"""Page faults on unified memory in nsys exports."""

from __future__ import annotations

from nsys_export import GPID, PID, count_notes, pick_columns, read, write

GPU = "CUDA_UM_GPU_PAGE_FAULT_EVENTS"
CPU = "CUDA_UM_CPU_PAGE_FAULT_EVENTS"
COLUMNS = "processor device pid ts dur faults access function"


def test_groups_of_faults_of_a_gpu(tmp_path):
    where = {"globalPid": GPID, "deviceId": 1, "address": 4096}
    rows = [
        {"start": 1, "end": 5, "numberOfPageFaults": 4, "faultAccessType": 2, **where},
        {"start": 7, "end": 8, "numberOfPageFaults": 1, "faultAccessType": 0, **where},
    ]
    tables = read(write(tmp_path / "a.sqlite", **{GPU: rows}))
    assert pick_columns(tables["page_fault"], COLUMNS) == [
        ("gpu", 1, PID, 1, 4, 4, "write", None),
        ("gpu", 1, PID, 7, 1, 1, None, None),
    ]
    assert count_notes(tables) == {}


def test_faults_of_the_cpu_keep_the_function_and_no_address(tmp_path):
    rows = [
        {"start": 3, "globalPid": GPID, "address": 4096, "CpuInstruction": 1, "module": 2},
        {"start": 4, "globalPid": GPID, "address": 8192, "CpuInstruction": 99, "module": 2},
    ]
    tables = read(write(tmp_path / "a.sqlite", {1: "fill", 2: "/home/me/a.out"}, **{CPU: rows}))
    assert pick_columns(tables["page_fault"], COLUMNS) == [
        ("cpu", None, PID, 3, None, 1, None, "fill"),
        ("cpu", None, PID, 4, None, 1, None, None),
    ]
    assert {key for row in tables["page_fault"] for key in row} == {"processor", "pid", "ts", "faults", "function"}


def test_faults_that_lack_what_they_should_have(tmp_path):
    rows = [
        {"start": None, "end": 2, "deviceId": 0, "numberOfPageFaults": 1},
        {"start": 5, "end": None, "deviceId": 0, "numberOfPageFaults": -1},
    ]
    tables = read(write(tmp_path / "a.sqlite", **{GPU: rows}))
    assert pick_columns(tables["page_fault"], COLUMNS) == [("gpu", 0, None, 5, 0, 1, None, None)]
    assert count_notes(tables) == {"no_start_time": 1, "no_end_time": 1, "value_out_of_range": 1}


def test_empty_tables_are_read_and_not_listed_as_left_out(tmp_path):
    path = write(tmp_path / "a.sqlite", **{GPU: [], CPU: [{"start": 1, "globalPid": GPID}]})
    tables = read(path)
    assert len(tables["page_fault"]) == 1
    assert count_notes(tables) == {}
