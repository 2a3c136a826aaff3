"""NCCL's payloads as nsys of 2025 and later exports them: JSON in NVTX_EVENTS.jsonText."""

from __future__ import annotations

import json

import pytest
from nsys_export import KERNEL, count_notes, global_id, pick_columns, read, write

ID = 13429301450432826988


def make_all(rank, ranks=2):
    return json.dumps({"NCCL communicator ID": ID, "No. of ranks": ranks, "Rank": rank, "CUDA device": rank})


def make_message(size, **members):
    return json.dumps({"NCCL communicator ID": ID, "Message size [bytes]": size, **members})


def import_rows(tmp_path, *ranges, **tables):
    """Ranges (name, text, pid), one after the other."""
    events = [
        {"start": 10 * n, "end": 10 * n + 5, "eventType": 59, "domainId": 1}
        | {"text": name, "jsonText": text, "globalTid": global_id(pid=pid)}
        for n, (name, text, pid) in enumerate(ranges)
    ]
    return read(write(tmp_path / "a.sqlite", NVTX_EVENTS=events, **tables))


def make_kernel(pid):
    return {"start": 0, "end": 5, "deviceId": 0, "streamId": 7, "demangledName": 1, "globalPid": global_id(0, pid)}


def test_messages_of_two_processes(tmp_path):
    tables = import_rows(
        tmp_path,
        ("ncclCommInitRankConfig", make_all(1), 5),
        ("ncclCommInitRankConfig", make_all(0), 6),
        ("ncclAllReduce", make_message(4096, **{"Reduction operation": "Avg"}), 5),
        ("ncclBroadcast", make_message(24, Root=0), 5),
        ("ncclAllReduce", make_message(4096, **{"Reduction operation": "Avg"}), 6),
        ("ncclAllGather", make_message(1000), 6),
    )
    columns = "op bytes group_name group_size group_rank reduction sequence"
    assert pick_columns(tables["collective"], columns) == [
        ("ncclAllReduce", 4096, hex(ID), 2, 1, "Avg", 0),
        ("ncclBroadcast", 24, hex(ID), 2, 1, None, 1),
        ("ncclAllReduce", 4096, hex(ID), 2, 0, "Avg", 0),
        ("ncclAllGather", 2000, hex(ID), 2, 0, None, 1),
    ]
    assert json.loads(tables["collective"][1]["args"]) == {"message_bytes": 24, "root_rank": 0}
    assert pick_columns(tables["thread"], "pid rank") == [(5, 1), (6, 0)]
    assert count_notes(tables) == {}


def test_a_trace_of_one_process_has_its_rank(tmp_path):
    tables = import_rows(
        tmp_path,
        ("ncclCommInitRank", make_all(3, 8), 111),
        **{KERNEL: [make_kernel(111)]},
        StringIds=[{"id": 1, "value": "k"}],
    )
    assert pick_columns(tables["trace"], "rank world_size") == [(3, 8)]


def test_a_trace_of_several_processes_has_the_size_of_their_job(tmp_path):
    ranges = [("ncclCommInitRank", make_all(rank), 5 + rank) for rank in range(2)]
    tables = import_rows(
        tmp_path, *ranges, **{KERNEL: [make_kernel(5), make_kernel(6)]}, StringIds=[{"id": 1, "value": "k"}]
    )
    assert pick_columns(tables["trace"], "rank world_size") == [(None, 2)]


def test_the_largest_communicator_tells_the_rank(tmp_path):
    pair = json.dumps({"NCCL communicator ID": 7, "No. of ranks": 2, "Rank": 1})
    tables = import_rows(
        tmp_path,
        ("ncclCommInitRank", make_all(3, 8), 111),
        ("ncclCommSplit", pair, 111),
        **{KERNEL: [make_kernel(111)]},
        StringIds=[{"id": 1, "value": "k"}],
    )
    assert pick_columns(tables["trace"], "rank world_size") == [(3, 8)]


def test_ranks_of_several_communicators_that_differ_tell_none(tmp_path):
    other = json.dumps({"NCCL communicator ID": 7, "No. of ranks": 8, "Rank": 1})
    tables = import_rows(
        tmp_path,
        ("ncclCommInitRank", make_all(3, 8), 111),
        ("ncclCommInitRank", other, 111),
        **{KERNEL: [make_kernel(111)]},
        StringIds=[{"id": 1, "value": "k"}],
    )
    assert pick_columns(tables["trace"], "rank world_size") == [(None, None)]


def test_a_process_with_several_ranks_has_none(tmp_path):
    tables = import_rows(
        tmp_path,
        ("ncclCommInitRank", make_all(0), 111),
        ("ncclCommInitRank", make_all(1), 111),
        ("ncclAllReduce", make_message(8), 111),
        **{KERNEL: [make_kernel(111)]},
        StringIds=[{"id": 1, "value": "k"}],
    )
    assert pick_columns(tables["trace"], "rank world_size") == [(None, 2)]
    assert pick_columns(tables["collective"], "group_size group_rank sequence") == [(2, None, None)]


def test_numbers_only_where_the_first_is_in_the_trace(tmp_path):
    tables = import_rows(tmp_path, ("ncclAllReduce", make_message(8), 111), ("ncclCommDestroy", make_all(0), 111))
    assert pick_columns(tables["collective"], "group_size group_rank sequence") == [(2, 0, None)]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "NCCL communicator ID",
        '["NCCL communicator ID"]',
        '{"NCCL communicator ID": "x", "Message size [bytes]": 8}',
        '{"NCCL communicator ID": true, "Message size [bytes]": 8}',
        '{"NCCL communicator ID": 5, "Message size [bytes]": -8}',
        '{"NCCL communicator ID": 5, "Message size [bytes]": 1e300}',
        '{"NCCL communicator ID": ' + "1" * 5000 + ', "Message size [bytes]": 8}',
        '{"NCCL communicator ID": 5, "Message size [bytes]": null, "No. of ranks": "two", "Rank": []}',
        '{"loss": 1.5}',
    ],
)
def test_what_is_no_message_is_none(tmp_path, text):
    tables = import_rows(tmp_path, ("ncclAllReduce", text, 111))
    assert tables["collective"] == []
    assert pick_columns(tables["cpu_slice"], "name") == [("ncclAllReduce",)]
    assert pick_columns(tables["thread"], "pid rank") == [(111, None)]
    assert count_notes(tables) == {}
