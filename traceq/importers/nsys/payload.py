"""What NCCL attaches to its NVTX ranges: communicator, rank, message size, peer. Rows of collective.

nsys of 2025 and later writes it to NVTX_EVENTS.jsonText as a JSON object, e.g. {"NCCL communicator ID": 1342,
"Message size [bytes]": 4096, "Reduction operation": "Sum"}. `nsys export --include-blobs=true` writes the bytes to
NVTX_EVENTS.binaryData: little-endian, a header of 32 bytes (domain, schema, size of the payload, size of all, 8 bytes each) and
the payload, a C struct laid out by NVTX_PAYLOAD_SCHEMA_ENTRIES.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.member import Member
from traceq.importers.nsys.threads import pid_of
from traceq.importers.rows import Batches, batches_of

if TYPE_CHECKING:
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


@dataclass(frozen=True)
class _Message:
    slice_id: int
    ts: int
    pid: int
    op: str
    size: int
    fields: Fields

    @property
    def communicator(self) -> int:
        return int(self.fields[_COMMUNICATOR])


class Payloads:
    """Collects NCCL's payloads; the size of a communicator may be known only after its first use."""

    def __init__(self, job: Job) -> None:
        """Read the schemas of all payloads."""
        self._job = job
        self._schemas = _schemas(job)
        self._sizes: dict[int, int] = {}
        # By process and communicator: its ranks there, and when the first was made.
        self._ranks: dict[tuple[int, int], set[int]] = {}
        self._made: dict[tuple[int, int], int] = {}
        self._messages: list[_Message] = []

    def add(self, rows: pa.RecordBatch, made: pa.RecordBatch, texts: pa.Array) -> None:
        """Take in the payloads of rows of NVTX_EVENTS; `made` are their slices, `texts` their payloads as JSON."""
        named = pc.fill_null(pc.match_substring(texts.cast(pa.string()), _COMMUNICATOR), False)
        for row, text in zip(*_picked(pc.indices_nonzero(named), rows, made, texts), strict=True):
            self._take(row, _json_fields(text))
        blobs = rows.column("binaryData")
        filled = pc.and_(pc.greater(pc.binary_length(blobs), 0), pc.invert(named))
        left_out = 0
        for row, blob in zip(*_picked(pc.indices_nonzero(filled), rows, made, blobs), strict=True):
            left_out += not self._take(row, self._fields(blob, row.domain))
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

    def _take(self, row: _Row, fields: Fields) -> bool:
        """Whether the payload is NCCL's."""
        communicator = _integer(fields.get(_COMMUNICATOR))
        if communicator is None:
            return False
        ranks, rank = _integer(fields.get(_RANKS)), _integer(fields.get(_RANK))
        if ranks is not None and 0 < ranks < _MOST_RANKS:
            self._sizes[communicator] = ranks
            if rank is not None and 0 <= rank < ranks:
                self._ranks.setdefault((row.pid, communicator), set()).add(rank)
            if row.name.startswith("ncclCommInit"):
                self._made.setdefault((row.pid, communicator), row.ts)
        size = next((found for key in _SIZES if (found := _integer(fields.get(key))) is not None), None)
        if size is not None and 0 <= size <= _MOST:
            self._messages.append(_Message(row.slice_id, row.ts, row.pid, row.name, size, fields))
        return True

    def members(self) -> dict[int, Member]:
        """What the largest communicators of each process say of it, by process id.

        Where a process has another rank in each of several, none of them has all ranks of the job: then nothing is known.
        """
        largest: dict[int, set[Member]] = {}
        for pid, communicator in self._ranks:
            member = self._member(pid, communicator)
            size = max((other.ranks or 0 for other in largest.get(pid, ())), default=0)
            if (member.ranks or 0) >= size:
                largest[pid] = {member} | (largest.get(pid, set()) if member.ranks == size else set())
        return {pid: members.pop() if len(members) == 1 else Member(None, None) for pid, members in largest.items()}

    def _member(self, pid: int, communicator: int) -> Member:
        ranks = self._ranks.get((pid, communicator), set())
        return Member(next(iter(ranks)) if len(ranks) == 1 else None, self._sizes.get(communicator))

    def collectives(self) -> Batches:
        """Rows of collective for the ranges that move data."""
        numbers = self._numbers()
        return batches_of("collective", [self._row(message, numbers) for message in self._messages])

    def _numbers(self) -> dict[int, int]:
        """The place of each collective among those of its communicator, by slice, where the first of them is in the trace.

        All ranks of a communicator ask for the same collectives in the same order: those of one number belong together.
        """
        counts: dict[tuple[int, int], int] = {}
        numbers: dict[int, int] = {}
        for message in sorted(self._messages, key=lambda each: (each.ts, each.slice_id)):
            key = message.pid, message.communicator
            is_one_rank = self._member(*key).rank is not None
            if message.op in _POINT_TO_POINT or not is_one_rank or self._made.get(key, message.ts + 1) > message.ts:
                continue
            numbers[message.slice_id] = counts[key] = counts.get(key, -1) + 1
        return numbers

    def _row(self, message: _Message, numbers: dict[int, int]) -> dict[str, Any]:
        member = self._member(message.pid, message.communicator)
        return {
            "slice_id": message.slice_id,
            "op": message.op,
            "bytes": _bytes(message, member.ranks),
            "group_name": f"{message.communicator:#x}",
            "group_size": member.ranks,
            "group_rank": member.rank,
            "reduction": _reduction(message.fields.get(_REDUCTION)),
            "sequence": numbers.get(message.slice_id),
            "args": _args(message),
        }


class _Row(NamedTuple):
    """A range with a payload."""

    slice_id: int
    ts: int
    pid: int
    domain: int | None
    name: str


def _picked(
    places: pa.Array, rows: pa.RecordBatch, made: pa.RecordBatch, payloads: pa.Array
) -> tuple[list[_Row], list[Any]]:
    """The ranges at these places, and their payloads."""
    columns = (
        made.column("slice_id"),
        rows.column("start"),
        rows.column("globalTid").fill_null(0),
        rows.column("domainId"),
        made.column("name"),
    )
    values = zip(*(column.take(places).to_pylist() for column in columns), strict=True)
    found = [_Row(slice_id, ts, pid_of(thread), domain, name) for slice_id, ts, thread, domain, name in values]
    return found, payloads.take(places).to_pylist()


def _json_fields(text: str) -> Fields:
    """The members of a JSON object, none of anything else."""
    fields = json.loads(text)
    return fields if isinstance(fields, dict) else {}


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _reduction(value: object) -> str | None:
    """The name of a reduction, of which a blob has the number."""
    if isinstance(value, str):
        return value
    number = _integer(value)
    return REDUCTIONS[number] if number is not None and 0 <= number < len(REDUCTIONS) else None


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
