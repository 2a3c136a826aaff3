"""Made-up XSpaces: protobufs written field by field."""

from __future__ import annotations

import struct

# kind of a value of a stat -> number of its field in XStat
_DOUBLE, _UNSIGNED, _TEXT, _BYTES, _REFERENCE = 2, 3, 5, 6, 7


class Ref(str):
    """A text that a stat refers to by the id of a name."""

    __slots__ = ()


def space(*planes, host="private-name"):
    return b"".join(field(1, each) for each in planes) + field(4, host)


def plane(name, lines, number=0, stats=None):
    """A plane of lines {(id, name): [(event, offset in ps, duration in ps, stats), ...]}; their times count from 1000 ns on."""
    names, events = {}, {}
    content = b""
    for (identity, label), rows in lines.items():
        encoded = b"".join(field(4, _event(row, events, names)) for row in rows)
        content += field(3, field(1, identity) + field(2, label) + field(3, 1000) + encoded)
    told = b"".join(field(6, _stat(key, value, names)) for key, value in (stats or {}).items())
    head = (field(1, number) if number else b"") + field(2, name)
    maps = b"".join(
        field(place, _entry(key, text)) for place, texts in ((4, events), (5, names)) for text, key in texts.items()
    )
    return head + content + maps + told


def _event(row, events, names):
    name, offset, duration, *stats = row
    told = b"".join(field(4, _stat(key, value, names)) for key, value in (stats[0] if stats else {}).items())
    return field(1, _number(events, name)) + field(2, offset) + field(3, duration) + told


def _stat(key, value, names):
    content = field(1, _number(names, key))
    if isinstance(value, Ref):
        return content + field(_REFERENCE, _number(names, value))
    if isinstance(value, float):
        return content + varint(_DOUBLE << 3 | 1) + struct.pack("<d", value)
    return content + field({int: _UNSIGNED, str: _TEXT, bytes: _BYTES}[type(value)], value)


def _entry(key, text):
    return field(1, key) + field(2, field(1, key) + field(2, text))


def _number(numbers, text):
    return numbers.setdefault(str(text), len(numbers) + 1)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
