"""Writes an execution trace for simulators: et_def.proto of github.com/mlcommons/chakra, a file for each rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from traceq.common.text import printable
from traceq.common.version import __version__
from traceq.database import sql
from traceq.exports.protobuf import encode_message, encode_number, encode_varint, pack_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

# The version of the layout that feeders check.
_LAYOUT = "0.0.4"
_READ_AT_ONCE = 100_000

# NodeType.
_COMP, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7
_POINT_TO_POINT = {"send": _SEND, "recv": _RECEIVE}
# CollectiveCommType.
_COLLECTIVES = {
    "all_reduce": 0, "reduce": 1, "all_gather": 2, "gather": 3, "scatter": 4, "broadcast": 5, "all_to_all": 6,
    "reduce_scatter": 7, "barrier": 9,
}  # fmt: skip


class ChakraCounts(msgspec.Struct, frozen=True):
    """The nodes that were written, and the communication among them that is computation of its recorded length.

    The trace does not tell the operation or the bytes of that, which a simulator needs.
    """

    nodes: int
    unknown_communication: int


def write_chakra(connection: duckdb.DuckDBPyConnection, trace_id: int, file: BinaryIO) -> ChakraCounts:
    """Write the counted steps of a trace as a graph of host time, calls and GPU work; return how many nodes it has."""
    metadata = encode_message(1, _LAYOUT.encode()) + _encode_text("traceq", __version__, field=2)
    _write_delimited(file, metadata)
    nodes = unknown = 0
    query = sql.run(connection, "exports/sql/chakra_node.sql", trace_id=trace_id)
    columns = [name for name, *_ in query.description]
    while rows := query.fetchmany(_READ_AT_ONCE):
        for row in rows:
            node = dict(zip(columns, row, strict=True))
            kind = _choose_type(node)
            unknown += node["op"] is not None and kind == _COMP
            _write_delimited(file, _encode_node(node, kind))
        nodes += len(rows)
    return ChakraCounts(nodes, unknown)


def _choose_type(node: dict[str, Any]) -> int:
    """Return the NodeType of a node: communication whose bytes are not known is computation."""
    op = node["op"]
    if op == "barrier":
        return _COLLECTIVE
    if op is None or node["bytes"] is None:
        return _COMP
    return _COLLECTIVE if op in _COLLECTIVES else _POINT_TO_POINT.get(op, _COMP)


def _encode_node(node: dict[str, Any], kind: int) -> bytes:
    """Return the message Node: id 1, name 2, type 3, data_deps 5, start 6 and duration 7 in us, attributes 10.

    Begin and end are rounded down each, so that what follows one another without a gap has none in us either. Of GPU work
    the attribute recorded_ns is its own duration, without what it waited for and nothing explains.
    """
    begin, end = node["ts"] // 1_000, node["ts_end"] // 1_000
    sources: Sequence[int] = node["sources"]
    parts = [
        encode_number(1, node["id"]),
        encode_message(2, printable(node["name"]).encode()),
        encode_number(3, kind),
        encode_message(5, pack_numbers(sources)) if sources else b"",
        encode_number(6, begin),
        encode_number(7, end - begin),
        _encode_truth("is_cpu_op", value=node["part"] != 1),
    ]
    if node["part"] == 1:
        parts.append(_encode_integer("recorded_ns", node["dur"]))
        parts += [_encode_integer(name, node[name]) for name in ("device", "stream") if node[name] is not None]
    if kind == _COLLECTIVE:
        parts.append(_encode_integer("comm_type", _COLLECTIVES[node["op"]]))
    if kind in (_COLLECTIVE, _SEND, _RECEIVE):
        parts.append(_encode_integer("comm_size", node["bytes"] or 0))
        if node["group_name"] is not None:
            parts.append(_encode_text("pg_name", node["group_name"], field=10))
    return b"".join(parts)


def _encode_integer(name: str, value: int) -> bytes:
    """Return an attribute: AttributeProto's name 1, int64_val 9. Streams that are not known may be below 0."""
    return encode_message(10, encode_message(1, name.encode()) + encode_number(9, value & (1 << 64) - 1))


def _encode_truth(name: str, *, value: bool) -> bytes:
    """Return an attribute: AttributeProto's name 1, bool_val 27."""
    return encode_message(10, encode_message(1, name.encode()) + encode_number(27, value))


def _encode_text(name: str, value: str, *, field: int) -> bytes:
    """Return an attribute as the field of this number: AttributeProto's name 1, string_val 29."""
    return encode_message(field, encode_message(1, name.encode()) + encode_message(29, printable(value).encode()))


def _write_delimited(file: BinaryIO, message: bytes) -> None:
    """Write a message behind its length, as Chakra's files have them one after another."""
    file.write(encode_varint(len(message)) + message)
