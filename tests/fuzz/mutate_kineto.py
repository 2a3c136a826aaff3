"""Chrome traces that are damaged or hostile: a small trace with every kind of event, changed by its structure."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from values import ENDS, SHAPES, damage_bytes, draw_hostile, json_text, time

_RUN = Path(__file__).resolve().parents[2] / "fixtures" / "run"
_BASES = ("kineto_2026.json.gz", "kineto_2026.json.gz", "kineto_2024_base_after.json.gz", "kineto_2021_array.json.gz")
_MEMBERS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "bp", "s")
_PHASES = (
    "X",
    "B",
    "E",
    "b",
    "e",
    "n",
    "i",
    "I",
    "C",
    "M",
    "s",
    "f",
    "t",
    "O",
    "N",
    "D",
    "P",
    "R",
    "c",
    "S",
    "T",
    "F",
    "",
    "XX",
    None,
)
_CATEGORIES = (
    *(
        "cpu_op",
        "user_annotation",
        "cuda_runtime",
        "cuda_driver",
        "python_function",
        "overhead",
        "kernel",
        "gpu_memcpy",
    ),
    *(
        "gpu_memset",
        "gpu_user_annotation",
        "cuda_sync",
        "cuda_event",
        "Operator",
        "Kernel",
        "KERNEL",
        "ac2g",
        "Trace",
        "mtia_ccp_events",
    ),
    *("xpu_runtime", "privateuse1_driver", "hpu_op", "Memcpy"),
)
_PROPERTIES = (
    *(
        "id",
        "name",
        "totalGlobalMem",
        "computeMajor",
        "computeMinor",
        "maxThreadsPerBlock",
        "maxThreadsPerMultiprocessor",
    ),
    *("regsPerBlock", "warpSize", "sharedMemPerBlock", "numSms", "regsPerMultiprocessor", "sharedMemPerBlockOptin"),
    *("sharedMemPerMultiprocessor", "maxSharedMemoryPerMultiProcessor"),
)
_HEADER = (
    *(
        "schemaVersion",
        "deviceProperties",
        "distributedInfo",
        "baseTimeNanoseconds",
        "displayTimeUnit",
        "traceName",
        "host_name",
    ),
    *("cuda_runtime_version", "record_shapes", "trace_id", "traceq", "ERROR", "traceEvents", "with_stack"),
)


@cache
def load_base(name: str) -> dict[str, Any]:
    """A trace as one object; of a long one the first events, metadata among them, and some of the others."""
    loaded = json.loads(gzip.decompress((_RUN / name).read_bytes()))
    whole = {"traceEvents": loaded} if isinstance(loaded, list) else loaded
    events = whole["traceEvents"]
    events += [
        {"ph": "B", "name": "range", "pid": 1, "tid": 1, "ts": events[50]["ts"]},
        {"ph": "E", "name": "range", "pid": 1, "tid": 1, "ts": events[90]["ts"]},
        {"ph": "b", "cat": "async", "name": "a", "id": 7, "pid": 1, "tid": 1, "ts": events[50]["ts"]},
        {"ph": "e", "cat": "async", "name": "a", "id": 7, "pid": 1, "tid": 2, "ts": events[90]["ts"]},
        {"ph": "C", "name": "counter", "pid": 1, "ts": events[50]["ts"], "args": {"a": 1, "b": 2.5}},
        {"ph": "C", "name": "power", "pid": "GPU 0 Counters", "ts": events[60]["ts"], "args": {"W": 300}},
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": events[50]["ts"],
            "s": "t",
            "args": {
                "Device Type": 1,
                "Device Id": 0,
                "Addr": 1,
                "Bytes": 512,
                "Total Allocated": 512,
                "Total Reserved": 2097152,
            },
        },
    ]
    return whole


def prepare() -> None:
    """Read the bases, before this process forks."""
    for name in _BASES:
        load_base(name)


def mutate_trace(rng: random.Random) -> tuple[bytes, str]:
    """The content of a file and the end of its name."""
    whole = copy.deepcopy(load_base(rng.choice(_BASES)))
    events = whole["traceEvents"]
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        rng.choice(_CHANGES)(whole, events, rng)
    text = _write_events(whole, events, rng).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        text = damage_bytes(text, rng)
    return _pack_text(text, rng)


def _write_events(whole: dict[str, Any], events: list[Any], rng: random.Random) -> str:
    style = rng.random()
    if style < 0.1:
        return json_text(json.dumps(events))
    keys = [key for key in whole if key != "traceEvents"]
    if style < 0.3:
        rng.shuffle(keys)
    place = rng.randrange(len(keys) + 1)
    members = (
        {key: whole[key] for key in keys[:place]} | {"traceEvents": events} | {key: whole[key] for key in keys[place:]}
    )
    options: dict[str, Any] = rng.choice(({}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}))
    return json_text(json.dumps(members, **options))


def _pack_text(text: bytes, rng: random.Random) -> tuple[bytes, str]:
    kind = rng.random()
    if kind < 0.7:
        return text, ".json"
    if kind < 0.8:
        return gzip.compress(text, 1), ".json.gz"
    if kind < 0.85:
        half = len(text) // 2
        return gzip.compress(text[:half], 1) + gzip.compress(text[half:], 1), ".json.gz"
    if kind < 0.92:
        return damage_bytes(gzip.compress(text, 1), rng), ".json.gz"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        archive.writestr(rng.choice(("t.json", "../t.json", "/etc/t.json", "a/" * 200 + "t.json")), text)
        if rng.random() < 0.3:
            archive.writestr("readme.txt", "x")
    content = packed.getvalue()
    return (damage_bytes(content, rng) if rng.random() < 0.5 else content), ".zip"


def _choose_some(events: list[Any], rng: random.Random) -> list[Any]:
    dicts = [event for event in events if isinstance(event, dict)]
    if not dicts:
        return []
    if rng.random() < 0.3:
        category = rng.choice(dicts).get("cat")
        return [event for event in dicts if event.get("cat") == category]
    return rng.sample(dicts, min(len(dicts), rng.choice((1, 1, 2, 10, 100))))


def _change_member(_whole: Any, events: list[Any], rng: random.Random) -> None:
    name = rng.choice(_MEMBERS)
    is_one = rng.random() < 0.5
    value = draw_hostile(rng)
    for event in _choose_some(events, rng):
        event[name] = value if is_one else draw_hostile(rng)


def _change_times(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for event in _choose_some(events, rng):
        event[rng.choice(("ts", "dur"))] = time(rng)


def _shapes_for_numbers(_whole: Any, events: list[Any], rng: random.Random) -> None:
    """Lists and objects where numbers belong: in one event, in several, in all of a category, of one shape or of many."""
    shape: Any = rng.choice(SHAPES)
    is_time = rng.random() < 0.5
    for event in _choose_some(events, rng):
        holder = event if is_time else event.get("args")
        names = ("ts", "dur") if is_time else list(holder) if isinstance(holder, dict) else []
        if names:
            holder[rng.choice(names)] = shape if rng.random() < 0.8 else rng.choice(SHAPES)


def _lose_member(_whole: Any, events: list[Any], rng: random.Random) -> None:
    name = rng.choice(_MEMBERS)
    for event in _choose_some(events, rng):
        event.pop(name, None)


def _change_phase(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for event in _choose_some(events, rng):
        event["ph"] = rng.choice(_PHASES)


def _change_category(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for event in _choose_some(events, rng):
        event["cat"] = rng.choice(_CATEGORIES)


def _change_argument(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for event in _choose_some(events, rng):
        if isinstance(event.get("args"), dict):
            known = list(event["args"]) or ["x"]
            event["args"][rng.choice((*known, "correlation", "External id", "device", "stream"))] = draw_hostile(rng)


def _spread_argument(_whole: Any, events: list[Any], rng: random.Random) -> None:
    """One number of an argument at both ends of what it can be, in several events: differences and sums do not fit then."""
    with_args = [event for event in events if isinstance(event, dict) and isinstance(event.get("args"), dict)]
    names = sorted(
        {name for event in with_args for name, value in event["args"].items() if isinstance(value, (int, float))}
    )
    if not names:
        return
    name, (low, high) = rng.choice(names), rng.choice(ENDS)
    having = [event for event in with_args if name in event["args"]]
    for event in rng.sample(having, min(len(having), rng.choice((1, 2, 10, 1000)))):
        event["args"][name] = rng.choice((low, high))


def _lose_argument(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for event in _choose_some(events, rng):
        if isinstance(event.get("args"), dict) and event["args"]:
            event["args"].pop(rng.choice(list(event["args"])))


def _rename_thread(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for event in _choose_some(events, rng):
        event[rng.choice(("pid", "tid"))] = draw_hostile(rng)


def _double_events(_whole: Any, events: list[Any], rng: random.Random) -> None:
    chosen = _choose_some(events, rng)
    events += [copy.deepcopy(event) for event in chosen for _ in range(rng.choice((1, 3)))]


def _drop(_whole: Any, events: list[Any], rng: random.Random) -> None:
    gone = {id(event) for event in _choose_some(events, rng)}
    events[:] = [event for event in events if id(event) not in gone]


def _shuffle_events(_whole: Any, events: list[Any], rng: random.Random) -> None:
    rng.shuffle(events)


def _scale(_whole: Any, events: list[Any], rng: random.Random) -> None:
    factor, shift = rng.choice((0, -1, 1e-3, 1e3, 1e6, 1e9, 1e12, 0.1)), rng.choice((0, 0, 1e12, -1e15, 8e15))
    names = rng.choice((("ts", "dur"), ("ts",), ("dur",)))
    for event in events if rng.random() < 0.5 else _choose_some(events, rng):
        for name in names:
            if (
                isinstance(event, dict)
                and isinstance(event.get(name), (int, float))
                and not isinstance(event[name], bool)
            ):
                event[name] = event[name] * factor + (shift if name == "ts" else 0)


def _add_foreign(_whole: Any, events: list[Any], rng: random.Random) -> None:
    for _ in range(rng.choice((1, 5))):
        events.insert(rng.randrange(len(events) + 1), draw_hostile(rng))


def _add_many(_whole: Any, events: list[Any], rng: random.Random) -> None:
    """Thousands of different categories, threads, names or processes."""
    name, count = rng.choice(("cat", "tid", "pid", "name")), rng.choice((100, 3000))
    chosen = next((event for event in _choose_some(events, rng) if event.get("ph") == "X"), None)
    if chosen is not None:
        kind = rng.choice((int, str, float))
        events += [{**chosen, name: kind(number)} for number in range(count)]


def _nest_slices(_whole: Any, events: list[Any], rng: random.Random) -> None:
    """Slices that lie within each other, or cross."""
    step = rng.choice((0, 1, -1))
    chosen = next((event for event in _choose_some(events, rng) if isinstance(event.get("ts"), (int, float))), None)
    if chosen is not None and isinstance(chosen.get("dur"), (int, float)):
        start = chosen["ts"]
        events += [{**chosen, "ts": start + n, "dur": 2000 + step * n} for n in range(rng.choice((10, 1000)))]


def _change_header(whole: Any, _events: list[Any], rng: random.Random) -> None:
    key = rng.choice(_HEADER)
    if key != "traceEvents":
        whole[key] = draw_hostile(rng)


def _change_devices(whole: Any, _events: list[Any], rng: random.Random) -> None:
    listed = whole.get("deviceProperties")
    devices = listed if isinstance(listed, list) else [{"id": 0}]
    whole["deviceProperties"] = devices
    for each in devices:
        if isinstance(each, dict):
            each[rng.choice(_PROPERTIES)] = draw_hostile(rng)
    if rng.random() < 0.4:
        devices.append(
            rng.choice((draw_hostile(rng), dict(devices[0]) if devices and isinstance(devices[0], dict) else 1))
        )


def _change_ranks(whole: Any, _events: list[Any], rng: random.Random) -> None:
    whole["distributedInfo"] = {
        "backend": rng.choice(("nccl", draw_hostile(rng))),
        "rank": draw_hostile(rng),
        "world_size": draw_hostile(rng),
        "pg_config": rng.choice((draw_hostile(rng), [{"pg_name": "0", "ranks": draw_hostile(rng)}])),
    }


_CHANGES = (
    *(
        _change_member,
        _change_member,
        _change_times,
        _change_times,
        _shapes_for_numbers,
        _shapes_for_numbers,
        _lose_member,
        _change_phase,
        _change_category,
        _change_argument,
        _change_argument,
        _spread_argument,
        _spread_argument,
        _lose_argument,
        _rename_thread,
    ),
    *(
        _double_events,
        _drop,
        _shuffle_events,
        _scale,
        _scale,
        _add_foreign,
        _add_many,
        _nest_slices,
        _change_header,
        _change_devices,
        _change_ranks,
    ),
)
