"""Payloads of NCCL's NVTX ranges: communicator, rank, message size, peer. Rows of collective.

nsys of 2025 and later writes it to NVTX_EVENTS.jsonText as a JSON object, e.g. {"NCCL communicator ID": 1342,
"Message size [bytes]": 4096, "Reduction operation": "Sum"}. `nsys export --include-blobs=true` writes the bytes to
NVTX_EVENTS.binaryData: little-endian, a header of 32 bytes (domain, schema, size of the payload, size of all, 8 bytes each) and
the payload, a C struct laid out by NVTX_PAYLOAD_SCHEMA_ENTRIES.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.context import Member
from traceq.importers.rows import Batches, batches_of

if TYPE_CHECKING:
    from traceq.importers.nsys.context import ImportState

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
_RANKS, _RANK = "No. of ranks", "Rank"
_SIZES = ("Message size [bytes]", "Bytes")
_REDUCTION = "Reduction operation"
_KEPT = {"Peer rank": "peer_rank", "Root": "root_rank"}
# ncclRedOp_t of nccl.h; what a program makes for itself has larger numbers.
REDUCTIONS = ("Sum", "Prod", "Max", "Min", "Avg")
# NCCL counts the part of one rank here.
_PER_RANK = ("ncclAllGather", "ncclReduceScatter", "ncclAlltoAll", "ncclAllToAll", "ncclGather", "ncclScatter")
# Each rank counts those by itself.
_POINT_TO_POINT = ("ncclSend", "ncclRecv")
_MOST = (1 << 63) - 1
_MOST_RANKS = 1 << 31

Fields = dict[str, Any]
_Schema = list[tuple[str, struct.Struct, int]]


class _NcclMessage(msgspec.Struct, frozen=True):
    """A range of NCCL that moves data: slice id, start (ns), process, name, bytes as NCCL counts, payload fields."""

    slice_id: int
    ts: int
    pid: int
    op: str
    size: int
    fields: Fields

    @property
    def communicator(self) -> int:
        """Number of the communicator."""
        return int(self.fields[_COMMUNICATOR])


class Payloads:
    """Collector of the payloads of NCCL's ranges; its rows are built once all communicators' sizes are known."""

    def __init__(self, state: ImportState) -> None:
        """Read the layouts (schemas) of binary payloads from the file."""
        self._state = state
        self._schemas = _read_schemas(state)
        self._sizes: dict[int, int] = {}
        # By process and communicator: its ranks there, and when the first was made.
        self._ranks: dict[tuple[int, int], set[int]] = {}
        self._made: dict[tuple[int, int], int] = {}
        self._messages: list[_NcclMessage] = []

    def add(self, rows: pa.RecordBatch, made: pa.RecordBatch, texts: pa.Array) -> None:
        """Collect the payloads of rows of NVTX_EVENTS; a note counts binary ones not of NCCL or of unknown layout.

        `made` are the rows' slices (cpu_slice), `texts` their extended payloads as JSON.
        """
        pids = self._state.processes.process_ids(rows.column("globalTid"))
        named = pc.fill_null(pc.match_substring(texts.cast(pa.string()), _COMMUNICATOR), False)
        for row, text in zip(*_pick_ranges(pc.indices_nonzero(named), rows, pids, made, texts), strict=True):
            self._take(row, _json_fields(text))
        blobs = rows.column("binaryData")
        filled = pc.and_(pc.greater(pc.binary_length(blobs), 0), pc.invert(named))
        left_out = 0
        for row, blob in zip(*_pick_ranges(pc.indices_nonzero(filled), rows, pids, made, blobs), strict=True):
            left_out += not self._take(row, self._unpack_fields(blob, row.domain))
        self._state.notes.data_loss(
            "payload_not_imported",
            left_out,
            "Payloads of NVTX ranges that are not NCCL's, or have an unknown layout; their content is left out.",
        )

    def _unpack_fields(self, blob: bytes, domain: int | None) -> Fields:
        """Return the integer fields of a binary payload by name; {} where its layout is unknown or it is cut short."""
        data = _decode_hex(blob)
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

    def _take(self, row: _PayloadRange, fields: Fields) -> bool:
        """Keep what one payload says of communicator, rank and message; return whether it is NCCL's."""
        communicator = _integer_or_none(fields.get(_COMMUNICATOR))
        if communicator is None:
            return False
        ranks, rank = _integer_or_none(fields.get(_RANKS)), _integer_or_none(fields.get(_RANK))
        if ranks is not None and 0 < ranks < _MOST_RANKS:
            self._sizes[communicator] = ranks
            if rank is not None and 0 <= rank < ranks:
                self._ranks.setdefault((row.pid, communicator), set()).add(rank)
            if row.name.startswith("ncclCommInit"):
                self._made.setdefault((row.pid, communicator), row.ts)
        size = next((found for key in _SIZES if (found := _integer_or_none(fields.get(key))) is not None), None)
        if size is not None and 0 <= size <= _MOST:
            self._messages.append(_NcclMessage(row.slice_id, row.ts, row.pid, row.name, size, fields))
        return True

    def find_members(self) -> dict[int, Member]:
        """Return, by process id, the rank in and the size of the largest NCCL communicator of the process.

        Both are None where several communicators of the process are the largest and its ranks in them differ: none of
        these is then sure to have all ranks of the job.
        """
        largest: dict[int, set[Member]] = {}
        for pid, communicator in self._ranks:
            member = self._member_of(pid, communicator)
            size = max((other.ranks or 0 for other in largest.get(pid, ())), default=0)
            if (member.ranks or 0) >= size:
                largest[pid] = {member} | (largest.get(pid, set()) if member.ranks == size else set())
        return {pid: members.pop() if len(members) == 1 else Member(None, None) for pid, members in largest.items()}

    def _member_of(self, pid: int, communicator: int) -> Member:
        """Return the process's rank in the communicator, and the communicator's size; None for what is unknown.

        The rank is also None where several are recorded for the process.
        """
        ranks = self._ranks.get((pid, communicator), set())
        return Member(next(iter(ranks)) if len(ranks) == 1 else None, self._sizes.get(communicator))

    def build_collectives(self) -> Batches:
        """Return the rows of collective for the NCCL ranges with a message size."""
        numbers = self._number_collectives()
        return batches_of("collective", [self._build_row(message, numbers) for message in self._messages])

    def _number_collectives(self) -> dict[int, int]:
        """Return each collective's number in its process and communicator, from 0 in order of time, by slice id.

        All ranks of a communicator issue the same collectives in the same order, so equal numbers belong together. Left
        out are sends and receives, and communicators whose creation is not in the trace or whose rank is ambiguous.
        """
        counts: dict[tuple[int, int], int] = {}
        numbers: dict[int, int] = {}
        for message in sorted(self._messages, key=lambda sent: (sent.ts, sent.slice_id)):
            key = message.pid, message.communicator
            is_one_rank = self._member_of(*key).rank is not None
            if message.op in _POINT_TO_POINT or not is_one_rank or self._made.get(key, message.ts + 1) > message.ts:
                continue
            numbers[message.slice_id] = counts[key] = counts.get(key, -1) + 1
        return numbers

    def _build_row(self, message: _NcclMessage, numbers: dict[int, int]) -> dict[str, Any]:
        """Return the row of collective for one message; `numbers` are the sequence numbers by slice id."""
        member = self._member_of(message.pid, message.communicator)
        kept = {own: message.fields[name] for name, own in _KEPT.items() if name in message.fields}
        return {
            "slice_id": message.slice_id,
            "op": message.op,
            "bytes": _message_bytes(message, member.ranks),
            "group_name": f"{message.communicator:#x}",
            "group_size": member.ranks,
            "group_rank": member.rank,
            "reduction": _reduction_name(message.fields.get(_REDUCTION)),
            "sequence": numbers.get(message.slice_id),
            "args": json.dumps({"message_bytes": message.size, **kept}),
        }


class _PayloadRange(NamedTuple):
    """An NVTX range with a payload: its slice, start (ns), process, domain and name."""

    slice_id: int
    ts: int
    pid: int
    domain: int | None
    name: str


def _pick_ranges(
    places: pa.Array, rows: pa.RecordBatch, pids: pa.Array, made: pa.RecordBatch, payloads: pa.Array
) -> tuple[list[_PayloadRange], list[Any]]:
    """Return the ranges at the row numbers `places`, and their payloads, as two lists in the same order."""
    columns = (
        made.column("slice_id"),
        rows.column("start"),
        pids.fill_null(0),
        rows.column("domainId"),
        made.column("name"),
    )
    values = zip(*(column.take(places).to_pylist() for column in columns), strict=True)
    found = [_PayloadRange(slice_id, ts, pid, domain, name) for slice_id, ts, pid, domain, name in values]
    return found, payloads.take(places).to_pylist()


def _json_fields(text: str) -> Fields:
    """Return the members of a JSON object given as text, {} for any other JSON value. Raises ValueError for no JSON."""
    fields = json.loads(text)
    return fields if isinstance(fields, dict) else {}


def _integer_or_none(value: object) -> int | None:
    """Return the value if it is an int (no bool), else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _reduction_name(value: object) -> str | None:
    """Return the name of NCCL's reduction (Sum, Max, ...), given as its name or number; None for anything else."""
    if isinstance(value, str):
        return value
    number = _integer_or_none(value)
    return REDUCTIONS[number] if number is not None and 0 <= number < len(REDUCTIONS) else None


def _message_bytes(message: _NcclMessage, ranks: int | None) -> int | None:
    """Return the bytes of the whole message: times `ranks` where NCCL counts the part of one rank.

    None where that is needed and the number of ranks is unknown, or the product is too large.
    """
    if message.op not in _PER_RANK:
        return message.size
    return message.size * ranks if ranks and message.size * ranks <= _MOST else None


def _read_schemas(state: ImportState) -> dict[tuple[int, int], _Schema]:
    """Return the layouts of binary payloads by (domain, schema id): name, struct and offset (bytes) of each integer."""
    state.source.fetch_rows(_SCHEMAS, ["schemaId"])
    wanted = ("domainId", "schemaId", "idx", "type", "name", "offset")
    entries: dict[tuple[int, int], dict[int, tuple[object, object, object]]] = {}
    for domain, schema, index, kind, name, offset in state.source.fetch_rows(_ENTRIES, wanted):
        if isinstance(domain, int) and isinstance(schema, int) and isinstance(index, int):
            entries.setdefault((domain, schema), {})[index] = kind, name, offset
    return {key: list(_place_entries(found)) for key, found in entries.items()}


def _place_entries(entries: dict[int, tuple[object, object, object]]) -> Iterator[tuple[str, struct.Struct, int]]:
    """Yield (name, struct, offset in bytes) of a layout's entries in order, up to the first of unknown size.

    `entries` are (type, name, offset) by index; an entry without an offset follows the one before, aligned to its size.
    """
    end = 0
    for _, (kind, name, offset) in sorted(entries.items()):
        form = _struct_format(kind)
        if form is None:
            return
        field = struct.Struct(f"<{form}")
        start = offset if isinstance(offset, int) else -(-end // field.size) * field.size
        end = start + field.size
        yield str(name), field, start


def _struct_format(kind: object) -> str | None:
    """Return the letter of the struct module for NVTX's number of an integer or enum type, None for other types."""
    if not isinstance(kind, int):
        return None
    return _ENUM if kind >= _FIRST_ENUM else _INTEGERS.get(kind)


def _decode_hex(blob: bytes) -> bytes:
    """Return the payload's bytes; a payload that some exports write as hexadecimal text is decoded."""
    try:
        return bytes.fromhex(blob.decode("ascii"))
    except ValueError:
        return blob
