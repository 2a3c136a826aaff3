"""Errors of DuckDB and the system about files, memory or places, in traceq's words."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import duckdb

from traceq.common.cache_folder import cache_path

# What DuckDB and the system raise for full disks, damaged files and too little memory; anything else is a fault of traceq.
FAILURES = (
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.FatalException,
    duckdb.TransactionException,
    duckdb.SerializationException,
    OSError,
)

# What to do, by what the system says.
_ROOM = "make room, or write elsewhere (-o; TMPDIR for temporary files)"
_ROOM_IN_CACHE = "make room, or put the cache elsewhere (TRACEQ_CACHE; TMPDIR for temporary files)"
_WAYS_OUT = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "files may not grow further here: ulimit -f says how far",
    errno.EMFILE: "raise the limit of open files: ulimit -n",
    errno.EROFS: "choose a place that can be written",
}

# Before the message of a function of ours that a query called.
_OF_FUNCTION = re.compile(r".*Python exception occurred while executing the UDF: \w+: ", re.DOTALL)

# Where DuckDB begins to say what its own users can do: traceq has other ways, and says them itself.
_HINT = re.compile(
    r"[ (]*(?:Possible solutions:|See also http|For more info|Use \"?(?:SET|PRAGMA) |This error signals|You can set|Stack Trace:|"
    r"\* (?:SET|PRAGMA|Enable) |Or set SET |or SET |To enable them|Please try installing|Consider (?:restarting|explicitly)|"
    r"You can try \"INSTALL)"
)


def one_line(error: BaseException) -> str:
    """Return the text of an error on one line, without DuckDB's advice."""
    return without_advice(str(error))


def way_out(error: BaseException, written: Path | None = None) -> str:
    """Return advice on a system error to append to its text: "; make room, ...", or "" without any.

    `written` is the file or folder that was being written, if one is known: the cache has another way out.
    """
    if isinstance(error, duckdb.OutOfMemoryException):
        return "; try again with more memory (--memory-limit), or an ingest with --jobs 1"
    number = getattr(error, "errno", None)
    if number is None and isinstance(error, duckdb.Error):
        # DuckDB passes on what the system says, at the end, and no number.
        said_last = one_line(error).rpartition(": ")[2]
        number = next((known for known in _WAYS_OUT if os.strerror(known) == said_last), None)
    if number not in _WAYS_OUT:
        return ""
    is_cache = written is not None and written.resolve().is_relative_to(cache_path().resolve())
    return f"; {_ROOM_IN_CACHE if is_cache and _WAYS_OUT[number] == _ROOM else _WAYS_OUT[number]}"


def without_advice(text: str) -> str:
    """Return DuckDB's message on one line without its advice; unchanged if it is nothing but advice."""
    line = " ".join(duckdb_message(text).split())
    return (_HINT.split(line)[0] or line).rstrip(" .!")


def duckdb_message(text: str) -> str:
    """Return the error message without the traceback, or DuckDB's words, that errors in functions of Python begin with."""
    if not text.startswith("Traceback "):
        return _OF_FUNCTION.sub("", text)
    return re.sub(r"^[\w.]+: ", "", text.rstrip().rpartition("\n")[2])


def message_of_function(error: BaseException) -> str | None:
    """Return the message of a function of ours that a query called, if the error is its."""
    found = _OF_FUNCTION.match(str(error))
    return None if found is None else str(error)[found.end() :]
