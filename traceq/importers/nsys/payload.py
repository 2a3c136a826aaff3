"""What NCCL attaches to its NVTX ranges: communicator, message size, peer. Rows of collective.

`nsys export --include-blobs=true` writes the bytes to NVTX_EVENTS.binaryData: little-endian, a header of 32 bytes (domain,
schema, size of the payload, size of all, 8 bytes each) and the payload, a C struct laid out by NVTX_PAYLOAD_SCHEMA_ENTRIES.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from traceq.importers.rows import Batches, batches_of

if TYPE_CHECKING:
    import pyarrow as pa

    from traceq.importers.nsys.context import Job

_ENTRIES = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
TABLES = (_ENTRIES,)
# Described by their entries; their own rows say nothing more that is needed.
_SCHEMAS = "NVTX_PAYLOAD_SCHEMAS"

_HEADER = struct.Struct("<QQQQ")
# NVTX's numbers for C's integers as they are on 64-bit Linux.
_INTEGERS = {5: "i", 6: "I", 7: "q", 8: "Q", 9: "q", 10: "Q", 15: "i", 16: "I", 17: "q", 18: "Q", 22: "Q"}
_ENUM = "i"
_FIRST_ENUM = 1 << 24

_COMMUNICATOR = "NCCL communicator ID"
_RANKS = "No. of ranks"
_SIZES = ("Message size [bytes]", "Bytes")
_KEPT = {"Peer rank": "peer_rank", "Root": "root_rank", "Reduction operation": "reduction_operation"}
# NCCL counts the part of one rank here.
_PER_RANK = ("ncclAllGather", "ncclReduceScatter", "ncclAlltoAll", "ncclAllToAll", "ncclGather", "ncclScatter")
_MOST = (1 << 63) - 1
_MOST_RANKS = 1 << 31

Fields = dict[str, int]
_Schema = list[tuple[str, struct.Struct, int]]


@dataclass(frozen=True)
class _Message:
    slice_id: int
    op: str
    size: int
    fields: Fields


class Payloads:
    """Collects NCCL's payloads; the size of a communicator may be told after its first use."""

    def __init__(self, job: Job) -> None:
        """Read the schemas of all payloads."""
        self._job = job
        self._schemas = _schemas(job)
        self._sizes: dict[int, int] = {}
        self._messages: list[_Message] = []

    def add(self, rows: pa.RecordBatch, made: pa.RecordBatch) -> None:
        """Take in the payloads of rows of NVTX_EVENTS; `made` are their slices."""
        filled = pc.indices_nonzero(pc.binary_length(rows.column("binaryData")))
        if not len(filled):
            return
        blobs = rows.column("binaryData").take(filled).to_pylist()
        domains = rows.column("domainId").take(filled).to_pylist()
        names = made.column("name").take(filled).to_pylist()
        ids = made.column("slice_id").take(filled).to_pylist()
        left_out = 0
        for blob, domain, name, slice_id in zip(blobs, domains, names, ids, strict=True):
            fields = self._fields(blob, domain)
            left_out += not self._take(slice_id, name, fields)
        self._job.notes.data_loss(
            "payload_not_imported",
            left_out,
            "Payloads of NVTX ranges that are not NCCL's, or not laid out as traceq knows; what they hold is left out.",
        )

    def _fields(self, blob: bytes, domain: int | None) -> Fields:
        data = _raw(blob)
        if len(data) < _HEADER.size:
            return {}
        _, schema_id, size, _ = _HEADER.unpack_from(data)
        # The upper half of the number is not used, and not always zero.
        schema = self._schemas.get((domain or 0, schema_id & 0xFFFFFFFF))
        if schema is None or len(data) < _HEADER.size + size:
            return {}
        payload = data[_HEADER.size : _HEADER.size + size]
        return {
            name: field.unpack_from(payload, offset)[0]
            for name, field, offset in schema
            if offset + field.size <= len(payload)
        }

    def _take(self, slice_id: int, name: str, fields: Fields) -> bool:
        """Whether the payload is NCCL's."""
        communicator = fields.get(_COMMUNICATOR)
        if communicator is None:
            return False
        if 0 < fields.get(_RANKS, 0) < _MOST_RANKS:
            self._sizes[communicator] = fields[_RANKS]
        size = next((fields[key] for key in _SIZES if key in fields), None)
        if size is not None and size <= _MOST:
            self._messages.append(_Message(slice_id, name, size, fields))
        return True

    def collectives(self) -> Batches:
        """Rows of collective for the ranges that move data."""
        return batches_of("collective", [self._row(message) for message in self._messages])

    def _row(self, message: _Message) -> dict[str, Any]:
        communicator = message.fields[_COMMUNICATOR]
        ranks = self._sizes.get(communicator)
        return {
            "slice_id": message.slice_id,
            "op": message.op,
            "bytes": _bytes(message, ranks),
            "group_name": f"{communicator:#x}",
            "group_size": ranks,
            "args": _args(message),
        }


def _bytes(message: _Message, ranks: int | None) -> int | None:
    """The whole message: of what every rank contributes a part to, all parts; None when there is no saying how many."""
    if message.op not in _PER_RANK:
        return message.size
    return message.size * ranks if ranks and message.size * ranks <= _MOST else None


def _args(message: _Message) -> str:
    kept = {own: message.fields[name] for name, own in _KEPT.items() if name in message.fields}
    return json.dumps({"message_bytes": message.size, **kept})


def _schemas(job: Job) -> dict[tuple[int, int], _Schema]:
    """The integers of each schema: name, form and place in the payload."""
    job.source.rows(_SCHEMAS, ["schemaId"])
    wanted = ("domainId", "schemaId", "idx", "type", "name", "offset")
    entries: dict[tuple[int, int], dict[int, tuple[object, object, object]]] = {}
    for domain, schema, index, kind, name, offset in job.source.rows(_ENTRIES, wanted):
        if isinstance(domain, int) and isinstance(schema, int) and isinstance(index, int):
            entries.setdefault((domain, schema), {})[index] = kind, name, offset
    return {key: list(_placed(found)) for key, found in entries.items()}


def _placed(entries: dict[int, tuple[object, object, object]]) -> Iterator[tuple[str, struct.Struct, int]]:
    """Entries in their order, up to the first whose size is not known; those without an offset follow the one before."""
    end = 0
    for _, (kind, name, offset) in sorted(entries.items()):
        form = _form(kind)
        if form is None:
            return
        field = struct.Struct(f"<{form}")
        start = offset if isinstance(offset, int) else -(-end // field.size) * field.size
        end = start + field.size
        yield str(name), field, start


def _form(kind: object) -> str | None:
    if not isinstance(kind, int):
        return None
    return _ENUM if kind >= _FIRST_ENUM else _INTEGERS.get(kind)


def _raw(blob: bytes) -> bytes:
    """The bytes themselves; some exports write them as hexadecimal text."""
    try:
        return bytes.fromhex(blob.decode("ascii"))
    except ValueError:
        return blob
