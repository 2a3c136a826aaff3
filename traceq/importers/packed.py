"""What is inside a gzip'd file, as much as there is."""

from __future__ import annotations

import zlib
from typing import IO, Protocol

from isal import isal_zlib

GZIP = b"\x1f\x8b"

# What GzipStream raises where the file ends early or is damaged.
DAMAGED: tuple[type[Exception], ...] = (EOFError, zlib.error, isal_zlib.error)  # type: ignore[assignment]

_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window
_COMPRESSED_CHUNK = 1 << 18
_LOST_BEFORE_DAMAGE = 1 << 18  # where data is damaged, isal keeps back what it has decompressed in the same call


class Readable(Protocol):
    """A file, as far as a stream needs it."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, b"" at the end."""


class GzipStream:
    """Decompresses gzip members one after another.

    Unlike the file objects of the libraries it delivers what stands before damage or an early end, and only then raises.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
        self._compressed = b""

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
            if self._member.eof:
                if not self._compressed.strip(b"\0"):  # tapes and block devices pad
                    return b""
                self._member = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
            if not self._compressed:
                raise EOFError("it ends too early")
            part: bytes = self._member.decompress(self._compressed, min(size, _LOST_BEFORE_DAMAGE))
            self._compressed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if part:
                return part
