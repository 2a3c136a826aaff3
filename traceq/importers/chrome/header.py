"""The keys around the list of events: who wrote the trace, on which devices, as which rank."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import msgspec

from traceq.importers.chrome.repair import clean, object_of_trailer
from traceq.importers.chrome.threads import parse_integer
from traceq.importers.rows import pseudonym

# What may enter trace.args. A list of what to keep, not of what to drop: users add keys of their own, with user names,
# paths and whole environments in them.
_KEPT = (
    "record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory", "cupti_version", "cuda_runtime_version",
    "cuda_driver_version", "roctracer_version", "rocprofiler-sdk_version", "hip_runtime_version", "hip_driver_version",
    "displayTimeUnit", "trace_id", "group_trace_id", "traceq",
)  # fmt: skip
_KEPT_OF_DISTRIBUTED = ("backend", "nccl_version", "pg_count", "pg_config")


def parse(header: bytes, trailer: bytes, notes: Counter[str]) -> dict[str, Any]:
    """Return the top-level members but the events, from the text before and after their list."""
    members: dict[str, Any] = {}
    for text in (header.strip().rstrip(b",") + b"}" if header.strip() else b"{}", object_of_trailer(trailer)):
        members.update(_decode_or_repair(text, notes))
    return members


def _decode_or_repair(text: bytes, notes: Counter[str]) -> dict[str, Any]:
    members = _decode(text)
    if members is None:
        members = _decode(clean(text, notes))
    if members is None:
        notes["metadata_damaged"] += 1
    return members or {}


def _decode(text: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def build_trace_row(
    members: dict[str, Any], *, is_kineto: bool, first: int | None, notes: Counter[str]
) -> dict[str, Any]:
    """Return the trace row."""
    distributed = members.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    rank, world_size = parse_integer(distributed.get("rank"), 32), parse_integer(distributed.get("world_size"), 32)
    if distributed and rank is None:
        notes["missing_rank"] += 1
    # traceq.profile writes down what the launcher said where there is no process group.
    ours = members.get("traceq")
    if isinstance(ours, dict) and rank is None:
        rank, world_size = parse_integer(ours.get("rank"), 32), parse_integer(ours.get("world_size"), 32)
    rest = {key: members[key] for key in _KEPT if key in members}
    rest |= {key: distributed[key] for key in _KEPT_OF_DISTRIBUTED if key in distributed}
    host = members.get("host_name")
    return {
        "producer": "PyTorch Profiler" if is_kineto else None,
        "producer_version": None,
        "schema_version": None if "schemaVersion" not in members else str(members["schemaVersion"]),
        "host": pseudonym(str(host)) if host else None,
        "rank": rank,
        "world_size": world_size,
        "utc_origin_ns": _find_utc_origin(members, first) if is_kineto else None,
        "args": json.dumps(rest, ensure_ascii=False, sort_keys=True) if rest else None,
    }


# Nanoseconds since 1970 are beyond this since 2001; times since a process started never are.
_ABSOLUTE = 10**18


def _find_utc_origin(members: dict[str, Any], first: int | None) -> int | None:
    """Return the base time. Kineto without one wrote times since 1970 or, for some weeks of 2024, since the process started."""
    base = parse_integer(members.get("baseTimeNanoseconds"))
    if base is not None:
        return base
    return 0 if first is not None and first > _ABSOLUTE else None


def build_device_rows(members: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a device row per entry of deviceProperties; of several with one number the first."""
    listed = members.get("deviceProperties")
    rows: dict[int, dict[str, Any]] = {}
    for each in listed if isinstance(listed, list) else ():
        row = _build_device_row(each) if isinstance(each, dict) else {"device": None}
        if row["device"] is not None:
            rows.setdefault(row["device"], row)
    return list(rows.values())


def _build_device_row(properties: dict[str, Any]) -> dict[str, Any]:
    shared = properties.get("sharedMemPerMultiprocessor", properties.get("maxSharedMemoryPerMultiProcessor"))
    return {
        "device": parse_integer(properties.get("id"), 32),
        "name": str(properties["name"]) if properties.get("name") else None,
        "compute_capability": _compute_capability(properties),
        "sm_count": parse_integer(properties.get("numSms"), 32),
        "memory_bytes": parse_integer(properties.get("totalGlobalMem")),
        "warp_size": parse_integer(properties.get("warpSize"), 32),
        "max_threads_per_sm": parse_integer(properties.get("maxThreadsPerMultiprocessor"), 32),
        "registers_per_sm": parse_integer(properties.get("regsPerMultiprocessor"), 32),
        "shared_memory_per_sm": parse_integer(shared),
        "source": "trace",
    }


# ROCm writes its own numbers under the names of CUDA's: 9.0 is a gfx90a and no Hopper. Its older GPUs have warps of 64, its
# newer ones of 32 as NVIDIA's.
_OTHER_MAKERS = re.compile(r"(?i)\b(AMD|Radeon|Instinct|Intel)\b|^gfx|^MI\d")
_NVIDIA_WARP_SIZE = 32


def _compute_capability(properties: dict[str, Any]) -> str | None:
    """E.g. 9.0; None for other makers' GPUs and where it is not written."""
    if parse_integer(properties.get("warpSize", _NVIDIA_WARP_SIZE)) != _NVIDIA_WARP_SIZE:
        return None
    if _OTHER_MAKERS.search(str(properties.get("name") or "")):
        return None
    major, minor = parse_integer(properties.get("computeMajor")), parse_integer(properties.get("computeMinor"))
    return f"{major}.{minor}" if major is not None and minor is not None else None
