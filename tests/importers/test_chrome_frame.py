"""What stands around the events of a Chrome trace: who wrote it, as which rank, on which devices."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from chrome_trace import args_of, count_notes, make_op, pick_columns, read_tables, render_text, tables_of, write_text

BEFORE, AFTER = make_op("before", 1, 1), make_op("after", 3, 1)
AROUND = {"after": {"distributedInfo": {"rank": 3, "world_size": 8}}}


def rows_of(tmp_path, *events, table, **around):
    """Rows of one table; the trace must give no note."""
    tables = tables_of(tmp_path, *events, **around)
    assert count_notes(tables) == {}
    return tables[table]


def test_what_stands_around_the_events(tmp_path):
    before = {"schemaVersion": 1, "cupti_version": 26, "host_name": "node7", "secret": "CANARY", "record_shapes": 1}
    distributed = {"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.26", "user": "CANARY"}
    after = {"distributedInfo": distributed, "traceName": "/home/CANARY/t.json"}
    (row,) = rows_of(tmp_path, make_op("a", 1, 1), table="trace", before=before, after=after)
    assert pick_columns([row], "producer schema_version rank world_size host") == [
        ("PyTorch Profiler", "1", 3, 8, "host-" + sha256(b"node7").hexdigest()[:8])
    ]
    assert args_of(row) == {"cupti_version": 26, "record_shapes": 1, "backend": "nccl", "nccl_version": "2.26"}


def test_what_traceq_profile_measured_is_kept(tmp_path):
    measured = {"version": "1", "overhead_share": 0.03, "unprofiled_step_ns": None}
    (row,) = rows_of(
        tmp_path, make_op("a", 1, 1), table="trace", before={"traceq": measured, "mine": {"user": "CANARY"}}
    )
    assert args_of(row) == {"traceq": measured}


def test_the_rank_is_what_the_launcher_said_when_there_is_no_process_group(tmp_path):
    launched = {"traceq": {"rank": 3, "world_size": 8}}
    (row,) = rows_of(tmp_path, make_op("a", 1, 1), table="trace", before=launched)
    assert (row["rank"], row["world_size"]) == (3, 8)
    described = {"distributedInfo": {"rank": 1, "world_size": 2}}
    (row,) = rows_of(tmp_path, make_op("a", 1, 1), table="trace", before={**launched, **described})
    assert (row["rank"], row["world_size"]) == (1, 2)


def test_devices(tmp_path):
    nvidia = {"id": 1, "name": "H100", "totalGlobalMem": 80, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    nvidia |= {"warpSize": 32, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536}
    amd = {"id": 0, "name": "MI300X", "warpSize": 64, "maxSharedMemoryPerMultiProcessor": 65536}
    amd |= {"computeMajor": 9, "computeMinor": 4}
    devices = [nvidia | {"sharedMemPerMultiprocessor": 233472}, amd, {"name": "without id"}, "no device"]
    rows = rows_of(tmp_path, make_op("a", 1, 1), table="device", before={"deviceProperties": devices})
    assert pick_columns(
        rows, "device name compute_capability sm_count memory_bytes warp_size shared_memory_per_sm source"
    ) == [
        (1, "H100", "9.0", 132, 80, 32, 233472, "trace"),
        (0, "MI300X", None, None, None, 64, 65536, "trace"),
    ]


@pytest.mark.parametrize(
    ("device", "capability"),
    [
        ({"name": "NVIDIA H100", "warpSize": 32}, "9.0"),
        ({"name": "NVIDIA H100"}, "9.0"),
        ({"warpSize": 32}, "9.0"),
        ({"name": "AMD Radeon Graphics", "warpSize": 64}, None),
        ({"name": "AMD Radeon RX 7900 XTX", "warpSize": 32}, None),
        ({"name": "AMD Instinct MI210"}, None),
        ({"warpSize": 64}, None),
    ],
)
def test_only_gpus_of_nvidia_have_a_compute_capability(tmp_path, device, capability):
    properties = [{"id": 0, "computeMajor": 9, "computeMinor": 0} | device]
    (row,) = rows_of(tmp_path, make_op("a", 1, 1), table="device", before={"deviceProperties": properties})
    assert row["compute_capability"] == capability


def test_a_bare_list_of_events(tmp_path):
    tables = read_tables(write_text(tmp_path, f"[{json.dumps(make_op('a', 1, 1))}]"))
    assert pick_columns(tables["cpu_slice"], "name") == [("a",)]
    assert pick_columns(tables["trace"], "schema_version rank args") == [(None, None, None)]
    assert count_notes(tables) == {}


@pytest.mark.parametrize(
    ("distributed", "note"),
    [
        ({"backend": "nccl", "world_size": 2}, {"missing_rank": 1}),
        ({"rank": "zero"}, {"missing_rank": 1, "number_out_of_range": 1}),
        ({"rank": 1 << 40, "world_size": 1 << 40}, {"missing_rank": 1, "number_out_of_range": 2}),
        ({"rank": "1", "world_size": "2"}, {}),
        ({}, {}),
        ("rank 0", {}),
    ],
)
def test_missing_rank(tmp_path, distributed, note):
    assert count_notes(tables_of(tmp_path, BEFORE, before={"distributedInfo": distributed})) == note


def test_messages_of_the_profiler_are_counted(tmp_path):
    assert count_notes(tables_of(tmp_path, BEFORE, after={"ERROR": ["lost 7 records", "again"]})) == {
        "profiler_message": 2
    }


def test_damaged_metadata_hides_no_event(tmp_path):
    content = '{"name": "a "quoted" name", ' + render_text(BEFORE, AFTER, **AROUND)[1:]
    tables = read_tables(write_text(tmp_path, content))
    assert pick_columns(tables["cpu_slice"], "name") == [("before",), ("after",)]
    assert pick_columns(tables["trace"], "rank") == [(3,)]
    assert count_notes(tables) == {"metadata_damaged": 1}


@pytest.mark.parametrize("content", ['{"a": NaN, ', '{"a": "b\x01d", ', '{"a": "\\ud800", '])
def test_metadata_with_one_obvious_meaning_is_read(tmp_path, content):
    tables = read_tables(write_text(tmp_path, content + render_text(BEFORE, before={"schemaVersion": 1}, **AROUND)[1:]))
    assert pick_columns(tables["trace"], "schema_version rank") == [("1", 3)]
    assert "metadata_damaged" not in count_notes(tables)


@pytest.mark.parametrize(
    "number",
    [{"numSms": 1 << 32}, {"numSms": "many"}, {"warpSize": 1e300}, {"totalGlobalMem": 1 << 64}, {"computeMajor": None}],
)
def test_a_device_with_an_impossible_number_is_still_a_device(tmp_path, number):
    tables = tables_of(
        tmp_path, BEFORE, before={"deviceProperties": [{"id": 0, "name": "A"} | number, {"id": 1 << 40}]}
    )
    assert pick_columns(tables["device"], "device name sm_count warp_size memory_bytes compute_capability") == [
        (0, "A", None, None, None, None)
    ]
