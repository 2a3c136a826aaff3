"""Message passing on the host: nsys' tables of MPI and UCX calls, as annotations and, where they move data, collectives."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import non_negative
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.host import Calls, slices, wanted

_COMMUNICATORS = "MPI_COMMUNICATORS"
_P2P = "MPI_P2P_EVENTS"
_COLLECTIVES = "MPI_COLLECTIVES_EVENTS"
_UCX = ("UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS", "UCP_EVENTS")
_MPI_ARGS = {"bytes": "size", "receive_bytes": "recvSize", "tag": "tag"}
_MPI_RANKS = {"remote_rank": "remoteRank", "root_rank": "rootRank"}
_UCX_ARGS = {"bytes": "packedSize", "tag": "tag"}

CALLS = (
    *(
        Calls(
            table, "annotation", "MPI", name="textId", columns=("commHandle",), args=_MPI_ARGS, args_or_zero=_MPI_RANKS
        )
        for table in (_P2P, _COLLECTIVES, "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS")
    ),
    *(
        Calls(table, "annotation", "UCX", name="textId", args=_UCX_ARGS, args_or_zero={"peer": "peerWorkerUid"})
        for table in _UCX
    ),
)
TABLES = (*(calls.table for calls in CALLS), _COMMUNICATORS)

# Of other collectives nobody says whether nsys counts one rank's part or all of them.
_WHOLE_MESSAGE = r"^MPI_I?(allreduce|bcast|reduce)(_init)?$"


def read_mpi(job: Job) -> Rows:
    """Rows of cpu_slice for every call, and of collective for those that move data."""
    sizes = _group_sizes(job)
    for calls in CALLS:
        for rows in job.timed(calls.table, wanted(calls)):
            made = slices(job, calls, rows)
            yield "cpu_slice", made
            if calls.table in (_P2P, _COLLECTIVES):
                yield "collective", _messages(job, rows, made, sizes, whole=calls.table == _P2P)
            elif calls.table == _UCX[0]:
                sent = non_negative(rows.column("packedSize"), "packedSize", job.notes)
                yield "collective", _collectives(made, bytes=sent)


def _group_sizes(job: Job) -> dict[int, int]:
    """Ranks of each communicator by its handle; handles that stand for several of different size are left out."""
    sizes: dict[int, set[int]] = {}
    for handle, size in job.source.rows(_COMMUNICATORS, ["commHandle", "size"]):
        if isinstance(handle, int) and isinstance(size, int) and 0 < size < 1 << 31:
            sizes.setdefault(handle, set()).add(size)
    return {handle: found.pop() for handle, found in sizes.items() if len(found) == 1}


def _messages(
    job: Job, rows: pa.RecordBatch, made: pa.RecordBatch, sizes: dict[int, int], *, whole: bool
) -> pa.RecordBatch:
    sent = non_negative(rows.column("size"), "size", job.notes)
    if not whole:
        names = made.column("name").cast(pa.string())
        is_known = pc.match_substring_regex(names, _WHOLE_MESSAGE, ignore_case=True)
        sent = pc.if_else(is_known, sent, pa.scalar(None, pa.int64()))
    handles = rows.column("commHandle")
    places = pc.index_in(handles, value_set=pa.array(list(sizes), pa.int64()))
    group_sizes = pa.array(list(sizes.values()), pa.int32()).take(places)
    return _collectives(made, bytes=sent, group_name=handles.cast(pa.string()), group_size=group_sizes)


def _collectives(made: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """Rows of collective for slices, with these columns besides."""
    args = made.column("args").cast(pa.string()) if "args" in made.schema.names else None
    return batch_of(
        {"slice_id": made.column("slice_id"), "op": made.column("name").cast(pa.string()), "args": args, **columns}
    )
