"""Memory snapshots in a few lines, as torch.cuda.memory._dump_snapshot() would write them."""

from __future__ import annotations

import json
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

STACKS = {
    "init": ["model.py:3 __init__", "train.py:1 main"],
    "forward": ["model.py:7 forward", "torch/nn/modules/module.py:10 _call_impl", "train.py:4 main"],
    "backward": ["torch/autograd/graph.py:8 _engine_run_backward", "train.py:5 main"],
    "optimizer": ["torch/optim/adam.py:2 _init_group", "train.py:6 main"],
    "main": ["train.py:9 main"],
}


def make_frames(stack: str) -> list[dict[str, Any]]:
    """The frames of a stack, by its name in STACKS or as "file:line function" with commas between; none of "-"."""
    if stack == "-":
        return []
    found = []
    for each in STACKS.get(stack) or stack.split(","):
        place, _, name = each.strip().partition(" ")
        file, _, line = place.rpartition(":")
        found.append({"name": name, "filename": file, "line": int(line)})
    return found


def make_history(text: str) -> list[dict[str, Any]]:
    """Events of one device, one a line: time in us, action, address, bytes, stack. Equal stacks are one list, as in the files."""
    known: dict[str, list[dict[str, Any]]] = {}
    events = []
    for line in text.strip().splitlines():
        at, action, address, size, stack = line.split(maxsplit=4)
        action = {"free": "free_requested", "freed": "free_completed"}.get(action, action)
        place = {"device_free": int(address)} if action == "oom" else {"addr": int(address)}
        shared = known.setdefault(stack, make_frames(stack))
        events.append({"action": action, **place, "size": int(size), "stream": 0, "time_us": int(at), "frames": shared})
    return events


def make_segment(address: int, blocks: str, device: int = 0, **more: Any) -> dict[str, Any]:
    """A segment of blocks, one a line: bytes, bytes asked for, state (used, waiting or free), stack."""
    state = {"used": "active_allocated", "waiting": "active_awaiting_free", "free": "inactive"}
    made, at = [], address
    for line in blocks.strip().splitlines():
        size, requested, what, stack = line.split(maxsplit=3)
        made.append(
            {
                "address": at,
                "size": int(size),
                "requested_size": int(requested),
                "state": state[what],
                "frames": make_frames(stack),
            }
        )
        at += int(size)
    return {
        "device": device,
        "address": address,
        "total_size": at - address,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": made,
        **more,
    }


def make_snapshot(*traces: list[dict[str, Any]], segments: Any = (), annotations: Any = ()) -> dict[str, Any]:
    """A snapshot with a history for each device."""
    return {
        "segments": list(segments),
        "device_traces": list(traces),
        "allocator_settings": {"expandable_segments": False, "roundup_power2_divisions": {"1": 0}},
        "external_annotations": list(annotations),
    }


def write_file(folder: Path, content: Any, protocol: int = 4) -> Path:
    """The file of a snapshot."""
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


_COLUMNS_OF = {
    "device_traces": ("device", "action", "addr", "size", "time_us", "frames", "device_free"),
    "segments": ("device", "address", "total_size", "frames"),
    "blocks": ("segment_id", "address", "size", "state", "frames"),
}


def write_tables(path: Path, snapshot: dict[str, Any], without: tuple[str, ...] = ()) -> Path:
    """The snapshot as SQLite, as torch.cuda.memory._dump_snapshot_sqlite() writes it, `without` some columns (TABLE.COLUMN)."""
    rows: dict[str, list[dict[str, Any]]] = {"device_traces": [], "segments": [], "blocks": []}
    for device, trace in enumerate(snapshot["device_traces"]):
        rows["device_traces"] += [{"device": device} | event for event in trace]
    for number, segment in enumerate(snapshot["segments"], 1):
        rows["segments"].append(
            {key: value for key, value in segment.items() if key not in ("blocks", "segment_pool_id")}
        )
        rows["blocks"] += [{"segment_id": number, **block} for block in segment["blocks"]]
    with closing(sqlite3.connect(path)) as database, database:
        for table, found in rows.items():
            first = found[0] if found else dict.fromkeys(_COLUMNS_OF[table])
            names = [
                name for name in {**first, **dict.fromkeys(_COLUMNS_OF[table])} if f"{table}.{name}" not in without
            ]
            database.execute(f"create table {table} (id integer primary key, {', '.join(names)})")
            for row in found:
                values = [json.dumps(row["frames"]) if name == "frames" else row.get(name) for name in names]
                database.execute(
                    f"insert into {table} ({', '.join(names)}) values ({', '.join('?' * len(names))})", values
                )
    return path
