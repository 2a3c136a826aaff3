"""The keys around the list of events: who wrote the trace, on which devices, as which rank."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import msgspec

from traceq.importers.chrome.repair import clean, object_of_trailer
from traceq.importers.chrome.rows import parse_integer
from traceq.importers.rows import Batches, Notes, pseudonym_of

# What may enter trace.args. A list of what to keep, not of what to drop: users add keys of their own, with user names,
# paths and whole environments in them.
_KEPT = (
    "record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory", "cupti_version", "cuda_runtime_version",
    "cuda_driver_version", "roctracer_version", "rocprofiler-sdk_version", "hip_runtime_version", "hip_driver_version",
    "displayTimeUnit", "trace_id", "group_trace_id", "traceq",
)  # fmt: skip
_KEPT_OF_DISTRIBUTED = ("backend", "nccl_version", "pg_count", "pg_config")


def parse(header: bytes, trailer: bytes, notes: Counter[str]) -> dict[str, Any]:
    """Return the members of the file's outermost object except the events, from the text before and after their list.

    Text that is no JSON is repaired if possible, and counted in `notes`.
    """
    members: dict[str, Any] = {}
    for text in (header.strip().rstrip(b",") + b"}" if header.strip() else b"{}", object_of_trailer(trailer)):
        members.update(_decode_or_repair(text, notes))
    return members


def _decode_or_repair(text: bytes, notes: Counter[str]) -> dict[str, Any]:
    """Return the members of a JSON object, cleaned of what is not JSON if needed; {} where that fails too (counted)."""
    members = _decode(text)
    if members is None:
        members = _decode(clean(text, notes))
    if members is None:
        notes["metadata_damaged"] += 1
    return members or {}


def _decode(text: bytes) -> dict[str, Any] | None:
    """Return the members of a JSON object, None where the text is anything else."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def build_trace_row(
    members: dict[str, Any], *, is_kineto: bool, first: int | None, notes: Counter[str]
) -> dict[str, Any]:
    """Return the columns of the file's one row of trace, from the members around its events.

    `first` is the earliest time (ns) among the events, None without any.
    """
    distributed = members.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    rank, world_size = (_read_number(distributed, key, notes) for key in ("rank", "world_size"))
    if distributed and rank is None:
        notes["missing_rank"] += 1
    # traceq.profile writes down what the launcher said where there is no process group.
    ours = members.get("traceq")
    if isinstance(ours, dict) and rank is None:
        rank, world_size = (_read_number(ours, key, notes) for key in ("rank", "world_size"))
    rest = {key: members[key] for key in _KEPT if key in members}
    rest |= {key: distributed[key] for key in _KEPT_OF_DISTRIBUTED if key in distributed}
    host = members.get("host_name")
    return {
        "producer": "PyTorch Profiler" if is_kineto else None,
        "producer_version": None,
        "schema_version": None if "schemaVersion" not in members else str(members["schemaVersion"]),
        "host": pseudonym_of(str(host)) if host else None,
        "rank": rank,
        "world_size": world_size,
        "utc_origin_ns": _find_utc_origin(members, first, notes) if is_kineto else None,
        "args": json.dumps(rest, ensure_ascii=False, sort_keys=True) if rest else None,
    }


# Nanoseconds since 1970 are beyond this since 2001; times since a process started never are.
_ABSOLUTE = 10**18


def _read_number(members: dict[str, Any], key: str, notes: Counter[str], bits: int = 32) -> int | None:
    """Return a member as a whole number, None if it lacks, or does not fit `bits` bits, which is counted in `notes`."""
    number = parse_integer(members.get(key), bits)
    notes["number_out_of_range"] += number is None and members.get(key) is not None
    return number


def _find_utc_origin(members: dict[str, Any], first: int | None, notes: Counter[str]) -> int | None:
    """Return the UTC time (ns since 1970) of the trace's time 0; None if unknown.

    Where Kineto names no base time, it is 0 if times are as large as times since 1970.
    """
    base = _read_number(members, "baseTimeNanoseconds", notes, 64)
    if base is not None:
        return base
    return 0 if first is not None and first > _ABSOLUTE else None


def build_device_rows(members: dict[str, Any], notes: Counter[str]) -> list[dict[str, Any]]:
    """Return a row of device per GPU in "deviceProperties"; of several with one number the first counts.

    Properties that are no numbers are counted in `notes`.
    """
    listed = members.get("deviceProperties")
    rows: dict[int, dict[str, Any]] = {}
    for properties in listed if isinstance(listed, list) else ():
        row = _build_device_row(properties, notes) if isinstance(properties, dict) else {"device": None}
        if row["device"] is not None:
            rows.setdefault(row["device"], row)
    return list(rows.values())


def _build_device_row(properties: dict[str, Any], notes: Counter[str]) -> dict[str, Any]:
    """Return the columns of device from a GPU's properties; "device" is None where they have no usable number."""
    shared = "sharedMemPerMultiprocessor"
    shared = shared if shared in properties else "maxSharedMemoryPerMultiProcessor"
    return {
        "device": _read_number(properties, "id", notes),
        "name": str(properties["name"]) if properties.get("name") else None,
        "compute_capability": _compute_capability(properties),
        "sm_count": _read_number(properties, "numSms", notes),
        "memory_bytes": _read_number(properties, "totalGlobalMem", notes, 64),
        "warp_size": _read_number(properties, "warpSize", notes),
        "max_threads_per_sm": _read_number(properties, "maxThreadsPerMultiprocessor", notes),
        "registers_per_sm": _read_number(properties, "regsPerMultiprocessor", notes),
        "shared_memory_per_sm": _read_number(properties, shared, notes, 64),
        "source": "trace",
    }


# ROCm writes its own numbers under the names of CUDA's: 9.0 is a gfx90a and no Hopper. Its older GPUs have warps of 64, its
# newer ones of 32 as NVIDIA's.
_OTHER_MAKERS = re.compile(r"(?i)\b(AMD|Radeon|Instinct|Intel)\b|^gfx|^MI\d")
_NVIDIA_WARP_SIZE = 32


def _compute_capability(properties: dict[str, Any]) -> str | None:
    """Return the compute capability as text (9.0); None for other makers' GPUs and where it is not written."""
    if parse_integer(properties.get("warpSize", _NVIDIA_WARP_SIZE)) != _NVIDIA_WARP_SIZE:
        return None
    if _OTHER_MAKERS.search(str(properties.get("name") or "")):
        return None
    major, minor = parse_integer(properties.get("computeMajor")), parse_integer(properties.get("computeMinor"))
    return f"{major}.{minor}" if major is not None and minor is not None else None


NOTES: dict[str, tuple[str, str]] = {
    "arrow_not_stored": (
        "info",
        "flow events (arrows) were left out: launches are joined with their work by ids; ui.perfetto.dev shows the file's arrows",
    ),
    "control_character": ("info", "raw control characters in JSON strings were read as blanks"),
    "duplicate_key": ("info", "arguments name a key twice; the last value was taken"),
    "duration_overflow": ("data_loss", "durations beyond seven days (a counter that overflowed) were set to 0"),
    "empty_event": ("info", "empty events were left out"),
    "flow_not_stored": ("info", "flow events (arrows) were left out: correlation ids and external ids say the same"),
    "invalid_timestamp": ("data_loss", "events without a readable time were left out"),
    "invalid_utf8": ("info", "bytes that are not UTF-8 were replaced in names or arguments"),
    "malformed_arguments": (
        "data_loss",
        "arguments that cannot be read (nested too deeply) were left out; their events were kept",
    ),
    "large_event": (
        "data_loss",
        "events too large to be read (1 MiB, or what TRACEQ_EVENT_LIMIT says, in MiB) were left out",
    ),
    "malformed_event": ("data_loss", "events that are not valid JSON were left out"),
    "jax_not_measured": (
        "data_loss",
        "lanes of a GPU as JAX draws them are host slices of kind other: use the .xplane.pb that JAX wrote next to this file",
    ),
    "metadata_damaged": ("data_loss", "the keys around the list of events are not valid JSON and were left out"),
    "missing_comma": ("info", "commas between lines of events are missing; the lines were read as if they had them"),
    "missing_device": ("data_loss", "GPU events that name no device were left out"),
    "missing_rank": ("info", "a distributed run whose trace does not say which rank it is"),
    "mtia_not_measured": (
        "data_loss",
        "work of MTIA devices is kept as host slices of kind other: traceq measures GPUs, so here it reports only the host",
    ),
    "negative_duration": ("info", "negative durations were set to 0"),
    "not_a_number": ("info", "NaN, Infinity or N/A instead of a number, read as null"),
    "npu_not_measured": (
        "data_loss",
        "lanes of an NPU (Ascend Hardware) are host slices of kind other: traceq measures GPUs; MindStudio Insight shows them",
    ),
    "number_out_of_range": (
        "data_loss",
        "arguments and properties that their columns cannot hold (too large, or not whole numbers) are NULL there",
    ),
    "phase_not_stored": ("data_loss", "events of kinds that no table holds (objects, samples) were left out"),
    "profiler_message": ("info", "messages of the profiler itself"),
    "tpu_not_measured": (
        "data_loss",
        "lanes of a TPU are host slices of kind other: traceq measures GPUs; XProf shows them",
    ),
    "trailing_comma": ("info", "a comma after the last event"),
    "truncated": (
        "data_loss",
        "the file is cut off: the job was killed or the copy is incomplete; what is there was read",
    ),
    "unescaped_backslash": ("info", "backslashes that begin no escape (Windows paths) were read as backslashes"),
    "unclosed_range": ("info", "ranges without an end last to the end of the trace"),
    "unmatched_end": ("data_loss", "ends of ranges that never began were left out"),
}


def build_notes(counts: Counter[str]) -> Batches:
    """Build rows of import_note for the codes counted."""
    return Notes({(NOTES[code][0], code, NOTES[code][1]): count for code, count in sorted(counts.items())}).batches()
