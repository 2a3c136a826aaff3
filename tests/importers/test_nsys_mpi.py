"""MPI and UCX tables of nsys exports, laid out as nsys documents them: no shared export holds any."""

from __future__ import annotations

import json

from nsys_export import count_notes, global_id, pick_columns, read, write

NAMES = {1: "MPI_Send", 2: "MPI_Allreduce", 3: "MPI_Allgather", 4: "MPI_Wait", 5: "ucp_tag_send_nbx", 6: "MPI_Barrier"}
WORLD, PAIR, TWICE = 0x44000000, 7, 8


def make_call(name, start, **more):
    return {"start": start, "end": start + 5, "globalTid": global_id(), "textId": name, **more}


def import_rows(tmp_path):
    communicators = [(WORLD, 4), (PAIR, 2), (TWICE, 2), (TWICE, 3)]
    return read(
        write(
            tmp_path / "a.sqlite",
            NAMES,
            MPI_P2P_EVENTS=[
                make_call(1, 0, commHandle=PAIR, size=64, tag=3, remoteRank=0),
                make_call(1, 10, commHandle=9, size=0),
            ],
            MPI_COLLECTIVES_EVENTS=[
                make_call(2, 20, commHandle=WORLD, size=256, recvSize=256),
                make_call(3, 30, commHandle=TWICE, size=10, recvSize=10),
                make_call(6, 40, commHandle=WORLD),
            ],
            MPI_START_WAIT_EVENTS=[make_call(4, 50)],
            MPI_COMMUNICATORS=[{"commHandle": handle, "size": size} for handle, size in communicators],
            UCP_SUBMIT_EVENTS=[make_call(5, 60, packedSize=4096, tag=1, peerWorkerUid=0)],
            UCP_PROGRESS_EVENTS=[make_call(5, 70, packedSize=4096)],
        )
    )


def test_calls_are_annotations(tmp_path):
    tables = import_rows(tmp_path)
    assert pick_columns(tables["cpu_slice"], "kind category name ts dur") == [
        ("annotation", "MPI", "MPI_Send", 0, 5),
        ("annotation", "MPI", "MPI_Send", 10, 5),
        ("annotation", "MPI", "MPI_Allreduce", 20, 5),
        ("annotation", "MPI", "MPI_Allgather", 30, 5),
        ("annotation", "MPI", "MPI_Barrier", 40, 5),
        ("annotation", "MPI", "MPI_Wait", 50, 5),
        ("annotation", "UCX", "ucp_tag_send_nbx", 60, 5),
        ("annotation", "UCX", "ucp_tag_send_nbx", 70, 5),
    ]
    assert count_notes(tables) == {}


def test_what_moves_data_is_a_collective(tmp_path):
    tables = import_rows(tmp_path)
    assert pick_columns(tables["collective"], "slice_id op bytes group_name group_size") == [
        (0, "MPI_Send", 64, "7", 2),
        (1, "MPI_Send", 0, "9", None),
        (2, "MPI_Allreduce", 256, str(WORLD), 4),
        # nobody says whether this is one rank's part, and the handle stands for two groups
        (3, "MPI_Allgather", None, "8", None),
        (4, "MPI_Barrier", None, str(WORLD), 4),
        (6, "ucp_tag_send_nbx", 4096, None, None),
    ]
    assert json.loads(tables["collective"][0]["args"]) == {"bytes": 64, "tag": 3, "remote_rank": 0}
    assert json.loads(tables["collective"][3]["args"]) == {"bytes": 10, "receive_bytes": 10}
