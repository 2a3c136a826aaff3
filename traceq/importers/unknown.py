"""Telling the user what a file is when it is no trace, and what to do about it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from shlex import quote

from isal import igzip, isal_zlib

from traceq.common.units import count
from traceq.errors import TraceqError, UnknownFormat, UnusableTrace
from traceq.importers import flight_recorder
from traceq.importers.compile_log import is_compile_log
from traceq.importers.execution_trace.reading import is_execution_trace
from traceq.importers.kernel_reports import is_kernel_report
from traceq.importers.operations.source import PARQUET, find_missing_columns
from traceq.importers.packed import GZIP
from traceq.importers.request_logs import is_request_log
from traceq.importers.sqlite import SQLITE
from traceq.importers.training_logs import is_training_log, tensorboard
from traceq.importers.xplane.wire import DamagedMessage, read_fields

_WAY_OUT = (
    "traceq reads what torch.profiler, nsys export --type sqlite, rocprofv3, jax.profiler"
    " and torch.cuda.memory._dump_snapshot() write"
)

# (what JSON of another tool has near its beginning, what it is and what to do)
_KNOWN_JSON = (
    (re.compile(rb'"(?:cell_type|nbformat)"\s*:'), f"a Jupyter notebook; {_WAY_OUT}"),
    (
        re.compile(rb'speedscope\.app/file-format|"exporter"\s*:\s*"speedscope|\A\{\s*"shared"\s*:\s*\{\s*"frames"'),
        "a speedscope profile: stacks of the host, nothing of a GPU; open it at speedscope.app, or record with torch.profiler",
    ),
    (
        re.compile(rb"\[pytorch\|profiler\|execution_", re.DOTALL),
        "an execution trace (or graph) of PyTorch, whose operators have no times; record with torch.profiler",
    ),
)

# Bytes of the header of a SQLite database.
_HEADER = 100

_OTHER_PICKLE = (
    "a pickle, but not a memory snapshot from torch.cuda.memory._dump_snapshot(); for safety, traceq opens no others"
)

_NSIGHT_COMPUTE = (
    "a report of Nsight Compute: counters of kernels, not times of a run; to give them to a trace, export them: ncu"
    " --import REPORT --csv --page raw > kernels.csv (docs/kernel-reports.md), and for times record with: nsys profile"
)

# (how the file begins, what it is and what to do)
_KNOWN_OTHERS = (
    (b"(dp0", _OTHER_PICKLE),
    (b"(lp0", _OTHER_PICKLE),
    (b"\x89PNG", f"a PNG image; {_WAY_OUT}"),
    (b"\xff\xd8\xff", f"a JPEG image; {_WAY_OUT}"),
    (b"GIF8", f"a GIF image; {_WAY_OUT}"),
    (b"%PDF", f"a PDF document; {_WAY_OUT}"),
    (b"version https://git-lfs", "a git-lfs pointer, not the file itself; fetch it with: git lfs pull"),
    (b"\x00\x05\x16\x07", "macOS metadata (AppleDouble), not a trace; use the file without the leading ._"),
    (
        SQLITE,
        "a SQLite database, but not an nsys export, rocpd or RPD, nor a snapshot; make one: nsys export --type sqlite REPORT",
    ),
    (b"<", "an HTML or XML page, not a trace; traceq open shows a report, otherwise download the raw file"),
    (b"\x80", _OTHER_PICKLE),
    (
        b"NVR\x00",
        _NSIGHT_COMPUTE,
    ),
    (
        b"PERFILE2",
        "perf.data of Linux' perf: samples of the host, without GPU work; record that with nsys or torch.profiler",
    ),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first: zstd -d FILE"),
    (b"\xfd7zXZ\x00", "compressed with xz; unpack it first: xz -d FILE"),
    (b"BZh", "compressed with bzip2; unpack it first: bzip2 -d FILE"),
    (b"PK\x03\x04", f"a zip archive without a JSON trace in it; {_WAY_OUT}"),
    (b"{", f"JSON, but not a Chrome trace: it has no traceEvents list, nor one of rocprofv3; {_WAY_OUT}"),
    (b"[", f"a JSON list, but not of Chrome trace events; {_WAY_OUT}"),
)


_EVENT_FILE = (
    "an event file of TensorBoard, not a profile: these lie beside it or in plugins/profile (*.pt.trace.json,"
    " *.xplane.pb)"
)
# (bytes, from where on, until where, what a file is that has them there)
_KNOWN_INSIDE = (
    (b"brain.Event:", 0, 64, _EVENT_FILE),
    (b"ustar", 257, 262, "a tar archive; unpack it, and name the trace or the directory: tar -xf FILE"),
)
_CHECKPOINT = f"a file of torch.save (tensors, a checkpoint), not a trace; {_WAY_OUT}"

_PERFETTO = (
    "a binary trace of Perfetto (of rocprof-sys, Android and other tools), which traceq does not read; make JSON of it, and read"
    " that: traceconv json FILE trace.json (traceconv is at get.perfetto.dev)"
)
# Fields of its packets, and whether they are messages or texts: user, time, sequence; an event, a mark, a track.
_OF_PACKET = {(3, False), (8, False), (10, False), (11, True), (36, True), (60, True)}
_PACKETS = 8

# What only the suffix tells.
_KNOWN_SUFFIXES = {
    ".qdstrm": "what nsys recorded and did not finish to process; make a report of it: QdstrmImporter -i FILE",
    ".ncu-rep": next(what for prefix, what in _KNOWN_OTHERS if prefix == b"NVR\x00"),
}


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
    if not head.strip():
        name = "gzip'd file" if is_packed else "file"
        return UnusableTrace(
            f"{path}: the {name} is empty{' but for blanks' if head else ''}; was the profiler stopped before it could write?"
        )
    if not is_packed and (why := _find_lacking_part(path, head)) is not None:
        return why
    verb = "is gzip'd and contains" if is_packed else "is"
    what = (
        _name_other_command(path, head, is_packed=is_packed)
        or _KNOWN_SUFFIXES.get(path.suffix)
        or _describe_content(head)
    )
    return UnknownFormat(f"{path}: {verb} {what}")


_EXECUTION_TRACE = (
    "an execution trace of PyTorch (which operator uses whose tensors), without times; beside the profiler's trace of the same"
    " steps it is traceq report TRACE --with {log} (docs/execution-traces.md)"
)
_WHOLE_RUN = (
    "the whole run from logs alone is traceq goodput {log}; beside the trace of some of its steps it is traceq report TRACE"
    " --with {log} (docs/run-logs.md)"
)

# Files of other commands, in the order in which they are asked for, with how these are called.
_OTHER_LOGS: tuple[tuple[Callable[[Path], bool], str], ...] = (
    (
        is_compile_log,
        (
            "a log of torch.compile, not a trace; what it compiled is traceq compile-log {log}; beside a trace of the same run it"
            " is traceq report TRACE --with {log} (docs/compile.md)"
        ),
    ),
    (
        is_kernel_report,
        (
            "a report of a kernel profiler, not a trace; its kernels are traceq kernels {log}; beside a trace of the same program"
            " it is traceq report TRACE --with {log} (docs/kernel-reports.md)"
        ),
    ),
    (
        is_request_log,
        (
            "a log of requests to a server, not a trace; beside the trace of some of its steps it is traceq report TRACE --with"
            " {log} (docs/requests.md)"
        ),
    ),
    (is_training_log, f"a training log, not a trace: {_WHOLE_RUN}"),
)


def _name_other_command(path: Path, head: bytes, *, is_packed: bool) -> str | None:
    """Return in words what the file, which begins with `head`, is and which other command reads it; None if none does."""
    if flight_recorder.is_dump(path):
        return (
            f"a dump of PyTorch's flight recorder, not a trace; see where the job hangs: traceq hang {quote(str(path))}"
        )
    if is_execution_trace(path):
        return _EXECUTION_TRACE.format(log=quote(path.name))
    if is_packed:
        return None
    if tensorboard.sniff_log(path, head) and is_training_log(path):
        return f"{_EVENT_FILE}; it is a training log: {_WHOLE_RUN}".format(log=quote(path.name))
    return next((words.format(log=quote(path.name)) for is_it, words in _OTHER_LOGS if is_it(path)), None)


def _describe_content(head: bytes) -> str:
    """Return in words what a file is by its first bytes, and what to do, as the end of a message."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"{"):
        known = next((what for mark, what in _KNOWN_JSON if mark.search(begin)), None)
    elif begin.startswith(b"PK\x03\x04") and b"/data.pkl" in head:
        known = _CHECKPOINT
    else:
        known = next((what for part, start, end, what in _KNOWN_INSIDE if part in head[start:end]), None)
    known = known or next((what for prefix, what in _KNOWN_OTHERS if begin.startswith(prefix)), None)
    if known is None and _is_perfetto(head):
        known = _PERFETTO
    return known or f"{'plain text' if _is_text(head) else 'nothing that traceq knows'}; {_WAY_OUT}"


def _is_perfetto(head: bytes) -> bool:
    """Return whether the bytes begin with packets of Perfetto: messages that have fields which nearly all packets have."""
    try:
        packets = list(islice(read_fields(head, (0, len(head)), is_cut=True), _PACKETS))
        return bool(packets) and all(
            number == 1
            and any((field, part != (0, 0)) in _OF_PACKET for field, _, part in read_fields(head, packet, is_cut=True))
            for at, (number, _, packet) in enumerate(packets)
            if at == 0 or packet[1] <= len(head)
        )
    except DamagedMessage:
        return False


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
    if head.startswith(SQLITE) and (lost := _count_lost_bytes(head, path.stat().st_size)):
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
