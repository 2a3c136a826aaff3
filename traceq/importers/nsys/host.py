"""What the host did: CUDA calls, OS calls, library calls, and the profiler's own overhead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import constant, durations, json_objects, labelled, without
from traceq.importers.nsys.context import Job, Rows, batch_of

RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
# eventClass: the kind of record inside a table.
_DRIVER_CLASSES = {1: "driver", 13: "driver"}
_BACKTRACE_CLASS = 67
_OS_MARK_CLASSES = (31, 32)
# _v7000 is the CUDA version a call appeared in, _ptsz/_ptds its per-thread-stream form; _v2 belongs to the
# name.
_VERSION_SUFFIX = r"(_(v[0-9]{4,}|ptsz|ptds))+$"
_OVERHEAD_WORDS = (
    *("unknown", "driver_compiler", "buffer_flush", "instrumentation", "resource"),
    *("runtime_module_loading", "lazy_function_loading", "command_buffer_full"),
)
_OVERHEAD = ("overheadType", dict(enumerate(_OVERHEAD_WORDS, 1)), "profiler")


@dataclass(frozen=True)
class Calls:
    """A table of calls: start, end, thread, name, and what else is worth keeping."""

    table: str
    kind: str
    category: tuple[str, Mapping[int, str], str] | str | None = None
    """The same for all rows; or a column, the words for its numbers, and the word for other numbers."""
    name: str = "nameId"
    columns: tuple[str, ...] = ()
    args: dict[str, str] = field(default_factory=dict)
    """JSON member: source column, left out where it is 0."""
    args_or_zero: dict[str, str] = field(default_factory=dict)
    """JSON member: source column, where 0 is a value like any other; rank 0, say."""
    left_out: tuple[tuple[int, ...], str, str] | None = None
    """Classes of records that are no calls of their own, and the note on them."""
    versioned: bool = False
    """Whether names carry version suffixes."""


CALLS = (
    Calls(
        RUNTIME,
        "runtime",
        ("eventClass", _DRIVER_CLASSES, "runtime"),
        columns=("eventClass", "correlationId"),
        args={"return_value": "returnValue"},
        left_out=(
            (_BACKTRACE_CLASS,),
            "cuda_backtrace_not_imported",
            f"Rows of {RUNTIME} that repeat a CUDA call to carry its call stack; the call itself is there once.",
        ),
        versioned=True,
    ),
    Calls(
        "OSRT_API",
        "os",
        columns=("eventClass",),
        args={"return_value": "returnValue"},
        left_out=(
            _OS_MARK_CLASSES,
            "os_mark_not_imported",
            "Rows of OSRT_API that mark where tracing started or finished in a process; they are no calls.",
        ),
    ),
    *(
        Calls(table, "overhead", _OVERHEAD, columns=("overheadType",), args={"correlation_id": "correlationId"})
        for table in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")
    ),
    Calls("CUBLAS_EVENTS", "other", "cublas"),
    Calls("CUDNN_EVENTS", "other", "cudnn"),
)
TABLES = tuple(calls.table for calls in CALLS)


def read_host(job: Job) -> Rows:
    """Rows of cpu_slice from every table of calls."""
    for calls in CALLS:
        for rows in job.timed(calls.table, wanted(calls), keep=partial(_kept, job, calls)):
            yield "cpu_slice", slices(job, calls, rows)


def _kept(job: Job, calls: Calls, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that are calls; others are counted."""
    if calls.left_out is None:
        return rows
    classes, code, text = calls.left_out
    found = pc.is_in(rows.column("eventClass"), value_set=pa.array(classes, pa.int64()))
    job.notes.info(code, pc.sum(found).as_py() or 0, text)
    return rows.filter(pc.invert(found)) if pc.any(found).as_py() else rows


def wanted(calls: Calls) -> list[str]:
    """The columns of the source that `slices` needs."""
    return [
        *("start", "end", "globalTid", calls.name),
        *(*calls.columns, *calls.args.values(), *calls.args_or_zero.values()),
    ]


def slices(job: Job, calls: Calls, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of cpu_slice for rows of the table with usable starts."""
    starts = rows.column("start")
    lengths = durations(starts, rows.column("end"), calls.table, job.notes)
    job.seen(starts, lengths)
    names = job.strings.names(rows.column(calls.name))
    return batch_of(
        {
            "slice_id": job.ids(rows.num_rows),
            "thread_id": job.threads.numbers(rows.column("globalTid")),
            "kind": constant(calls.kind, rows.num_rows),
            "category": _category(calls, rows),
            "name": _without_version(names) if calls.versioned else names,
            "ts": starts,
            "dur": lengths,
            "correlation_id": without(rows.column("correlationId"), 0) if "correlationId" in calls.columns else None,
            "args": _args(calls, rows),
        }
    )


def _category(calls: Calls, rows: pa.RecordBatch) -> pa.Array | None:
    if calls.category is None:
        return None
    if isinstance(calls.category, str):
        return constant(calls.category, rows.num_rows)
    column, words, other = calls.category
    return labelled(rows.column(column), words, other)


def _args(calls: Calls, rows: pa.RecordBatch) -> pa.Array | None:
    members = {key: without(rows.column(own), 0) for key, own in calls.args.items()}
    members |= {key: rows.column(own) for key, own in calls.args_or_zero.items()}
    return json_objects(members)


def _without_version(names: pa.DictionaryArray) -> pa.DictionaryArray:
    plain = pc.replace_substring_regex(names.dictionary, _VERSION_SUFFIX, "")
    return pa.DictionaryArray.from_arrays(names.indices, plain)
