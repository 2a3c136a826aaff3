"""Typed decoding of the `args` of events: known keys into columns, everything else kept as JSON.

The keys are those of Kineto's writers since 2021; a key nobody listed is learned when it is first met, so that a newer
PyTorch costs one slow block and no data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Columns: (key in the file, attribute, type). Several keys may mean one thing in different eras.
_Column = tuple[str, str, Any]

INT = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | None
_INT32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
INT32 = _INT32 | None
_INTEGERS = list[_INT32] | None

HOST_COLUMNS: tuple[_Column, ...] = (
    ("External id", "external_id", INT),
    ("external id", "external_id_old", INT),
    ("correlation", "correlation", INT),
)
GPU_COLUMNS: tuple[_Column, ...] = (
    ("External id", "external_id", INT),
    ("external id", "external_id_old", INT),
    ("device", "device", INT),
    ("context", "context", INT),
    ("stream", "stream", INT),
    ("correlation", "correlation", INT),
    ("registers per thread", "registers_per_thread", INT32),
    ("shared memory", "shared_memory", INT),
    ("grid", "grid", _INTEGERS),
    ("block", "block", _INTEGERS),
    ("graph id", "graph_id", INT),
    ("graph node id", "graph_node_id", INT),
    ("bytes", "bytes", INT),
    ("fromDevice", "from_device", INT32),
    ("toDevice", "to_device", INT32),
)
SYNC_COLUMNS: tuple[_Column, ...] = (
    ("device", "device", INT),
    ("context", "context", INT),
    ("stream", "stream", INT),
    ("correlation", "correlation", INT),
    ("event_id", "event_id", INT),
    ("wait_on_stream", "wait_on_stream", INT),
    ("wait_on_cuda_event_record_corr_id", "wait_on_correlation", INT),
    ("wait_on_cuda_event_id", "wait_on_event", INT),
)
COLLECTIVE_COLUMNS: tuple[_Column, ...] = (
    ("Collective name", "op", str | None),
    ("dtype", "dtype", str | None),
    ("In msg nelems", "in_elements", INT),
    ("Out msg nelems", "out_elements", INT),
    ("Group size", "group_size", INT32),
    ("Process Group Name", "group_name", str | None),
    ("Seq", "sequence", INT),
)
MEMORY_COLUMNS: tuple[_Column, ...] = (
    ("Device Type", "device_type", INT),
    ("Device Id", "device_id", INT32),
    ("Total Allocated", "total_allocated", INT),
    ("Total Reserved", "total_reserved", INT),
)

_HOST_KEPT = (
    "Record function id", "Ev Idx", "Profiler Event Index", "Sequence number", "Fwd thread id", "Input Dims", "Input dims",
    "Input Strides", "Input type", "Concrete Inputs", "Input names", "Output dims", "Output type", "Output names", "Device",
    "Extra arguments", "Trace name", "Trace iteration", "Call stack", "Module Hierarchy", "Backend", "cbid", "external ts",
    "Python id", "Python parent id", "Python module id",
)  # fmt: skip
_GPU_KEPT = (
    "queued", "blocks per SM", "warps per SM", "est. achieved occupancy %", "memory bandwidth (GB/s)", "kind", "priority",
    "occupancy",
)  # fmt: skip


@dataclass
class Shape:
    """What to take out of the args of one family of events; learns keys it meets.

    What it has learned must not show in the rows: processes learn in different order. So both paths write kept keys in one
    order, the listed ones first, then by name, with the values' text as it stands in the file.
    """

    columns: tuple[_Column, ...]
    listed: tuple[str, ...]
    learned: set[str] = field(default_factory=set)
    decoder: msgspec.json.Decoder[list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self._build()

    def rank(self, key: str) -> tuple[int, str]:
        """Sort key of a kept key."""
        return (self.listed.index(key), "") if key in self.listed else (len(self.listed), key)

    def _build(self) -> None:
        kept = [*self.listed, *sorted(self.learned)]
        fields: list[Any] = [(name, kind, msgspec.field(default=None, name=key)) for key, name, kind in self.columns]
        fields += [
            (f"kept_{number}", msgspec.Raw | msgspec.UnsetType, msgspec.field(default=msgspec.UNSET, name=key))
            for number, key in enumerate(kept)
        ]
        row = msgspec.defstruct("Args", fields, omit_defaults=True, gc=False)
        self.decoder = msgspec.json.Decoder(list[row])  # type: ignore[valid-type]

    def learn(self, keys: Iterable[str]) -> None:
        """Keep these keys from the next block on without the slow path; a bounded number of them."""
        known = {key for key, _, _ in self.columns} | set(self.listed) | self.learned
        new = [key for key in keys if key not in known and not _NO_FIELD_NAME.search(key)]
        if new and len(self.learned) < _MOST_LEARNED:
            self.learned.update(new[: _MOST_LEARNED - len(self.learned)])
            self._build()


# msgspec takes no such names for fields.
_NO_FIELD_NAME = re.compile(r'[\x00-\x1f"\\]')

# A trace that invents keys without end is decoded the slow way.
_MOST_LEARNED = 200

HOST = Shape(HOST_COLUMNS, _HOST_KEPT)
GPU = Shape(GPU_COLUMNS, _GPU_KEPT)

_encoder = msgspec.json.Encoder()


@dataclass
class Decoded:
    """The args of a family of events: a list per column, and per event what no column holds, as JSON or null."""

    columns: dict[str, list[Any]]
    kept: pa.StringArray


def decode(shape: Shape, raws: Sequence[Any], notes: Counter[str]) -> Decoded:
    """Decode one args object per event."""
    text = b"[" + b",".join(raws) + b"]"
    try:
        rows = shape.decoder.decode(text)
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError):
        return _decode_slowly(shape, raws, notes)
    # As many keys came out as stand in the text: none is unknown, doubled or null. (A colon after a quote inside a string
    # only makes the counts differ, and the slow path is right in any case.)
    columns = {name: list(map(attrgetter(name), rows)) for _, name, _ in shape.columns}
    found = _forget(rows, columns)
    lines = _encoder.encode_lines(rows)
    if found + lines.count(b'":') != text.count(b'":'):
        return _decode_slowly(shape, raws, notes)
    return Decoded(columns, _lines_array(lines, rows))


def _forget(rows: list[Any], columns: dict[str, list[Any]]) -> int:
    """Reset the columns of each row to their default, so that encoding leaves them out; returns how many were set."""
    found = 0
    for name, values in columns.items():
        present = len(values) - values.count(None)
        if present:
            found += present
            for row in rows:
                setattr(row, name, None)
    return found


def _lines_array(lines: bytes, rows: list[Any]) -> pa.StringArray:
    """JSON objects, a line each, as an Arrow column without copying them one by one; empty objects are null."""
    ends = np.flatnonzero(np.frombuffer(lines, dtype=np.uint8) == _NEWLINE)
    if len(ends) != len(rows):
        # Pretty-printed values hold line breaks.
        return text_array([_encoder.encode(row) for row in rows])
    offsets = np.zeros(len(ends) + 1, dtype=np.int32)
    offsets[1:] = ends - np.arange(len(ends))
    text = lines.replace(b"\n", b"")
    array = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))
    is_empty = pa.array(np.diff(offsets) == len(b"{}"))
    return pc.if_else(is_empty, pa.scalar(None, pa.string()), array)


_NEWLINE = 10


def _decode_slowly(shape: Shape, raws: Sequence[Any], notes: Counter[str]) -> Decoded:
    """One event at a time: any key, any type, doubled keys counted."""
    taken = [_taken(raw, shape.columns, notes) for raw in raws]
    columns = {name: [row[name] for row, _ in taken] for _, name, _ in shape.columns}
    kept = [_kept_text(shape, bytes(raw), rest) for raw, (_, rest) in zip(raws, taken, strict=True)]
    shape.learn(sorted({key for _, rest in taken for key in rest}))
    return Decoded(columns, text_array(kept))


def _taken(raw: Any, columns: tuple[_Column, ...], notes: Counter[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of the columns in one args object, and what no column holds."""
    rest = loads_pairs(bytes(raw), notes)
    present = {key: rest.pop(key) for key, _, _ in columns if key in rest}
    return {name: _coerce(present.get(key), kind, key, rest) for key, name, kind in columns}, rest


_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _kept_text(shape: Shape, raw: bytes, pairs: dict[str, Any]) -> bytes | None:
    """The pairs that are left as JSON, with their values' text as it stands in `raw`."""
    if not pairs:
        return None
    ordered = sorted(pairs, key=shape.rank)
    try:
        texts = _raw_members.decode(raw)
        return _encoder.encode({key: texts[key] for key in ordered})
    except (msgspec.DecodeError, RecursionError, KeyError):
        # Args that are no object.
        return json.dumps({key: pairs[key] for key in ordered}, ensure_ascii=False).encode("utf-8", "replace")


def loads_pairs(raw: bytes, notes: Counter[str]) -> dict[str, Any]:
    """An args object as a dict; doubled keys and unreadable args are counted. What is no object is kept under "value"."""
    if not raw:
        return {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        notes["duplicate_key"] += len(items) - len(result)
        return result

    try:
        value = json.loads(raw, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        notes["malformed_arguments"] += 1
        return {}
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"value": value}


def _coerce(value: Any, kind: Any, key: str, rest: dict[str, Any]) -> Any:
    """The value in its column's type; what does not fit goes back to the rest, so that nothing is lost."""
    if value is None:
        return None
    try:
        return msgspec.convert(_whole(value) if kind is INT or kind is INT32 else value, kind)
    except (ValueError, OverflowError):
        rest[key] = value
        return None


def _whole(value: Any) -> Any:
    """Numbers written as text or with a fraction of nothing, as integers."""
    if isinstance(value, str) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def pick(raws: Sequence[Any], columns: tuple[_Column, ...], notes: Counter[str]) -> list[dict[str, Any]]:
    """Few events, one at a time: a dict per event with an entry per column and the rest under ""."""
    taken = [_taken(raw, columns, notes) for raw in raws]
    return [{**row, "": json.dumps(rest, ensure_ascii=False) if rest else None} for row, rest in taken]


def text_array(values: Sequence[bytes | None]) -> pa.StringArray:
    """JSON texts as an Arrow string column; None and empty objects are null."""
    return pa.array([None if value == b"{}" else value for value in values], pa.binary()).cast(pa.string())
