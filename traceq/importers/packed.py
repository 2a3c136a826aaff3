"""Reading gzip'd files, as far as they are whole."""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from isal import isal_zlib

from traceq.errors import UnusableTrace

GZIP = b"\x1f\x8b"

# What GzipStream raises where the file ends early or is damaged.
DAMAGED: tuple[type[Exception], ...] = (EOFError, zlib.error, isal_zlib.error)  # type: ignore[assignment]

_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window
_COMPRESSED_CHUNK = 1 << 18
_CHUNK = 1 << 20
_LOST_BEFORE_DAMAGE = 1 << 18  # where data is damaged, isal keeps back what it has decompressed in the same call


# How many times its size a file may be when it is unpacked: traces are 10 to 30 times as large, and gzip can do 1,000 times.
# Files that stay small are not asked.
_MOST_TIMES, LIMIT = 200, "TRACEQ_UNPACK_LIMIT"
_ALWAYS_FINE = 64 << 20


def unpack_limit() -> int:
    """Return how many times its packed size a file may unpack to: 200, or what the environment variable LIMIT says."""
    said = os.environ.get(LIMIT, "")
    return int(said) if said.isdecimal() else _MOST_TIMES


class UnpackMeter:
    """Counter of unpacked bytes, which refuses a file that unpacks to far more than a trace can."""

    def __init__(self, name: str) -> None:
        """Take the file's name, for the message of the error."""
        self._name = name
        self._times = unpack_limit()
        self._unpacked = 0

    def count(self, packed: int, more: int) -> None:
        """Add `more` unpacked bytes; `packed` is the number of the file's bytes read so far.

        Raises UnusableTrace where all unpacked bytes are beyond 64 MiB and beyond `unpack_limit` times `packed`.
        """
        self._unpacked += more
        if self._unpacked > max(_ALWAYS_FINE, self._times * packed):
            raise UnusableTrace(
                f"{self._name}: unpacks to more than {self._times:,} times its size, which traces do not; if it is one anyway,"
                f" set {LIMIT} to a larger number, or unpack it first"
            )


class Readable(Protocol):
    """Something that a stream can read from."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end."""


class GzipStream:
    """Reader of a gzip'd file, of one member or several in a row, as one stream of unpacked bytes.

    Where the file is damaged or ends early, it first delivers all that stands before, and then raises (see DAMAGED);
    the libraries' file objects do not. Raises UnusableTrace where it unpacks to far too much (see UnpackMeter).
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
        self._compressed = b""
        self._packed = 0
        self._meter = UnpackMeter(str(file.name))

    def read(self, size: int) -> bytes:
        """Return up to `size` unpacked bytes, b"" at the end; raises one of DAMAGED where none can be read any more."""
        parts: list[bytes] = []
        try:
            while size > 0 and (part := self._read_some(size)):
                parts.append(part)
                size -= len(part)
        except DAMAGED:
            # The next call meets the damage again, and has nothing to lose.
            if not parts:
                raise
        return b"".join(parts)

    def _read_some(self, size: int) -> bytes:
        """Return at least one unpacked byte and at most `size`, b"" at the end; raises one of DAMAGED at the damage."""
        while True:
            if not self._compressed:
                self._compressed = self._file.read(_COMPRESSED_CHUNK)
                self._packed += len(self._compressed)
            if self._member.eof:
                if not self._compressed.strip(b"\0"):  # tapes and block devices pad
                    return b""
                self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
            if not self._compressed:
                raise EOFError("it ends too early")
            part: bytes = self._member.decompress(self._compressed, min(size, _LOST_BEFORE_DAMAGE))
            self._compressed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if part:
                self._meter.count(self._packed, len(part))
                return part


def is_packed(path: Path) -> bool:
    """Return whether the file is gzip'd, by its first bytes. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


@contextmanager
def open_unpacked(path: Path) -> Iterator[Readable]:
    """Open the file for reading its bytes, which are unpacked on the way where it is gzip'd; close it at the end."""
    with path.open("rb") as file:
        yield GzipStream(file) if is_packed(path) else file


def read_head(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of the file's content, unpacked; fewer, or b"", where it is shorter or damaged."""
    with open_unpacked(path) as file:
        try:
            return file.read(size)
        except DAMAGED:
            return b""


def read_unpacked(path: Path) -> bytes | mmap.mmap:
    """Return the file's whole content: the unpacked bytes of a gzip'd file, a read-only memory map of any other.

    Raises one of DAMAGED where a gzip'd file is damaged or cut, ValueError for an empty file that is not gzip'd.
    """
    with path.open("rb") as file:
        if not is_packed(path):
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        stream = GzipStream(file)
        return b"".join(iter(lambda: stream.read(_CHUNK), b""))


def unpack(path: Path, target: Path) -> Exception | None:
    """Write the unpacked content of a gzip'd file to `target`, up to the first damage.

    Return the error that damage raised, None for a whole file. Raises UnusableTrace where it unpacks to far too much.
    """
    with path.open("rb") as packed, target.open("wb") as out:
        stream = GzipStream(packed)
        try:
            while part := stream.read(_CHUNK):
                out.write(part)
        except DAMAGED as error:
            return error
    return None
