"""Made-up XSpaces: protobufs written field by field."""

from __future__ import annotations

import struct

# kind of a value of a stat -> number of its field in XStat
_DOUBLE, _UNSIGNED, _TEXT, _BYTES, _REFERENCE = 2, 3, 5, 6, 7


class Ref(str):
    """A text that a stat refers to by the id of a name."""

    __slots__ = ()


def make_space(*planes, host="private-name"):
    return b"".join(make_field(1, each) for each in planes) + make_field(4, host)


def make_plane(name, lines, number=0, stats=None):
    """A plane of lines {(id, name): [(event, offset in ps, duration in ps, stats), ...]}; their times count from 1000 ns on."""
    names, events = {}, {}
    content = b""
    for (identity, label), rows in lines.items():
        encoded = b"".join(make_field(4, _make_event(row, events, names)) for row in rows)
        content += make_field(3, make_field(1, identity) + make_field(2, label) + make_field(3, 1000) + encoded)
    told = b"".join(make_field(6, _make_stat(key, value, names)) for key, value in (stats or {}).items())
    head = (make_field(1, number) if number else b"") + make_field(2, name)
    maps = b"".join(
        make_field(place, _make_entry(key, text))
        for place, texts in ((4, events), (5, names))
        for text, key in texts.items()
    )
    return head + content + maps + told


def _make_event(row, events, names):
    name, offset, duration, *stats = row
    told = b"".join(make_field(4, _make_stat(key, value, names)) for key, value in (stats[0] if stats else {}).items())
    return make_field(1, _number(events, name)) + make_field(2, offset) + make_field(3, duration) + told


def _make_stat(key, value, names):
    content = make_field(1, _number(names, key))
    if isinstance(value, Ref):
        return content + make_field(_REFERENCE, _number(names, value))
    if isinstance(value, float):
        return content + encode_varint(_DOUBLE << 3 | 1) + struct.pack("<d", value)
    return content + make_field({int: _UNSIGNED, str: _TEXT, bytes: _BYTES}[type(value)], value)


def _make_entry(key, text):
    return make_field(1, key) + make_field(2, make_field(1, key) + make_field(2, text))


def _number(numbers, text):
    return numbers.setdefault(str(text), len(numbers) + 1)


def make_field(number, value):
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value % (1 << 64))
    content = value.encode() if isinstance(value, str) else value
    return encode_varint(number << 3 | 2) + encode_varint(len(content)) + content


def encode_varint(value):
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
