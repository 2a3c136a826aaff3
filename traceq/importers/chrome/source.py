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
    """The decompressed bytes of a trace; counts the bytes of the file on disk that were consumed so far."""

    def __init__(self, path: Path, progress: Callable[[int], None]) -> None:
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
        """Return up to `size` bytes, b"" at the end; damage counts as the end and sets `is_damaged`."""
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
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return GzipStream(file)
    if magic == _ZIP:
        return _open_only_member(file, path)
    return file


class _ArchiveFile:
    """The file of a zip archive; an overlong list of members is not read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, size: int = -1, /) -> bytes:
        if size > _LARGEST_LIST:
            raise zipfile.BadZipFile("it lists too many members")
        return self._file.read(size)


class _ArchiveMember:
    """Content of a member of an archive, unpacked while it is read."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
        self._member = archive.open(info)
        # What the archive says of sizes need not be true.
        self._packed = min(info.compress_size, path.stat().st_size)
        self._meter = UnpackMeter(str(path))

    def read(self, size: int, /) -> bytes:
        data = self._member.read(size)
        self._meter.count(self._packed, len(data))
        return data


# What a damaged list of members raises.
_DAMAGED_LIST = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError, struct.error)


def _open_only_member(file: IO[bytes], path: Path) -> Readable:
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
    """Return whether the file is a Chrome trace: an object with a traceEvents list, or a list of events, plain or compressed."""
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
