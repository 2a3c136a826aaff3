"""What was read from and written to which file: OSRT_FILE_ACCESS_*, which nsys of 2026 records with --osrt-file-access=true."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from traceq.importers.nsys.columns import durations
from traceq.importers.nsys.context import Job, Rows, batch_of

EVENTS = "OSRT_FILE_ACCESS_EVENTS"
FILES = "OSRT_FILE_ACCESS_DESCRIPTORS"
TABLES = (EVENTS,)

_OPERATION = re.compile(r"open|creat|close|read|write", re.IGNORECASE)
_GLOBAL_IDS_FROM = 1 << 24
_PID_SHIFT = 24


def read_file_accesses(job: Job) -> Rows:
    """All rows of file_access."""
    files = {each[0]: each[1:] for each in job.source.rows(FILES, ["fileAccessId", "processId", "filePath"])}
    labelled = job.source.rows("ENUM_OSRT_FILE_ACCESS_EVENT_TYPE", ["id", "label"])
    kinds = {number: str(label) for number, label in labelled if label}
    machine = _machine(job)
    wanted = ["fileAccessId", "threadId", "startedAt", "endedAt", "eventType", "apiCallId", "bytesProcessed"]
    for rows in job.timed(EVENTS, wanted, time="startedAt"):
        of_file = [files.get(each, (None, None)) for each in rows.column("fileAccessId").to_pylist()]
        threads = zip(rows.column("threadId").to_pylist(), of_file, strict=True)
        functions = job.strings.optional(rows.column("apiCallId")).cast(pa.string())
        labels = [kinds.get(each) for each in rows.column("eventType").to_pylist()]
        operations = [_operation(*each) for each in zip(labels, functions.to_pylist(), strict=True)]
        yield (
            "file_access",
            batch_of(
                {
                    "thread_id": job.threads.numbers(
                        pa.array([_global_id(thread, pid, machine) for thread, (pid, _) in threads], pa.int64())
                    ),
                    "ts": rows.column("startedAt"),
                    "dur": durations(rows.column("startedAt"), rows.column("endedAt"), EVENTS, job.notes),
                    "operation": pa.array(operations, pa.string()),
                    "function": functions,
                    "bytes": rows.column("bytesProcessed"),
                    "path": pa.array([path for _, path in of_file], pa.string()),
                }
            ),
        )


def _machine(job: Job) -> int:
    """What all global ids of the capture have above the process id."""
    for (global_tid,) in job.source.rows("OSRT_API", ["globalTid"]):
        if isinstance(global_tid, int) and global_tid:
            return global_tid >> 48 << 48
    return 1 << 48


def _global_id(thread: Any, pid: Any, machine: int) -> int | None:
    """The global id of a thread that is named by its number in the system; None where its process is unknown."""
    if not isinstance(thread, int) or thread >= _GLOBAL_IDS_FROM:
        return thread if isinstance(thread, int) else None
    return machine | pid << _PID_SHIFT | thread if isinstance(pid, int) else None


def _operation(label: str | None, function: str | None) -> str | None:
    """open, close, read or write: by nsys' word for the event, else by the function."""
    found = _OPERATION.search(label or "") or _OPERATION.search(function or "")
    return {"creat": "open"}.get(word := found[0].lower(), word) if found else None
