"""The encoding of protobufs: fields of a message, one after the other, without a schema and without copying.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

Buffer = bytes | mmap.mmap

# Where a message or a text begins and ends in the buffer.
Span = tuple[int, int]

_NOWHERE: Span = (0, 0)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MORE = 0x80
_MOST_SHIFT = 63
_SIGN = 1 << 63


class DamagedMessage(Exception):
    """Raised when bytes are no protobuf message: cut short, or something else."""


def read_fields(buffer: Buffer, span: Span, *, is_cut: bool = False) -> Iterator[tuple[int, int, Span]]:
    """Yield (field number, bits of a number, span of a text or message) for each field of the message at `span`.

    A field that is no number has bits 0, one that is no text or message an empty span. With `is_cut`, the buffer is the
    beginning of a longer one, and spans may end behind it. Raises DamagedMessage.
    """
    at, end = span
    if is_cut:
        end = min(end, len(buffer))
    while at < end:
        try:
            key, at = _read_varint(buffer, at)
            wire, bits, part = key & 7, 0, _NOWHERE
            if wire == _VARINT:
                bits, at = _read_varint(buffer, at)
            elif wire == _BYTES:
                size, at = _read_varint(buffer, at)
                part = (at, at + size)
                at += size
            elif wire == _FIXED64:
                (bits,) = struct.unpack_from("<Q", buffer, at)
                at += 8
            elif wire == _FIXED32:
                (bits,) = struct.unpack_from("<I", buffer, at)
                at += 4
            else:
                raise DamagedMessage(f"no field of a protobuf before byte {at}")
        except (IndexError, struct.error):
            raise DamagedMessage(f"it ends in the middle of a field, at byte {len(buffer)}") from None
        if at > end and not is_cut:
            raise DamagedMessage(f"a field ends at byte {at}, beyond the message around it")
        yield key >> 3, bits, part


def _read_varint(buffer: Buffer, at: int) -> tuple[int, int]:
    """Return (unsigned number, index of the byte after it) of the varint at index `at`, seven bits a byte.

    Raises DamagedMessage if it is too long, IndexError if the buffer ends.
    """
    value = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        if byte < _MORE:
            return value | byte << shift, at
        value |= (byte & ~_MORE) << shift
        shift += 7
        if shift > _MOST_SHIFT:
            raise DamagedMessage(f"no number before byte {at}")


def to_signed(bits: int) -> int:
    """Return the unsigned 64-bit number read as a signed one (two's complement)."""
    return bits - (_SIGN << 1) if bits >= _SIGN else bits


def to_double(bits: int) -> float:
    """Return the 64 bits read as a double."""
    (value,) = struct.unpack("<d", bits.to_bytes(8, "little"))
    return float(value)


def to_float(bits: int) -> float:
    """Return the 32 bits read as a float."""
    (value,) = struct.unpack("<f", bits.to_bytes(4, "little"))
    return float(value)


def read_text(buffer: Buffer, span: Span) -> str:
    """Return the bytes at `span` as text; bytes that are not UTF-8 are replaced."""
    return bytes(buffer[span[0] : span[1]]).decode("utf-8", "replace")
