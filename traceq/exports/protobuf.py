"""Protocol buffers as they are on the wire, without a description of their messages.

A field is its number and wire type in a varint, then the value: 0 a varint, 2 a length and as many bytes
(https://protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

from collections.abc import Iterable


def encode_number(field: int, value: int) -> bytes:
    """Return a field that holds a number from 0 on, or a truth value."""
    return encode_varint(field << 3) + encode_varint(value)


def encode_message(field: int, content: bytes) -> bytes:
    """Return a field that holds a message, a text or packed numbers."""
    return encode_varint(field << 3 | 2) + encode_varint(len(content)) + content


def pack_numbers(values: Iterable[int]) -> bytes:
    """Return numbers from 0 on as the content of a packed field."""
    return b"".join(map(encode_varint, values))


def encode_varint(value: int) -> bytes:
    """Return a number from 0 on as 7 bits a byte, the lowest first; all bytes but the last have their highest bit set."""
    found = bytearray()
    while value >> 7:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
