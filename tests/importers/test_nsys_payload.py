"""NCCL's payloads in nsys exports made with blobs: no shared export holds any, so these are laid out as NCCL's and nsys' own
descriptions say."""

from __future__ import annotations

import json
import struct

import pytest
from nsys_export import count_notes, global_id, pick_columns, read, write

INT, UINT64, SIZE, ENUM = 5, 18, 22, 16777232
COMMUNICATOR = ("NCCL communicator ID", UINT64, None)
MESSAGE = ("Message size [bytes]", SIZE, 8)
INIT, REDUCE, GATHER, PEER, GROUP, OTHER = 16777218, 16777223, 16777220, 16777226, 16777230, 16777240
SCHEMAS = {
    INIT: [COMMUNICATOR, ("No. of ranks", INT, 8), ("Rank", INT, 12), ("CUDA device", INT, 16)],
    REDUCE: [COMMUNICATOR, MESSAGE, ("Reduction operation", ENUM, 16)],
    GATHER: [COMMUNICATOR, MESSAGE],
    PEER: [COMMUNICATOR, MESSAGE, ("Peer rank", INT, None)],
    GROUP: [COMMUNICATOR],
    OTHER: [("loss", 20, None)],
}
ID = 0xFEDCBA9876543210


def make_blob(schema, form, *values):
    payload = struct.pack(f"<{form}", *values)
    # the upper halves hold whatever was there
    return struct.pack("<IIIIQQ", 1, 99, schema, 7, len(payload), 32 + len(payload)) + payload


def import_rows(tmp_path, *ranges):
    entries = [
        {"domainId": 1, "schemaId": schema, "idx": idx, "type": kind, "name": name, "offset": offset}
        for schema, fields in SCHEMAS.items()
        for idx, (name, kind, offset) in enumerate(fields)
    ]
    events = [
        {"start": 10 * n, "end": 10 * n + 5, "eventType": 59, "globalTid": global_id(), "domainId": 1}
        | {"text": name, "binaryData": data}
        for n, (name, data) in enumerate(ranges)
    ]
    return read(write(tmp_path / "a.sqlite", NVTX_EVENTS=events, NVTX_PAYLOAD_SCHEMA_ENTRIES=entries))


def test_messages_are_collectives(tmp_path):
    tables = import_rows(
        tmp_path,
        ("ncclGroupStart", None),
        ("ncclAllReduce", make_blob(REDUCE, "QQii", ID, 4096, 0, 0)),
        ("ncclAllGather", make_blob(GATHER, "QQ", ID, 1000)),
        ("ncclSend", make_blob(PEER, "QQii", ID, 64, 3, 0)),
        ("ncclGroupEnd", make_blob(GROUP, "Q", ID)),
        # the size of a communicator may be told last
        ("ncclCommInitRank", make_blob(INIT, "Qiiii", ID, 8, 2, 2, 0)),
        ("ncclAllGather", make_blob(GATHER, "QQ", 5, 1000)),
    )
    assert pick_columns(tables["collective"], "slice_id op bytes group_name group_size group_rank reduction") == [
        (1, "ncclAllReduce", 4096, hex(ID), 8, 2, "Sum"),
        (2, "ncclAllGather", 8000, hex(ID), 8, 2, None),
        (3, "ncclSend", 64, hex(ID), 8, 2, None),
        (6, "ncclAllGather", None, "0x5", None, None, None),
    ]
    assert [json.loads(row["args"]) for row in tables["collective"]] == [
        {"message_bytes": 4096},
        {"message_bytes": 1000},
        {"message_bytes": 64, "peer_rank": 3},
        {"message_bytes": 1000},
    ]
    assert count_notes(tables) == {}
    assert len(tables["cpu_slice"]) == 7


def test_hexadecimal_text_is_as_good(tmp_path):
    tables = import_rows(tmp_path, ("ncclAllReduce", make_blob(REDUCE, "QQii", ID, 4096, 0, 0).hex()))
    assert pick_columns(tables["collective"], "op bytes group_size") == [("ncclAllReduce", 4096, None)]


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",
        make_blob(REDUCE, "QQii", ID, 4096, 0, 0)[:-1],
        make_blob(OTHER, "d", 1.5),
        make_blob(1234, "Q", ID),
        struct.pack("<QQQQ", 1, REDUCE, 2**64 - 1, 0),
        b"not a payload, but just as long as one would have to be",
    ],
)
def test_what_is_no_payload_of_nccl_is_counted(tmp_path, data):
    tables = import_rows(tmp_path, ("ncclAllReduce", data))
    assert tables["collective"] == []
    assert count_notes(tables) == {"payload_not_imported": 1}
    assert pick_columns(tables["cpu_slice"], "name") == [("ncclAllReduce",)]
