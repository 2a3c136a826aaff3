"""Message passing on the host: MPI and UCX calls as annotations and, where they move data, collectives."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import null_negative
from traceq.importers.nsys.context import ImportState, Rows, build_batch
from traceq.importers.nsys.host import CallTable, build_slices, columns_to_read

_COMMUNICATORS = "MPI_COMMUNICATORS"
_P2P = "MPI_P2P_EVENTS"
_COLLECTIVES = "MPI_COLLECTIVES_EVENTS"
_UCX = ("UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS", "UCP_EVENTS")
_MPI_ARGS = {"bytes": "size", "receive_bytes": "recvSize", "tag": "tag"}
_MPI_RANKS = {"remote_rank": "remoteRank", "root_rank": "rootRank"}
_UCX_ARGS = {"bytes": "packedSize", "tag": "tag"}

CALLS = (
    *(
        CallTable(
            table, "annotation", "MPI", name="textId", columns=("commHandle",), args=_MPI_ARGS, args_or_zero=_MPI_RANKS
        )
        for table in (_P2P, _COLLECTIVES, "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS")
    ),
    *(
        CallTable(table, "annotation", "UCX", name="textId", args=_UCX_ARGS, args_or_zero={"peer": "peerWorkerUid"})
        for table in _UCX
    ),
)
TABLES = (*(calls.table for calls in CALLS), _COMMUNICATORS)

# Of other collectives nobody says whether nsys counts one rank's part or all of them.
_WHOLE_MESSAGE = r"^MPI_I?(allreduce|bcast|reduce)(_init)?$"


def read_mpi(state: ImportState) -> Rows:
    """Yield rows of cpu_slice for every call, and of collective for those that move data."""
    sizes = _read_group_sizes(state)
    for calls in CALLS:
        for rows in state.read_timed(calls.table, columns_to_read(calls)):
            made = build_slices(state, calls, rows)
            yield "cpu_slice", made
            if calls.table in (_P2P, _COLLECTIVES):
                yield "collective", _build_messages(state, rows, made, sizes, whole=calls.table == _P2P)
            elif calls.table == _UCX[0]:
                sent = null_negative(rows.column("packedSize"), "packedSize", state.notes)
                yield "collective", _build_collectives(made, bytes=sent)


def _read_group_sizes(state: ImportState) -> dict[int, int]:
    """Return the ranks of each communicator by its handle; ambiguous handles are left out."""
    sizes: dict[int, set[int]] = {}
    for handle, size in state.source.fetch_rows(_COMMUNICATORS, ["commHandle", "size"]):
        if isinstance(handle, int) and isinstance(size, int) and 0 < size < 1 << 31:
            sizes.setdefault(handle, set()).add(size)
    return {handle: found.pop() for handle, found in sizes.items() if len(found) == 1}


def _build_messages(
    state: ImportState, rows: pa.RecordBatch, made: pa.RecordBatch, sizes: dict[int, int], *, whole: bool
) -> pa.RecordBatch:
    sent = null_negative(rows.column("size"), "size", state.notes)
    if not whole:
        names = made.column("name").cast(pa.string())
        is_known = pc.match_substring_regex(names, _WHOLE_MESSAGE, ignore_case=True)
        sent = pc.if_else(is_known, sent, pa.scalar(None, pa.int64()))
    handles = rows.column("commHandle")
    places = pc.index_in(handles, value_set=pa.array(list(sizes), pa.int64()))
    group_sizes = pa.array(list(sizes.values()), pa.int32()).take(places)
    return _build_collectives(made, bytes=sent, group_name=handles.cast(pa.string()), group_size=group_sizes)


def _build_collectives(made: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """Build rows of collective from slices, with these columns besides."""
    args = made.column("args").cast(pa.string()) if "args" in made.schema.names else None
    return build_batch(
        {"slice_id": made.column("slice_id"), "op": made.column("name").cast(pa.string()), "args": args, **columns}
    )
