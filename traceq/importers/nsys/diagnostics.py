"""Messages of nsys itself about the capture, and tables that traceq does not read, as import_note."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceq.importers.nsys.context import ImportState

TABLE = "DIAGNOSTIC_EVENT"
_WARNING, _ERROR = 2, 3
LOST = re.compile(
    r"\b(dropped|discarded|lost|incomplete|truncated)\b"
    r"|buffers? (is |was |were )?(full|exhausted|overflow)"
    r"|not all .*(events|records|data)\b.*(collected|recorded)",
    re.IGNORECASE,
)
# One of them for each process; of those that CUDA was found in, the other.
_NO_CUDA, _CUDA = "No CUDA events collected", "Number of CUDA events collected"
_LONGEST = 300
# In this order: command lines to their end, then settings of variables, then paths.
_PRIVATE = (
    (re.compile(r"(?i)\b(command(?: line)?|arguments?|executable|launch(?:ed|ing)?)\b\s*[:=].*"), r"\1: <removed>"),
    (re.compile(r"\b([A-Z][A-Z0-9_]{2,})=\S+"), r"\1=<removed>"),
    (re.compile(r"[A-Za-z]:\\[^\s'\",;]+"), "<path>"),
    (re.compile(r"(?<![\w<>])~?(?:/[^\s/'\",;:()]+)+/?"), "<path>"),
)

# Read elsewhere, or descriptions of the machine and the capture that are nobody's business.
_SILENT = {
    "StringIds", "ThreadNames", "PROCESSES", "ProcessStreams", "META_DATA_CAPTURE", "META_DATA_EXPORT",
    "EXPORT_META_DATA", "TARGET_INFO_SYSTEM_ENV", "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS",
    "ANALYSIS_FILE", "UnwindMethodType", "SystemInfo",
}  # fmt: skip


def note_diagnostics(state: ImportState) -> None:
    """Add nsys' own warnings and errors about the capture to the notes, without private parts.

    Messages about lost events, and that no CUDA events were collected, count as errors of the capture.
    """
    rows = state.source.fetch_rows(TABLE, ["severity", "text"])
    if any(_NO_CUDA in str(text) for _, text in rows) and not any(_CUDA in str(text) for _, text in rows):
        state.notes.error(
            "gpu_not_collected",
            1,
            f"nsys: {_NO_CUDA}. Its tracing of CUDA did not start in the program, or the program did not use a GPU: record again"
            " with `nsys profile --trace=cuda,nvtx,osrt`, and start the program itself, not a wrapper that exits before it",
        )
    for severity, text in rows:
        message = remove_private(str(text or ""))
        if not message:
            continue
        if LOST.search(message):
            state.notes.error("events_dropped", 1, f"nsys: {message}")
        elif severity == _ERROR:
            state.notes.error("nsys_error", 1, f"nsys: {message}")
        elif severity == _WARNING:
            state.notes.info("nsys_warning", 1, f"nsys: {message}")


def remove_private(text: str) -> str:
    """Return the message on one line of at most 300 characters; paths, command lines and variables are replaced."""
    for pattern, replacement in _PRIVATE:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())[:_LONGEST]


def note_other_tables(state: ImportState) -> None:
    """Add a note with the number of rows for each table no reader used, except descriptions of machine and capture."""
    for table in state.source.untouched:
        if table in _SILENT or table.startswith("ENUM_"):
            continue
        unread = state.source.count_unread(table)
        if unread is not None:
            _note_unread(state, table, *unread)
        elif rows := state.source.fetch_scalar(table, "count(*)"):
            state.notes.info("table_not_imported", rows, f"Rows of {table}: traceq has no use for this table yet.")


def _note_unread(state: ImportState, table: str, read: str, rows: int, lacking: int) -> None:
    """Add a note on the rows of a table of which another version is read, data loss where `lacking` of them are not there."""
    text = f"Rows of {table} that were not read, because {read} is read instead, so that nothing counts twice"
    state.notes.info("table_twice", rows - lacking, f"{text}: it has the same rows.")
    state.notes.data_loss("table_twice", lacking, f"{text}: it has no rows with these times.")
