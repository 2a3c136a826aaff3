"""Opening a Chrome trace: plain, gzip'd, or alone in a zip archive; and recognising one by its content."""

from __future__ import annotations

import io
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

    def read(self, size: int) -> bytes:
        """Return up to `size` unpacked bytes, b"" at the end; damage counts as the end and sets `is_damaged`."""
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
            raise UnusableTrace(f"{path}: the archive is compressed in a way that few tools read; unpack it first")
        if found:
            return _ArchiveMember(archive, found[0], path)
    except _DAMAGED_LIST as error:
        raise UnusableTrace(f"{path}: damaged zip archive ({error}); was it copied completely?") from error
    return io.BytesIO()


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


def _looks_like_trace(stream: ByteStream) -> bool:
    """Return whether the content begins as a list of events, or has "traceEvents" in an object's first 256 MiB."""
    head = stream.read(_SNIFF_CHUNK).removeprefix(BOM).lstrip()
    if head.startswith(b"["):
        return re.match(rb'\[\s*\{[^\[\]{}]*"ph"\s*:', head) is not None or re.match(rb"\[\s*\]\s*$", head) is not None
    if not head.startswith(b"{"):
        return False
    seen = 0
    tail = b""
    while head and seen < _SNIFF_BYTES:
        if b'"traceEvents"' in tail + head:
            return True
        seen += len(head)
        tail = head[-16:]
        head = stream.read(_SNIFF_CHUNK)
    return False
