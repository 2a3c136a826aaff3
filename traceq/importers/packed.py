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
    """Return how many times its size a file may be when unpacked; users can raise it."""
    said = os.environ.get(LIMIT, "")
    return int(said) if said.isdecimal() else _MOST_TIMES


class UnpackMeter:
    """Raises UnusableTrace where a file unpacks to far more than it is large: nothing of a trace repeats itself so often."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._times = unpack_limit()
        self._unpacked = 0

    def count(self, packed: int, more: int) -> None:
        """Count `more` unpacked bytes, after `packed` bytes of the file."""
        self._unpacked += more
        if self._unpacked > max(_ALWAYS_FINE, self._times * packed):
            raise UnusableTrace(
                f"{self._name}: unpacks to more than {self._times:,} times its size, which no trace does; if it is one all"
                f" the same, set {LIMIT} to a larger number, or unpack it first"
            )


class Readable(Protocol):
    """Something that a stream can read from."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, b"" at the end."""


class GzipStream:
    """Decompresses gzip members one after another.

    Unlike the file objects of the libraries it delivers what stands before damage or an early end, and only then raises. Raises
    UnusableTrace where there is far more in it than its size lets expect.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
        self._compressed = b""
        self._packed = 0
        self._meter = UnpackMeter(str(file.name))

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, b"" at the end."""
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
    """Return whether the file is gzip'd, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


@contextmanager
def open_unpacked(path: Path) -> Iterator[Readable]:
    """Open the file to read what is in it, unpacked where it is gzip'd."""
    with path.open("rb") as file:
        yield GzipStream(file) if is_packed(path) else file


def read_head(path: Path, size: int) -> bytes:
    """Read the first bytes of what is in the file, unpacked; b"" where it cannot be unpacked."""
    with open_unpacked(path) as file:
        try:
            return file.read(size)
        except DAMAGED:
            return b""


def read_unpacked(path: Path) -> bytes | mmap.mmap:
    """Return what is in the file, unpacked; of a plain file only the pages that are read are in memory."""
    with path.open("rb") as file:
        if not is_packed(path):
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        stream = GzipStream(file)
        return b"".join(iter(lambda: stream.read(_CHUNK), b""))


def unpack(path: Path, target: Path) -> Exception | None:
    """Write what is in the gzip'd file to `target`, as much as there is; return the error where it is damaged."""
    with path.open("rb") as packed, target.open("wb") as out:
        stream = GzipStream(packed)
        try:
            while part := stream.read(_CHUNK):
                out.write(part)
        except DAMAGED as error:
            return error
    return None
