"""Opening a Chrome trace: plain, gzip'd, or alone in a zip archive; and recognising one by its content."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, GZIP, GzipStream, Readable, UnpackMeter

_ZIP = b"PK\x03\x04"
BOM = b"\xef\xbb\xbf"

_DAMAGED: tuple[type[Exception], ...] = (*DAMAGED, zipfile.BadZipFile)

# The list of an archive's members, bytes: some 50,000 of them.
_LARGEST_LIST = 4 << 20

# How far sniffing looks for the list of events: metadata of any length may come first.
_SNIFF_BYTES = 256 << 20
_SNIFF_CHUNK = 1 << 20


# What stands before an object in a list of events; a flat object with a phase.
_OBJECT = re.compile(rb"[\s,]*\{")
_FLAT_EVENT = re.compile(rb'\{[^\[\]{}]*"ph"\s*:')
_PHASE = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),]"')
LINES_WITHOUT_COMMA = re.compile(rb"\}([ \t]*\r?\n\s*)(?=\{)")
# Empty objects before the first event (RPD writes one), and how many characters the first event has at most.
_OBJECTS, _LONGEST_FIRST = 3, 1 << 16
_decoder = json.JSONDecoder()


class ByteStream:
    """The unpacked bytes of a trace file, plain, gzip'd or alone in a zip archive; tells how much of the file was read.

    `is_damaged` is whether damage ended it early; `large_events` is for its reader to count events skipped.
    """

    def __init__(self, path: Path, progress: Callable[[int], None]) -> None:
        """Open the file; `progress` gets the number of bytes read from it. Raises UnusableTrace for a bad archive."""
        self._progress = progress
        self._file = path.open("rb")
        try:
            self._bytes = _open_content(self._file, path)
        except UnusableTrace:
            self._file.close()
            raise
        self.is_damaged = False
        # Events of which more was read than may be kept.
        self.large_events = 0
        self._lines: EventLines | None = None

    @property
    def missing_commas(self) -> int:
        """The number of commas between events that are not in the file and were put in."""
        return self._lines.missing if self._lines else 0

    def separate_lines(self, text: bytes, *, is_closed: bool) -> bytes:
        """Return the text, which was read last, with commas between events on lines of their own; so is what follows.

        Where the list of events has no brackets (`is_closed` is false), one closes it at the end.
        """
        self._lines = EventLines(is_closed=is_closed)
        return self._lines.add_commas(text)

    def read(self, size: int) -> bytes:
        """Return about `size` unpacked bytes, b"" at the end; damage counts as the end and sets `is_damaged`."""
        data = self._read_unpacked(size)
        if self._lines is None:
            return data
        while data:
            if text := self._lines.add_commas(data):
                return text
            data = self._read_unpacked(size)
        return self._lines.take_rest()

    def _read_unpacked(self, size: int) -> bytes:
        try:
            data = self._bytes.read(size)
        except _DAMAGED:
            self.is_damaged = True
            return b""
        self._progress(self._file.tell())
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _open_content(file: IO[bytes], path: Path) -> Readable:
    """Return a reader of the file's content, unpacked where it is gzip'd or a zip archive; else the file itself."""
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return GzipStream(file)
    if magic == _ZIP:
        return _open_only_member(file, path)
    return file


class _ArchiveFile:
    """File of a zip archive for the zipfile module, which refuses to read an overlong list of members."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes. Raises zipfile.BadZipFile for more than the list of members may have."""
        if size > _LARGEST_LIST:
            raise zipfile.BadZipFile("it lists too many members")
        return self._file.read(size)


class _ArchiveMember:
    """Reader of an archive's member, unpacked while it is read; refuses what unpacks to far too much."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
        self._member = archive.open(info)
        # What the archive says of sizes need not be true.
        self._packed = min(info.compress_size, path.stat().st_size)
        self._meter = UnpackMeter(str(path))

    def read(self, size: int, /) -> bytes:
        """Return up to `size` unpacked bytes, b"" at the end. Raises UnusableTrace where they become far too many."""
        data = self._member.read(size)
        self._meter.count(self._packed, len(data))
        return data


# What a damaged list of members raises.
_DAMAGED_LIST = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError, struct.error)


def _open_only_member(file: IO[bytes], path: Path) -> Readable:
    """Return the reader of the archive's only JSON member, an empty one where it has none.

    Raises UnusableTrace for a damaged archive, several JSON members, or a compression that is not supported.
    """
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", _ArchiveFile(file)))
        found = [
            info
            for info in archive.infolist()
            if not info.is_dir() and ".json" in info.filename and "__MACOSX" not in info.filename
        ]
        if len(found) > 1:
            raise UnusableTrace(f"{path}: the archive holds {len(found)} traces; unpack it and name the directory")
        if found and found[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnusableTrace(f"{path}: the archive uses a compression that few tools support; unpack it first")
        if found:
            return _ArchiveMember(archive, found[0], path)
    except _DAMAGED_LIST as error:
        raise UnusableTrace(f"{path}: damaged zip archive ({error}); was it copied completely?") from error
    return io.BytesIO()


class EventLines:
    """Puts commas between events on lines of their own that have none; in JSON no line that ends in a brace is before another."""

    def __init__(self, *, is_closed: bool) -> None:
        self._is_closed = is_closed
        # What follows the last brace so far is not known yet.
        self._held = b""
        self.missing = 0

    def add_commas(self, text: bytes) -> bytes:
        """Return the text with commas, but for the last brace and the blanks after it."""
        text, self._held = self._held + text, b""
        end = text.rstrip()
        if end.endswith(b"}"):
            text, self._held = text[: len(end) - 1], text[len(end) - 1 :]
        text, missing = LINES_WITHOUT_COMMA.subn(rb"},\1", text)
        self.missing += missing
        return text

    def take_rest(self) -> bytes:
        """Return what is left at the end of the file, once."""
        text, self._held = self._held, b""
        return text + b"]" if text and not self._is_closed else text


def begins_with_events(text: bytes) -> bool:
    """Return whether the text, after its first brackets and commas, is events: one of the first objects has a phase."""
    at, tries = 0, 0
    while tries < _OBJECTS and (begin := _OBJECT.match(text, at)):
        at = begin.end() - 1
        if _FLAT_EVENT.match(text, at):
            return True
        try:
            found, length = _decoder.raw_decode(text[at : at + _LONGEST_FIRST].decode(errors="replace"))
        except (ValueError, RecursionError):
            return False
        if found:
            phase = found.get("ph")
            return isinstance(phase, str) and len(phase) == 1
        at += length
        tries += 1
    return False


def sniff(path: Path) -> bool:
    """Return whether the file is a Chrome trace, plain or compressed: an object with traceEvents, or a list of events.

    True also for a zip archive that cannot be used, so that `read` can say why. Raises OSError.
    """
    try:
        stream = ByteStream(path, lambda _: None)
    except UnusableTrace:
        # A zip archive that is damaged or holds several traces: it is for `read` to say so.
        return True
    try:
        return _looks_like_trace(stream)
    except UnusableTrace:
        # It unpacks to too much: that, too.
        return True
    finally:
        stream.close()


def is_bare_list(text: bytes) -> bool:
    """Return whether events stand in the file one after the other, without a list around them."""
    begin = text[:_LONGEST_FIRST]
    is_other = not begin.startswith(b"{") or b'"traceEvents"' in begin or _PHASE.search(begin) is None
    return not is_other and begins_with_events(begin)


def _looks_like_trace(stream: ByteStream) -> bool:
    """Return whether the content begins as a list of events, or has "traceEvents" in an object's first 256 MiB."""
    head = stream.read(_SNIFF_CHUNK).removeprefix(BOM).lstrip()
    if head.startswith(b"["):
        return begins_with_events(head[1:]) or re.match(rb"\[\s*\]\s*$", head) is not None
    if not head.startswith(b"{"):
        return False
    if is_bare_list(head):
        return True
    seen = 0
    tail = b""
    while head and seen < _SNIFF_BYTES:
        if b'"traceEvents"' in tail + head:
            return True
        seen += len(head)
        tail = head[-16:]
        head = stream.read(_SNIFF_CHUNK)
    return False
