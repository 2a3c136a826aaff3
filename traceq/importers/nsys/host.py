"""Host activity: CUDA, OS, MPI and library calls, profiler overhead, file accesses, and switches of threads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.backtraces import CARRIER_CLASS, StackedCalls
from traceq.importers.nsys.columns import (
    build_json_objects,
    compute_durations,
    decode_enum,
    null_if,
    null_negative,
    to_int32,
)
from traceq.importers.nsys.context import ImportState, Rows, build_batch
from traceq.importers.rows import repeat_text

RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
# eventClass: the kind of record inside a table.
_DRIVER_CLASSES = {1: "driver", 13: "driver"}
_OS_MARK_CLASSES = (31, 32)
# _v7000 is the CUDA version a call appeared in, _ptsz/_ptds its per-thread-stream form; _v2 belongs to the
# name.
_VERSION_SUFFIX = r"(_(v[0-9]{4,}|ptsz|ptds))+$"
_OVERHEAD_WORDS = (
    *("unknown", "driver_compiler", "buffer_flush", "instrumentation", "resource"),
    *("runtime_module_loading", "lazy_function_loading", "command_buffer_full"),
)
_OVERHEAD = ("overheadType", dict(enumerate(_OVERHEAD_WORDS, 1)), "profiler")


class CallTable(msgspec.Struct, frozen=True):
    """Description of one nsys table of calls: how its rows become rows of cpu_slice."""

    table: str
    kind: str
    category: tuple[str, Mapping[int, str], str] | str | None = None
    """The same for all rows; or a column, the words for its numbers, and the word for other numbers."""
    name: str = "nameId"
    columns: tuple[str, ...] = ()
    args: dict[str, str] = msgspec.field(default_factory=dict)
    """JSON member: source column, left out where it is 0."""
    args_or_zero: dict[str, str] = msgspec.field(default_factory=dict)
    """JSON member: source column, where 0 is a value like any other; rank 0, say."""
    left_out: tuple[tuple[int, ...], str, str] | None = None
    """Classes of records that are no calls of their own, and the note on them."""
    versioned: bool = False
    """Whether names carry version suffixes."""


CALLS = (
    CallTable(
        RUNTIME,
        "runtime",
        ("eventClass", _DRIVER_CLASSES, "runtime"),
        columns=("eventClass", "correlationId"),
        args={"return_value": "returnValue"},
        left_out=(
            (CARRIER_CLASS,),
            "cuda_backtrace_not_imported",
            f"Rows of {RUNTIME} that repeat a CUDA call to carry its call stack (see backtrace); the call itself counts once.",
        ),
        versioned=True,
    ),
    CallTable(
        "OSRT_API",
        "os",
        columns=("eventClass", "callchainId"),
        args={"return_value": "returnValue"},
        left_out=(
            _OS_MARK_CLASSES,
            "os_mark_not_imported",
            "Rows of OSRT_API that mark where tracing started or finished in a process; they are not calls.",
        ),
    ),
    *(
        CallTable(table, "overhead", _OVERHEAD, columns=("overheadType",), args={"correlation_id": "correlationId"})
        for table in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")
    ),
    CallTable("CUBLAS_EVENTS", "other", "cublas"),
    CallTable("CUDNN_EVENTS", "other", "cudnn"),
)


def read_host(state: ImportState) -> Rows:
    """Yield batches of cpu_slice: CUDA, operating system, cuBLAS and cuDNN calls, and overhead; and backtrace of those."""
    for calls in CALLS:
        stacked = StackedCalls(state, calls.table)
        for rows in state.read_timed(calls.table, columns_to_read(calls), keep=partial(_drop_marks, state, calls)):
            slices = build_slices(state, calls, rows)
            stacked.add_calls(rows, slices.column("slice_id"))
            yield "cpu_slice", slices
        yield from stacked.read_stacks(state)


def _drop_marks(state: ImportState, calls: CallTable, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows without those that are no calls (`calls.left_out`), which are counted in a note."""
    if calls.left_out is None:
        return rows
    classes, code, text = calls.left_out
    found = pc.is_in(rows.column("eventClass"), value_set=pa.array(classes, pa.int64()))
    state.notes.info(code, pc.sum(found).as_py() or 0, text)
    return rows.filter(pc.invert(found)) if pc.any(found).as_py() else rows


def columns_to_read(calls: CallTable) -> list[str]:
    """Return the names of the table's columns that `build_slices` needs."""
    return [
        *("start", "end", "globalTid", calls.name),
        *(*calls.columns, *calls.args.values(), *calls.args_or_zero.values()),
    ]


def build_slices(state: ImportState, calls: CallTable, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of a table of calls as rows of cpu_slice, in the same order; all rows have a usable start.

    Thread numbers, slice ids and the latest end are kept in `state`.
    """
    starts = rows.column("start")
    lengths = compute_durations(starts, rows.column("end"), calls.table, state.notes)
    state.extend_end(starts, lengths)
    names = state.strings.names_of(rows.column(calls.name))
    members = {key: null_if(rows.column(own), 0) for key, own in calls.args.items()}
    members |= {key: rows.column(own) for key, own in calls.args_or_zero.items()}
    return build_batch(
        {
            "slice_id": state.take_ids(rows.num_rows),
            "thread_id": state.threads.thread_ids(rows.column("globalTid")),
            "kind": repeat_text(calls.kind, rows.num_rows),
            "category": _category_column(calls, rows),
            "name": _without_version(names) if calls.versioned else names,
            "ts": starts,
            "dur": lengths,
            "correlation_id": null_if(rows.column("correlationId"), 0) if "correlationId" in calls.columns else None,
            "args": build_json_objects(members),
        }
    )


def _category_column(calls: CallTable, rows: pa.RecordBatch) -> pa.Array | None:
    """Return the category of each row as `calls.category` says, None where the table has none."""
    if calls.category is None:
        return None
    if isinstance(calls.category, str):
        return repeat_text(calls.category, rows.num_rows)
    column, words, other = calls.category
    return decode_enum(rows.column(column), words, other)


def _without_version(names: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return names of CUDA calls without their version suffix: cudaLaunchKernel for cudaLaunchKernel_v7000."""
    plain = pc.replace_substring_regex(names.dictionary, _VERSION_SUFFIX, "")
    return pa.DictionaryArray.from_arrays(names.indices, plain)


_SCHEDULING = "SCHED_EVENTS"

# threadState when it was taken off (ENUM_SAMPLING_THREAD_STATE); Linux exports have 0, or 5 at the thread's end.
_STATES = {1: "preempted", 2: "waiting", 3: "waiting", 4: "stopped", 5: "ended", 7: "waiting", 8: "waiting"}
# threadBlock says more (ENUM_SCHEDULING_THREAD_BLOCK), on Windows and QNX; what is not listed waits for something.
_BLOCKS = {
    **dict.fromkeys((42, 43, 44, 45, 49, 51), "preempted"),
    **dict.fromkeys((17, 20, 21, 30, 31, 52), "page_fault"),
    **dict.fromkeys((3, 24), "stopped"),
    34: "ended",
}
_NO_BLOCK = (0, 1)


def read_scheduling(state: ImportState) -> Rows:
    """Yield batches of thread_switch for threads with other records: the program's, not the whole machine's."""
    for rows in state.read_timed(_SCHEDULING, ["start", "globalTid", "cpu", "isSchedIn", "threadState", "threadBlock"]):
        known = rows.filter(state.threads.are_known(rows.column("globalTid")))
        if known.num_rows:
            yield "thread_switch", _build_switches(state, known)


def _build_switches(state: ImportState, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of SCHED_EVENTS as rows of thread_switch; a reason is given only where the thread leaves its CPU."""
    on_cpu = pc.not_equal(rows.column("isSchedIn").fill_null(0), 0)
    reasons = pc.coalesce(
        _decode_blocks(rows.column("threadBlock")), _decode_words(rows.column("threadState"), _STATES)
    )
    return build_batch(
        {
            "thread_id": state.threads.thread_ids(rows.column("globalTid")),
            "ts": rows.column("start"),
            "on_cpu": on_cpu,
            "cpu": to_int32(rows.column("cpu"), "cpu", state.notes),
            "reason": pc.if_else(on_cpu, pa.scalar(None, pa.string()), reasons),
        }
    )


def _decode_blocks(blocks: pa.Array) -> pa.Array:
    """Return in words why each thread was blocked, "waiting" for unlisted reasons; NULL where the file tells none."""
    says_nothing = pc.or_kleene(blocks.is_null(), pc.is_in(blocks, value_set=pa.array(_NO_BLOCK, pa.int64())))
    words = pc.coalesce(_decode_words(blocks, _BLOCKS), pa.scalar("waiting"))
    return pc.if_else(says_nothing, pa.scalar(None, pa.string()), words)


def _decode_words(codes: pa.Array, words: dict[int, str]) -> pa.Array:
    """Return the words of enum numbers as a text column, NULL for a number without a word."""
    return decode_enum(codes, words).cast(pa.string())


# Recorded by nsys of 2026 with --osrt-file-access=true.
_ACCESSES = "OSRT_FILE_ACCESS_EVENTS"
_FILES = "OSRT_FILE_ACCESS_DESCRIPTORS"

_OPERATION = re.compile(r"open|creat|close|read|write", re.IGNORECASE)
_GLOBAL_IDS_FROM = 1 << 24
_PID_SHIFT = 24


def read_file_accesses(state: ImportState) -> Rows:
    """Yield batches of file_access: which thread opened, read, wrote or closed which file, when, and how many bytes."""
    files = {row[0]: row[1:] for row in state.source.fetch_rows(_FILES, ["fileAccessId", "processId", "filePath"])}
    labelled = state.source.fetch_rows("ENUM_OSRT_FILE_ACCESS_EVENT_TYPE", ["id", "label"])
    kinds = {number: str(label) for number, label in labelled if label}
    machine = _find_machine(state)
    wanted = ["fileAccessId", "threadId", "startedAt", "endedAt", "eventType", "apiCallId", "bytesProcessed"]
    for rows in state.read_timed(_ACCESSES, wanted, time="startedAt"):
        of_file = [files.get(file_id, (None, None)) for file_id in rows.column("fileAccessId").to_pylist()]
        threads = zip(rows.column("threadId").to_pylist(), of_file, strict=True)
        functions = state.strings.names_or_null(rows.column("apiCallId")).cast(pa.string())
        labels = [kinds.get(code) for code in rows.column("eventType").to_pylist()]
        operations = [_find_operation(*words) for words in zip(labels, functions.to_pylist(), strict=True)]
        yield (
            "file_access",
            build_batch(
                {
                    "thread_id": state.threads.thread_ids(
                        pa.array([_global_id(state, thread, pid, machine) for thread, (pid, _) in threads], pa.int64())
                    ),
                    "ts": rows.column("startedAt"),
                    "dur": compute_durations(rows.column("startedAt"), rows.column("endedAt"), _ACCESSES, state.notes),
                    "operation": pa.array(operations, pa.string()),
                    "function": functions,
                    "bytes": rows.column("bytesProcessed"),
                    "path": pa.array([path for _, path in of_file], pa.string()),
                }
            ),
        )


def _find_machine(state: ImportState) -> int:
    """Return bits 48 and up of a global id, shared by all of the capture, from its first OS call; 1 << 48 without any."""
    for (global_tid,) in state.source.fetch_rows("OSRT_API", ["globalTid"]):
        if isinstance(global_tid, int) and global_tid:
            return global_tid >> 48 << 48
    return 1 << 48


def _global_id(state: ImportState, thread: Any, pid: Any, machine: int) -> int | None:
    """Return the global id of a thread given by its system id; None where its process is unknown, or one of several.

    `machine` has the upper bits of processes that no row has named.
    """
    if not isinstance(thread, int) or thread >= _GLOBAL_IDS_FROM:
        return thread if isinstance(thread, int) else None
    if not isinstance(pid, int):
        return None
    found = state.processes.global_pids_of(pid) or [machine | pid << _PID_SHIFT]
    state.notes.info(
        "thread_unclear",
        len(found) > 1,
        f"Rows of {_ACCESSES} whose process id is shared by several processes; their thread is unknown.",
    )
    return found[0] | thread if len(found) == 1 else None


def _find_operation(label: str | None, function: str | None) -> str | None:
    """Return open, close, read or write by nsys' label for the event, else by the function's name; None in doubt."""
    found = _OPERATION.search(label or "") or _OPERATION.search(function or "")
    return {"creat": "open"}.get(word := found[0].lower(), word) if found else None


_COMMUNICATORS = "MPI_COMMUNICATORS"
_P2P = "MPI_P2P_EVENTS"
_COLLECTIVES = "MPI_COLLECTIVES_EVENTS"
_UCX = ("UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS", "UCP_EVENTS")
_MPI_ARGS = {"bytes": "size", "receive_bytes": "recvSize", "tag": "tag"}
_MPI_RANKS = {"remote_rank": "remoteRank", "root_rank": "rootRank"}
_UCX_ARGS = {"bytes": "packedSize", "tag": "tag"}

MPI_CALLS = (
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
TABLES = (*(calls.table for calls in (*CALLS, *MPI_CALLS)), _COMMUNICATORS, _SCHEDULING, _ACCESSES)

# Of other collectives nobody says whether nsys counts one rank's part or all of them.
_WHOLE_MESSAGE = r"^MPI_I?(allreduce|bcast|reduce)(_init)?$"


def read_mpi(state: ImportState) -> Rows:
    """Yield batches of cpu_slice for all MPI and UCX calls, and of collective for messages and collectives in them."""
    sizes = _read_group_sizes(state)
    for calls in MPI_CALLS:
        for rows in state.read_timed(calls.table, columns_to_read(calls)):
            made = build_slices(state, calls, rows)
            yield "cpu_slice", made
            if calls.table in (_P2P, _COLLECTIVES):
                yield "collective", _build_messages(state, rows, made, sizes, whole=calls.table == _P2P)
            elif calls.table == _UCX[0]:
                sent = null_negative(rows.column("packedSize"), "packedSize", state.notes)
                yield "collective", _build_collectives(made, bytes=sent)


def _read_group_sizes(state: ImportState) -> dict[int, int]:
    """Return the number of ranks of each MPI communicator by its handle; handles with several sizes are left out."""
    sizes: dict[int, set[int]] = {}
    for handle, size in state.source.fetch_rows(_COMMUNICATORS, ["commHandle", "size"]):
        if isinstance(handle, int) and isinstance(size, int) and 0 < size < 1 << 31:
            sizes.setdefault(handle, set()).add(size)
    return {handle: found.pop() for handle, found in sizes.items() if len(found) == 1}


def _build_messages(
    state: ImportState, rows: pa.RecordBatch, made: pa.RecordBatch, sizes: dict[int, int], *, whole: bool
) -> pa.RecordBatch:
    """Return rows of collective for MPI calls, with bytes and, by `sizes`, the number of ranks of the communicator.

    `made` are the calls' rows of cpu_slice. Bytes are NULL for collectives where it is unclear whether nsys counts one
    rank's part or all, unless `whole` says that the rows' sizes are whole messages.
    """
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
    """Return rows of collective for these rows of cpu_slice (id, name, args), with the given columns added."""
    args = made.column("args").cast(pa.string()) if "args" in made.schema.names else None
    return build_batch(
        {"slice_id": made.column("slice_id"), "op": made.column("name").cast(pa.string()), "args": args, **columns}
    )
