"""An independent reading of a Chrome trace: json, gzip and decimal, nothing of traceq.

The mapping from category to table and kind is that of traceq/importers/chrome, written down once more.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from raw_slices import DeviceSlice, HostSlice, RawTrace

Event = dict[str, Any]

HOST_KINDS = {
    "cpu_op": "op",
    "Operator": "op",
    "user_annotation": "annotation",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "Runtime": "runtime",
    "python_function": "python",
    "overhead": "overhead",
    "Trace": "other",
    "cuda_profiler_range": "other",
}
DEVICE_KINDS = {
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    "gpu_memset": "memset",
    "Memset": "memset",
}
OTHER_TABLES = {"gpu_user_annotation": "gpu_annotation", "cuda_sync": "synchronization", "cuda_event": "cuda_event"}
# Ranges around code that versions below 1.12 file under Operator, later ones under user_annotation.
RANGES = ("ProfilerStep#", "enumerate(DataLoader)#", "Optimizer.")
KEYS_OF_MACHINE = ("host_name", "username", "tw_user")
MEMORY_COUNTERS = ("Total Allocated", "Total Reserved")


def read(path: Path) -> RawTrace:
    """Every event of the file, each under the table it belongs to."""
    document = load(path)
    header, events = (document, document["traceEvents"]) if isinstance(document, dict) else ({}, document)
    raw = RawTrace(
        host=[],
        device=[],
        other=Counter(),
        unstored=Counter(),
        utc_origin=header.get("baseTimeNanoseconds"),
        machine={header[key] for key in KEYS_OF_MACHINE if key in header},
        place=_read_place(header.get("distributedInfo", {})),
    )
    for event in events:
        _sort(event, raw)
    return raw


def load(path: Path) -> Any:
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return json.loads(content, parse_float=Decimal, parse_int=int)


def to_nanoseconds(microseconds: Decimal | int) -> int:
    exact = microseconds * 1000
    assert exact == int(exact), f"{microseconds} us is finer than a nanosecond"
    return int(exact)


def _read_place(info: Event) -> tuple[int | None, int | None]:
    return info.get("rank"), info.get("world_size")


def _sort(event: Event, raw: RawTrace) -> None:
    phase, category = event["ph"], event.get("cat")
    if phase == "X" and category in DEVICE_KINDS:
        raw.device.append(_device_slice(event))
    elif phase == "X" and category in OTHER_TABLES:
        raw.other[OTHER_TABLES[category]] += 1
    elif phase in {"X", "i"}:
        raw.host.append(_host_slice(event))
        raw.other["counter"] += _memory_samples(event)
    elif phase in "sft":
        raw.unstored["flow_not_stored"] += 1
    else:
        assert phase == "M", f"no file here has events of phase {phase}"


def _memory_samples(event: Event) -> int:
    if event["name"] != "[memory]":
        return 0
    return sum(key in event["args"] for key in MEMORY_COUNTERS)


def _host_slice(event: Event) -> HostSlice:
    return HostSlice(
        kind=_host_kind(event),
        category=event.get("cat"),
        name=event["name"],
        ts=to_nanoseconds(event["ts"]),
        dur=max(0, to_nanoseconds(event.get("dur", 0))),
        thread=(_number(event["pid"]), _number(event["tid"])),
        correlation=event.get("args", {}).get("correlation"),
    )


def _host_kind(event: Event) -> str:
    if event["ph"] == "i":
        return "other"
    is_range = event["cat"] == "Operator" and event["name"].startswith(RANGES)
    return "annotation" if is_range else HOST_KINDS[event["cat"]]


def _device_slice(event: Event) -> DeviceSlice:
    args = event["args"]
    return DeviceSlice(
        kind=DEVICE_KINDS[event["cat"]],
        name=event["name"],
        ts=to_nanoseconds(event["ts"]),
        dur=max(0, to_nanoseconds(event["dur"])),
        device=args.get("device", event["pid"]),
        stream=args.get("stream", event["tid"]),
        correlation=args.get("correlation"),
        bytes=args.get("bytes"),
        grid=_read_shape(args.get("grid")),
        block=_read_shape(args.get("block")),
    )


def _read_shape(numbers: list[int] | None) -> tuple[int, ...] | None:
    return None if numbers is None else tuple(numbers)


def _number(name: int | str) -> int | None:
    """The id of a process or thread; old files write it as text, pseudo-threads have a name only."""
    return int(name) if str(name).lstrip("-").isdigit() else None
