"""Rows of GPU streams: kernels, copies and fills, and the GPU itself as its plane describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from traceq.importers.xplane.space import Plane, Value, XEvent

_INT32, _INT64, _TEXT = pa.int32(), pa.int64(), pa.string()
_AXES = tuple(f"{size}_{axis}" for size in ("grid", "block") for axis in "xyz")
COLUMNS: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("kind", "name"), _TEXT),
    "device": _INT32,
    **dict.fromkeys(("stream", "context", "correlation_id", "graph_id", "graph_node_id", "bytes"), _INT64),
    **dict.fromkeys((*_AXES, "registers_per_thread"), _INT32),
    **dict.fromkeys(("shared_memory", "static_shared_memory", "dynamic_shared_memory"), _INT64),
    **dict.fromkeys(("copy_kind", "src_memory", "dst_memory", "args"), _TEXT),
}

_COPY = re.compile(r"Memcpy([HDP])(?:to|2)([HDP])")
_COPY_KINDS = {"HD": "h2d", "DH": "d2h", "DD": "d2d", "HH": "h2h", "PP": "p2p"}
_MEMORIES = {"pageable", "pinned", "device", "array", "managed", "device_static", "managed_static"}
_SPACES = {"H": "Host", "D": "Device", "P": "Device"}

# What a column says, and what is of no use beside it.
_IN_COLUMNS = {"correlation_id", "context_id", "kernel_details", "memcpy_details", "memset_details", "cuda_graph_id"}
_IN_COLUMNS |= {"cuda_graph_node_id", "graph_id", "graph_node_id", "device_id"}


def build_row(event: XEvent, device: int, stream: int) -> dict[str, Any]:
    """Return the columns of a GPU slice on a stream, by name: a kernel, copy or fill, with the details in the event's stats."""
    stats = event.stats
    columns = {
        "kind": "kernel",
        "name": event.name.removesuffix(".kd"),
        "device": device,
        "stream": stream,
        "context": _parse_integer(stats.get("context_id")),
        "correlation_id": _parse_integer(stats.get("correlation_id")) or None,
        "graph_id": _parse_integer(stats.get("cuda_graph_id", stats.get("graph_id"))) or None,
        "graph_node_id": _parse_integer(stats.get("cuda_graph_node_id", stats.get("graph_node_id"))) or None,
        "args": rest_as_json(stats, _IN_COLUMNS),
    }
    if "memcpy_details" in stats or _COPY.match(event.name):
        return columns | _copy_columns(event.name, str(stats.get("memcpy_details") or ""))
    if "memset_details" in stats or event.name.lower().startswith("memset"):
        return columns | _fill_columns(str(stats.get("memset_details") or ""))
    return columns | _kernel_columns(str(stats.get("kernel_details") or ""))


@cache
def _kernel_columns(details: str) -> dict[str, Any]:
    """Return the columns for grid, block, registers and shared memory, by name, from the stat kernel_details.

    None for unknown. It reads "regs:32 static_shared:0 dynamic_shared:0 grid:4,1,1 block:128,1,1", or AMD's words for
    them.
    """
    told = _parse_details(details)
    axes = [_parse_axes(told.get(size)) for size in ("grid", "block")]
    parts = [_parse_integer(told.get(name)) for name in ("static_shared", "dynamic_shared")]
    together = sum(part for part in parts if part is not None) if any(part is not None for part in parts) else None
    return {
        **dict(zip(_AXES, [*axes[0], *axes[1]], strict=True)),
        "registers_per_thread": _parse_integer(told.get("regs")) or None,
        "shared_memory": _parse_integer(told.get("group_mem")) if together is None else together,
        "static_shared_memory": parts[0],
        "dynamic_shared_memory": parts[1],
    }


def _parse_axes(sizes: str | None) -> Sequence[int | None]:
    numbers = [_parse_integer(digits) for digits in (sizes or "").split(",")]
    return numbers if len(numbers) == 3 else (None, None, None)  # noqa: PLR2004 - x, y, z


def _copy_columns(name: str, details: str) -> dict[str, Any]:
    """Return the columns of a copy, by name: PyTorch's name, direction, memories and bytes, from its name and memcpy_details.

    It reads "kind_src:pageable kind_dst:device size:4 dest:0 async:1".
    """
    told = _parse_details(details)
    memories = [told.get(side) if told.get(side) in _MEMORIES else None for side in ("kind_src", "kind_dst")]
    columns = {"kind": "memcpy", "bytes": _parse_integer(told.get("size")) or None}
    match = _COPY.match(name)
    if match is None:
        return columns
    source, target = match.groups()
    shown = [
        (memory or _SPACES[side]).replace("_", " ").title()
        for memory, side in zip(memories, match.groups(), strict=True)
    ]
    return columns | {
        "name": f"Memcpy {source}to{target} ({shown[0]} -> {shown[1]})",
        "copy_kind": _COPY_KINDS.get(source + target),
        "src_memory": memories[0] or ("device" if source != "H" else None),
        "dst_memory": memories[1] or ("device" if target != "H" else None),
    }


def _fill_columns(details: str) -> dict[str, Any]:
    told = _parse_details(details)
    size = next((told[name] for name in ("size", "num_bytes") if name in told), None)
    return {"kind": "memset", "name": "Memset (Device)", "bytes": _parse_integer(size) or None, "dst_memory": "device"}


def _parse_details(text: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in text.split() if ":" in part)


def rest_as_json(stats: Mapping[str, Value], left_out: set[str]) -> str | None:
    """Return the stats except `left_out` and empty ones as JSON text; None if none are left.

    They tell XLA's operation and program.
    """
    rest = {key: value for key, value in stats.items() if key not in left_out and value not in (None, "")}
    return json.dumps(rest, ensure_ascii=False, sort_keys=True) if rest else None


def _parse_integer(value: object) -> int | None:
    """Return the number of an integer or of text ("12", or "$$1" for a context); None for other values."""
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    digits = re.fullmatch(r"\$*(\d{1,18})", str(value))
    return int(digits[1]) if digits else None


# AMD's planes have no names of models: capability, compute units and memory (GiB) that only one of them has.
_MODELS = {
    ("9.4", 304, 192): "AMD Instinct MI300X",
    ("9.4", 304, 256): "AMD Instinct MI325X",
    ("9.4", 228, 128): "AMD Instinct MI300A",
    ("9.0", 110, 64): "AMD Instinct MI250X",
}


def build_device(number: int, plane: Plane) -> dict[str, Any]:
    """Return the row of table device for a GPU's plane; None for what the plane does not say.

    AMD's memory bandwidth is left out, because the profiler writes half of it.
    """
    told = plane.stats
    vendor = str(told.get("device_vendor") or "")
    is_amd = vendor.upper() == "AMD"
    parts = [_parse_integer(told.get(f"compute_cap_{part}")) for part in ("major", "minor")]
    capability = f"{parts[0]}.{parts[1]}" if None not in parts else None
    cores, memory = _parse_integer(told.get("core_count")), _parse_integer(told.get("memory_size"))
    model = _MODELS.get((capability or "", cores or 0, round((memory or 0) / 2**30)))
    return {
        "device": number,
        "name": model if is_amd and model else vendor.upper() or None,
        "compute_capability": None if is_amd else capability,
        "sm_count": cores,
        "memory_bytes": memory,
        "memory_bandwidth": None if is_amd else _parse_integer(told.get("memory_bandwidth")),
        "warp_size": (64 if model else None) if is_amd else None,
        "source": "trace",
    }
