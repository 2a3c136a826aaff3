"""What is inside a gzip'd file, as much as there is."""

from __future__ import annotations

import os
import zlib
from typing import IO, Protocol

from isal import isal_zlib

from traceq.errors import UnusableTrace

GZIP = b"\x1f\x8b"

# What GzipStream raises where the file ends early or is damaged.
DAMAGED: tuple[type[Exception], ...] = (EOFError, zlib.error, isal_zlib.error)  # type: ignore[assignment]

_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window
_COMPRESSED_CHUNK = 1 << 18
_LOST_BEFORE_DAMAGE = 1 << 18  # where data is damaged, isal keeps back what it has decompressed in the same call


# How many times its size a file may be when it is unpacked: traces are 10 to 30 times as large, and gzip can do 1,000 times.
# Files that stay small are not asked.
_MOST_TIMES, LIMIT = 200, "TRACEQ_UNPACK_LIMIT"
_ALWAYS_FINE = 64 << 20


def most_times() -> int:
    """How many times its size a file may be when it is unpacked; users can raise it."""
    said = os.environ.get(LIMIT, "")
    return int(said) if said.isdecimal() else _MOST_TIMES


class Meter:
    """Raises UnusableTrace where a file unpacks to far more than it is large: nothing of a trace repeats itself so often."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._times = most_times()
        self._unpacked = 0

    def count(self, packed: int, more: int) -> None:
        """Of `packed` bytes of the file so far, `more` bytes were made now."""
        self._unpacked += more
        if self._unpacked > max(_ALWAYS_FINE, self._times * packed):
            raise UnusableTrace(
                f"{self._name}: unpacks to more than {self._times:,} times its size, which no trace does; if it is one all"
                f" the same, set {LIMIT} to a larger number, or unpack it first"
            )


class Readable(Protocol):
    """A file, as far as a stream needs it."""

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
        self._meter = Meter(str(file.name))

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
