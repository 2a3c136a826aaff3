"""Telling the user what a file is when it is no trace, and what to do about it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from isal import igzip, isal_zlib

from traceq.common.units import count
from traceq.errors import TraceqError, UnknownFormat, UnusableTrace
from traceq.importers.operations.source import PARQUET, find_missing_columns
from traceq.importers.packed import GZIP

_WAY_OUT = (
    "traceq reads what torch.profiler, nsys export --type sqlite, rocprofv3, jax.profiler"
    " and torch.cuda.memory._dump_snapshot() write"
)

# Keys that a notebook has near its beginning.
_OF_NOTEBOOK = re.compile(rb'"(?:cell_type|nbformat)"\s*:')

_SQLITE = b"SQLite format 3\x00"
# Bytes of the header of a SQLite database.
_HEADER = 100

# (how the file begins, what it is and what to do)
_KNOWN_OTHERS = (
    (b"\x89PNG", f"a PNG image; {_WAY_OUT}"),
    (b"\xff\xd8\xff", f"a JPEG image; {_WAY_OUT}"),
    (b"GIF8", f"a GIF image; {_WAY_OUT}"),
    (b"%PDF", f"a PDF document; {_WAY_OUT}"),
    (b"version https://git-lfs", "a git-lfs pointer, not the file itself; fetch it with: git lfs pull"),
    (b"\x00\x05\x16\x07", "macOS metadata (AppleDouble), not a trace; use the file without the leading ._"),
    (
        _SQLITE,
        "a SQLite database, but not an nsys export, rocpd or RPD; make one with: nsys export --type sqlite REPORT",
    ),
    (b"<", "an HTML or XML page, not a trace; download the raw file"),
    (
        b"\x80",
        "a pickle, but not a memory snapshot as torch.cuda.memory._dump_snapshot() writes it; for safety traceq opens no others",
    ),
    (b"PK\x03\x04", f"a zip archive without a JSON trace in it; {_WAY_OUT}"),
    (b"{", f"JSON, but not a Chrome trace: it has no traceEvents list, nor one of rocprofv3; {_WAY_OUT}"),
    (b"[", f"a JSON list, but not of Chrome trace events; {_WAY_OUT}"),
)


def explain_unknown(path: Path) -> TraceqError:
    """Return, not raise, the error that tells the user why no importer takes the file and what to do.

    UnusableTrace for a file that cannot be read, is empty or damaged; UnknownFormat for any other content.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        return UnusableTrace(f"{path}: cannot be read: {error.strerror}")
    is_packed = head.startswith(GZIP)
    if is_packed:
        try:
            with igzip.open(path) as file:  # type: ignore[no-untyped-call]
                head = file.read(4096)
        except (OSError, EOFError, isal_zlib.error):  # type: ignore[misc]
            return UnusableTrace(
                f"{path}: damaged from the start: it begins like gzip and cannot be decompressed; copy it again"
            )
    if not head:
        name = "gzip'd file" if is_packed else "file"
        return UnusableTrace(f"{path}: the {name} is empty; was the profiler stopped before it could write?")
    if not is_packed and (why := _find_lacking_part(path, head)) is not None:
        return why
    verb = "is gzip'd and contains" if is_packed else "is"
    return UnknownFormat(f"{path}: {verb} {_describe_content(head)}")


def _describe_content(head: bytes) -> str:
    """Return in words what a file is by its first bytes, and what to do, as the end of a message."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"{") and _OF_NOTEBOOK.search(begin):
        return f"a Jupyter notebook; {_WAY_OUT}"
    known = next((what for prefix, what in _KNOWN_OTHERS if begin.startswith(prefix)), None)
    return known or f"{'plain text' if _is_text(head) else 'nothing that traceq knows'}; {_WAY_OUT}"


def _is_text(head: bytes) -> bool:
    """Return whether the bytes are UTF-8 text: not blank, without control characters; the last character may be cut."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and all(letter.isprintable() or letter in "\t\r\n\f" for letter in text)


def _find_lacking_part(path: Path, head: bytes) -> TraceqError | None:
    """Return the error for a Parquet file without columns traceq needs or a SQLite database cut short, else None."""
    if head.startswith(PARQUET) and (why := find_missing_columns(path)):
        return UnknownFormat(f"{path}: a Parquet file, {why}; of nsys traceq reads: nsys export --type sqlite")
    if head.startswith(_SQLITE) and (lost := _count_lost_bytes(head, path.stat().st_size)):
        return UnusableTrace(
            f"{path}: a damaged SQLite database: {count(lost)} bytes of its end are missing; copy it again"
        )
    return None


def _count_lost_bytes(head: bytes, size: int) -> int:
    """Return how many bytes a SQLite database of `size` bytes is shorter than its header says, 0 if none or unknown."""
    if len(head) < _HEADER or head[24:28] != head[92:96]:
        return 0
    page = int.from_bytes(head[16:18]) or 1
    return max(0, int.from_bytes(head[28:32]) * (65536 if page == 1 else page) - size)
