"""The `args` of events: known keys as columns, everything else kept as JSON; collectives among them as rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from traceq.importers.rows import Batches, batches_of

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
    ("External id", "external_id", INT), ("external id", "external_id_old", INT), ("device", "device", INT),
    ("context", "context", INT), ("stream", "stream", INT), ("correlation", "correlation", INT),
    ("registers per thread", "registers_per_thread", INT32), ("shared memory", "shared_memory", INT),
    ("grid", "grid", _INTEGERS), ("block", "block", _INTEGERS), ("graph id", "graph_id", INT),
    ("graph node id", "graph_node_id", INT), ("bytes", "bytes", INT), ("fromDevice", "from_device", INT32),
    ("toDevice", "to_device", INT32),
)  # fmt: skip
SYNC_COLUMNS: tuple[_Column, ...] = (
    ("device", "device", INT), ("context", "context", INT), ("stream", "stream", INT),
    ("correlation", "correlation", INT), ("event_id", "event_id", INT), ("wait_on_stream", "wait_on_stream", INT),
    ("wait_on_cuda_event_record_corr_id", "wait_on_correlation", INT),
    ("wait_on_cuda_event_id", "wait_on_event", INT),
)  # fmt: skip
COLLECTIVE_COLUMNS: tuple[_Column, ...] = (
    ("Collective name", "op", str | None), ("dtype", "dtype", str | None), ("In msg nelems", "in_elements", INT),
    ("Out msg nelems", "out_elements", INT), ("Group size", "group_size", INT32),
    ("Process Group Name", "group_name", str | None), ("Seq", "sequence", INT),
)  # fmt: skip
MEMORY_COLUMNS: tuple[_Column, ...] = (
    ("Device Type", "device_type", INT),
    ("Device Id", "device_id", INT32),
    ("Total Allocated", "total_allocated", INT),
    ("Total Reserved", "total_reserved", INT),
)

_encoder = msgspec.json.Encoder()


class Decoded(msgspec.Struct):
    """Args of several events: a list of values per column, by name; and per event the other members as JSON or null."""

    columns: dict[str, list[Any]]
    kept: pa.StringArray


def decode(columns: tuple[_Column, ...], raws: Sequence[Any], notes: Counter[str]) -> Decoded:
    """Return the args of events, one args object (JSON text) per event, split into `columns` and other members.

    Duplicate keys, unreadable args and values that their column cannot hold are counted in `notes`.
    """
    taken = [_take_columns(raw, columns, notes) for raw in raws]
    kept = [_rest_as_json(bytes(raw), rest) for raw, (_, rest) in zip(raws, taken, strict=True)]
    return Decoded({name: [row[name] for row, _ in taken] for _, name, _ in columns}, text_array(kept))


def _take_columns(raw: Any, columns: tuple[_Column, ...], notes: Counter[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of the columns, by name, in one args object (JSON text), and a dict of its other members."""
    rest = loads_pairs(bytes(raw), notes)
    present = {key: rest.pop(key) for key, _, _ in columns if key in rest}
    taken = {name: coerce_type(present.get(key), kind, notes) for key, name, kind in columns}
    rest |= {key: present[key] for key, name, _ in columns if taken[name] is None and present.get(key) is not None}
    return taken, rest


_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _rest_as_json(raw: bytes, pairs: dict[str, Any]) -> bytes | None:
    """Return the members `pairs` of the args object `raw` as JSON text, numbers written as there; None if empty."""
    if not pairs:
        return None
    try:
        written = {key: value for key, value in _raw_members.decode(raw).items() if key in pairs}
        return msgspec.json.format(_encoder.encode(pairs | written), indent=-1)
    except (msgspec.DecodeError, RecursionError):
        # Args that are no object.
        return json.dumps(pairs, ensure_ascii=False).encode("utf-8", "replace")


def loads_pairs(raw: bytes, notes: Counter[str]) -> dict[str, Any]:
    """Return an args object (JSON text) as a dict, another JSON value as {"value": ...}; {} for null or unreadable text.

    Duplicate keys (the last value counts) and unreadable text are counted in `notes`. Kernels of annotated graphs may name
    the lane that they are drawn on beside the stream that they ran on: two members "stream" are the stream and the lane,
    and of "original_stream" and "stream" the former is the stream. The lane becomes "lane".
    """
    if not raw:
        return {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(items) > len(result):
            notes["duplicate_key"] += len(items) - len(result)
            if streams := [value for key, value in items if key == "stream"][:-1]:
                result |= {"stream": streams[0], "lane": result["stream"]}
        if "original_stream" in result:
            result |= {"lane": result.get("stream"), "stream": result.pop("original_stream")}
        return result

    try:
        value = json.loads(raw, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        notes["malformed_arguments"] += 1
        return {}
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"value": value}


def coerce_type(value: Any, kind: Any, notes: Counter[str]) -> Any:
    """Return the value in its column's type; None for one that does not fit, which is counted in `notes`."""
    try:
        return None if value is None else msgspec.convert(_to_integer(value) if kind in (INT, INT32) else value, kind)
    except (ValueError, OverflowError):
        notes["number_out_of_range"] += 1
        return None


def _to_integer(value: Any) -> Any:
    """Return digits as text, and floats without a fraction, as int; other values unchanged.

    Raises ValueError for other text.
    """
    if isinstance(value, str) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def pick_columns(raws: Sequence[Any], columns: tuple[_Column, ...], notes: Counter[str]) -> list[dict[str, Any]]:
    """Return for each args object (JSON text) a dict with a value per column, and its other members as JSON under "".

    For a few events; `decode` is for many.
    """
    taken = [_take_columns(raw, columns, notes) for raw in raws]
    return [{**row, "": json.dumps(rest, ensure_ascii=False) if rest else None} for row, rest in taken]


def text_array(values: Sequence[bytes | None]) -> pa.StringArray:
    """Return JSON texts as an Arrow string column, with null for None and for empty objects."""
    return pa.array([None if value == b"{}" else value for value in values], pa.binary()).cast(pa.string())


# Bytes per element of c10's scalar types, and of PyTorch's own names for them, lower-cased.
_ELEMENT_BYTES = {
    "double": 8, "long": 8, "complexfloat": 8, "uint64": 8, "float64": 8, "int64": 8, "complex64": 8,
    "float": 4, "int": 4, "uint32": 4, "float32": 4, "int32": 4,
    "half": 2, "bfloat16": 2, "short": 2, "uint16": 2, "float16": 2, "int16": 2,
    "byte": 1, "char": 1, "bool": 1, "uint8": 1, "int8": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip

_COLLECTIVE_ROW = (("External id", "external_id", INT), ("name", "name", str | None), *COLLECTIVE_COLUMNS)


def build_collectives(raws: Sequence[Any], ids: npt.NDArray[np.int64], notes: Counter[str]) -> Batches:
    """Return a row of collective for each args object that names its operation; `ids` are the events' slice ids.

    A program that annotates its own graphs may write the operation as "name", beside the elements of the message.
    """
    rows = []
    for slice_id, row in zip(ids, pick_columns(raws, _COLLECTIVE_ROW, notes), strict=True):
        row["op"] = row["op"] or row["name"]
        del row["name"]
        if row["op"] is not None:
            rest = row.pop("")
            rows.append({"slice_id": int(slice_id), "bytes": _message_bytes(row), "args": rest, **row})
    return batches_of("collective", rows)


def _message_bytes(row: dict[str, Any]) -> int | None:
    """Return the bytes of a collective: the larger of its input and output; None where elements or type are unknown."""
    size = _ELEMENT_BYTES.get(str(row["dtype"]).lower())
    counts = [row[key] for key in ("in_elements", "out_elements") if row[key] is not None]
    total = max(counts) * size if size and counts else None
    return total if total is not None and total < 1 << 63 else None
