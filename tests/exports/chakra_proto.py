"""Reads an execution trace of Chakra by the wire format alone, fields by number as et_def.proto has them, and runs its graph."""

from __future__ import annotations

from typing import Any, NamedTuple

from profile_proto import fields_of, numbers_of, varint_at

KINDS = {4: "COMP", 5: "COMM_SEND", 6: "COMM_RECV", 7: "COMM_COLL"}
_VALUES = {9: "int64", 27: "bool", 29: "text"}


class ChakraNode(NamedTuple):
    """A node; `start` and `dur` in us."""

    id: int
    name: str
    kind: str
    sources: list[int]
    start: int
    dur: int
    attributes: dict[str, Any]


def read_chakra(data):
    """Return the version and the nodes of a file, in their order."""
    messages, at = [], 0
    while at < len(data):
        size, at = varint_at(data, at)
        messages.append(fields_of(data[at : at + size]))
        at += size
    assert at == len(data)
    metadata, *nodes = messages
    return metadata[1][0].decode(), [_node(fields) for fields in nodes]


def _node(fields):
    attributes = dict(map(_attribute, fields[10]))
    return ChakraNode(
        fields[1][0],
        fields[2][0].decode(),
        KINDS[fields[3][0]],
        numbers_of(fields[5][0]) if fields[5] else [],
        fields[6][0],
        fields[7][0],
        attributes,
    )


def _attribute(data):
    fields = fields_of(data)
    (number,) = fields.keys() - {1}
    value = fields[number][0]
    if _VALUES[number] == "text":
        value = value.decode()
    elif _VALUES[number] == "int64" and value >> 63:
        value -= 1 << 64
    return fields[1][0].decode(), bool(value) if _VALUES[number] == "bool" else value


def run_graph(nodes):
    """Return when the last node ends, us, if each begins as soon as all that it needs have ended.

    Raises KeyError where one needs a later one.
    """
    ends = {}
    for node in nodes:
        ends[node.id] = node.dur + max((ends[source] for source in node.sources), default=0)
    return max(ends.values(), default=0)
