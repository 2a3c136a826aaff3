"""Rows of GPU activity: kernels, copies, memsets, projected annotations, synchronizations, events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.chrome import args
from traceq.importers.chrome.host import build_name_column, merge_spellings, text_of
from traceq.importers.chrome.uncategorized import GPU_LANE
from traceq.importers.rows import Batches, repeat_text

_Int64s = npt.NDArray[np.int64]

FAMILIES = frozenset({"kernel", "memcpy", "memset", "gpu_annotation", "synchronization", "cuda_event"})

# CUDA rejects larger device numbers and dimensions; what is beyond is a damaged number.
_MOST_INT32 = (1 << 31) - 1

_DIGITS = re.compile(r"\d+")


def build_batches(
    family: str, events: Sequence[Any], ids: _Int64s, ts: _Int64s, dur: _Int64s, notes: Counter[str]
) -> Batches:
    """Return the rows of one family of FAMILIES (gpu_slice, gpu_annotation, ...), decoded from events one by one.

    Slice ids, starts and durations (ns) are per event. GPU work and annotations that name no device are left out and
    counted. Kernels of collectives also give rows of collective.
    """
    if family in ("synchronization", "cuda_event"):
        return _build_sync_batches(family, events, ids, ts, dur, notes)
    decoded = args.decode(args.GPU_COLUMNS, [event.args for event in events], notes)
    columns = decoded.columns
    devices = [_device_of(d, event) for d, event in zip(columns["device"], events, strict=True)]
    streams = [_stream_of(s, event) for s, event in zip(columns["stream"], events, strict=True)]
    usable = np.array([device is not None for device in devices], dtype=np.bool_)
    notes["missing_device"] += len(usable) - int(np.count_nonzero(usable))
    common = {
        "slice_id": pa.array(ids),
        "device": pa.array(devices, pa.int32()),
        "stream": pa.array(streams, pa.int64()),
        "name": build_name_column(events),
        "ts": pa.array(ts),
        "dur": pa.array(dur),
        "external_id": pa.array(merge_spellings(columns, "external_id", "external_id_old"), pa.int64()),
    }
    if family == "gpu_annotation":
        return [("gpu_annotation", pa.record_batch(common).filter(pa.array(usable)))]
    batch = pa.record_batch({**common, **_build_work_columns(family, columns, events), "args": decoded.kept})
    result: Batches = [("gpu_slice", batch.filter(pa.array(usable)))]
    if family in ("kernel", "memcpy"):
        named = pc.match_substring_regex(decoded.kept, '"(Collective name|In msg nelems)"')
        described = named.fill_null(False).to_numpy(False) & usable
        nodes = columns["graph_node_id"]
        chosen = [n for n in np.flatnonzero(described).tolist() if _can_communicate(events[n].name, nodes[n])]
        result += args.build_collectives([events[n].args for n in chosen], ids[chosen], notes)
    return result


# PyTorch marks all work that a collective launched while its graph was captured, kernels that scale or pack among it.
COMMUNICATES = re.compile(
    r"(?i)ccl|nvshmem|multimem|symmetric_memory|(one|two)_?shot|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
    r"|cross_device|send_?recv|memcpy"
)


def _can_communicate(name: Any, graph_node_id: int | None) -> bool:
    """Return whether GPU work with the arguments of a collective carries it out: by its name, if it is a graph's."""
    return not graph_node_id or bool(COMMUNICATES.search(text_of(name)))


_KERNEL_COLUMNS = (
    "registers_per_thread",
    "shared_memory",
    *(f"{size}_{axis}" for size in ("grid", "block") for axis in "xyz"),
)
_COPY_COLUMNS = ("src_device", "dst_device")

# Columns of gpu_work.sql that say nothing of a kind of work.
_OTHERS_COLUMNS = {"kernel": _COPY_COLUMNS, "memcpy": _KERNEL_COLUMNS, "memset": _KERNEL_COLUMNS + _COPY_COLUMNS}


def build_work_batches(work: pa.Table) -> Batches:
    """Return batches of gpu_slice for kernels, copies and memsets that DuckDB decoded (gpu_work.sql), one kind a batch.

    Columns that only names tell are added: kind and memories of copies, memory of memsets.
    """
    result: Batches = []
    for kind in pc.unique(work["kind"]).to_pylist():
        of_kind = (
            work.filter(pc.equal(work["kind"], kind))
            .drop_columns(["is_plain", *_OTHERS_COLUMNS[kind]])
            .combine_chunks()
        )
        names = of_kind["name"].combine_chunks().dictionary_encode()
        columns = _columns_from_names(kind, names.dictionary.to_pylist())
        for column, values in columns.items():
            of_kind = of_kind.append_column(column, values.take(names.indices))
        result += [("gpu_slice", batch) for batch in of_kind.to_batches()]
    return result


def _columns_from_names(family: str, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return the columns of gpu_slice that names tell, of copies (kind, memories) and memsets (memory); else none."""
    if family == "memcpy":
        parsed = [_parse_copy(name) for name in names]
        columns = ("copy_kind", "src_memory", "dst_memory")
        return {column: pa.array([parts[n] for parts in parsed], pa.string()) for n, column in enumerate(columns)}
    if family == "memset":
        return {"dst_memory": pa.array([_memset_memory(name) for name in names], pa.string())}
    return {}


def _build_work_columns(family: str, columns: dict[str, list[Any]], events: Sequence[Any]) -> dict[str, pa.Array]:
    """Return the columns of gpu_slice that depend on the kind of work; `columns` are the decoded args by name."""
    common = {
        "kind": repeat_text(family, len(events)),
        "context": pa.array(columns["context"], pa.int64()),
        "correlation_id": pa.array(columns["correlation"], pa.int64()),
        "graph_id": _null_if_zero(columns["graph_id"]),
        "graph_node_id": _null_if_zero(columns["graph_node_id"]),
        "bytes": pa.array(columns["bytes"], pa.int64()),
    }
    if family == "kernel":
        return common | _geometry_columns(columns)
    if family == "memcpy":
        common["src_device"] = pa.array(columns["from_device"], pa.int32())
        common["dst_device"] = pa.array(columns["to_device"], pa.int32())
    return common | _columns_from_names(family, [text_of(event.name) for event in events])


def _null_if_zero(values: list[int | None]) -> pa.Array:
    """Return graph ids as a column, with NULL for the 0 that Kineto writes for work outside CUDA graphs."""
    return pa.array([value or None for value in values], pa.int64())


def _geometry_columns(columns: dict[str, list[Any]]) -> dict[str, pa.Array]:
    """Return the columns of a kernel's launch: registers, shared memory, and sizes of grid and block per axis."""
    result = {
        "registers_per_thread": pa.array(columns["registers_per_thread"], pa.int64()),
        "shared_memory": pa.array(columns["shared_memory"], pa.int64()),
    }
    for name in ("grid", "block"):
        for axis, letter in enumerate("xyz"):
            values = [v[axis] if v is not None and len(v) > axis else None for v in columns[name]]
            result[f"{name}_{letter}"] = pa.array(values, pa.int32())
    return result


def _device_of(device: int | None, event: Any) -> int | None:
    """Return the GPU that an event ran on: `device`, from its args, else what its track says; None if unknown.

    The track's pid is the device in files of Kineto, its tid in those of torch.autograd.profiler.
    """
    written = event.tid if event.pid == GPU_LANE else event.pid
    if device is None and type(written) is int:
        device = written
    return device if device is not None and 0 <= device <= _MOST_INT32 else None


def _stream_of(stream: int | None, event: Any) -> int | None:
    """Return the stream of an event: `stream`, from its args, else the number in its tid ("stream 7" up to 2021).

    None if unknown, as in files of torch.autograd.profiler, whose tid is the device.
    """
    if stream is not None:
        return stream
    digits = None if event.pid == GPU_LANE else _DIGITS.search(str(event.tid))
    return int(digits[0]) if digits and len(digits[0]) < 19 else None  # noqa: PLR2004 - fits int64


_COPY = re.compile(r"(?P<src>[HDPA])to(?P<dst>[HDPA])(?: \((?P<from>[\w ]+) -> (?P<to>[\w ]+)\))?")
# ROCm's own names: CopyHostToDevice, MEMORY_COPY_DEVICE_TO_HOST.
_ROCM_COPY = re.compile(r"copy_?(?P<src>host|device)_?to_?(?P<dst>host|device)", re.IGNORECASE)
_COPY_KIND = {"HD": "h2d", "DH": "d2h", "DD": "d2d", "HH": "h2h", "PP": "p2p"}
_MEMORY = {
    "pageable": "pageable", "pinned": "pinned", "device": "device", "array": "array", "managed": "managed",
    "device static": "device_static", "managed static": "managed_static",
}  # fmt: skip


def _parse_copy(name: str) -> tuple[str | None, str | None, str | None]:
    """Return (copy_kind, src_memory, dst_memory) by a copy's name, such as "Memcpy HtoD (Pinned -> Device)".

    What the name does not tell is None. CUDA arrays count as device memory in copy_kind.
    """
    match = _COPY.search(name)
    if match is None:
        rocm = _ROCM_COPY.search(name)
        return (_COPY_KIND[(rocm["src"][0] + rocm["dst"][0]).upper()] if rocm else None), None, None
    kind = _COPY_KIND.get((match["src"] + match["dst"]).replace("A", "D"))
    return kind, _memory_kind(match["from"]), _memory_kind(match["to"])


def _memory_kind(word: str | None) -> str | None:
    """Return traceq's word for a kind of memory (pinned, pageable, ...), None for unknown ones."""
    return _MEMORY.get(word.lower()) if word else None


def _memset_memory(name: str) -> str | None:
    """Return the kind of memory in brackets in a memset's name, None without one."""
    match = re.search(r"\(([\w ]+)\)", name)
    return _memory_kind(match[1]) if match else None


_SYNC_KIND = {
    "event sync": "event", "stream wait event": "stream_wait_event", "stream sync": "stream", "context sync": "context",
}  # fmt: skip


def _build_sync_batches(
    family: str, events: Sequence[Any], ids: _Int64s, ts: _Int64s, dur: _Int64s, notes: Counter[str]
) -> Batches:
    """Return events of cuda_sync or cuda_event as rows of the table `family`: synchronization or cuda_event."""
    rows = args.pick_columns([event.args for event in events], args.SYNC_COLUMNS, notes)
    devices = [_device_of(row["device"], event) for row, event in zip(rows, events, strict=True)]
    impossible = [row for row, device in zip(rows, devices, strict=True) if device is None and row["device"] != device]
    notes["number_out_of_range"] += len(impossible)
    columns: dict[str, pa.Array] = {
        "slice_id": pa.array(ids),
        "device": pa.array(devices, pa.int32()),
        "ts": pa.array(ts),
    }
    numbers = {"context": "context", "stream": "stream", "correlation_id": "correlation"}
    if family == "cuda_event":
        columns["event_id"] = pa.array([row["event_id"] for row in rows], pa.int64())
    else:
        kinds = [_SYNC_KIND.get(text_of(event.name).lower(), "unknown") for event in events]
        columns |= {"kind": pa.array(kinds, pa.string()), "dur": pa.array(dur)}
        numbers["event_id"] = "wait_on_event"
        numbers |= {"wait_on_stream": "wait_on_stream", "wait_on_correlation_id": "wait_on_correlation"}
    columns |= {
        column: pa.array([_null_if_unset(row[key]) for row in rows], pa.int64()) for column, key in numbers.items()
    }
    return [(family, pa.record_batch(columns))]


def _null_if_unset(value: int | None) -> int | None:
    """Return an id, None where it is unset: missing, -1, or that as an unsigned 32-bit number."""
    return None if value in (-1, 0xFFFFFFFF) else value
