"""A second, plain reading of traces, with nothing but json and sqlite3: counts and sums that the importers must arrive at too.

It reads only what leaves no choice: a file that is damaged, or has members that could be taken in two ways, is None.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset"}
_OTHER_GPU = {"gpu_user_annotation", "cuda_sync", "xpu_sync", "cuda_event"}
_MOST_MICROSECONDS = Decimal(9_000_000_000_000_000)
_SEVEN_DAYS = 7 * 86_400_000_000_000
_LARGEST_MEMBERS = 1 << 16

# Facts: name -> (rows, ns of all durations, ns of the earliest start); and names with their counts under "names".
Facts = dict[str, Any]


class _NotPlain(Exception):
    """The file leaves a choice."""


def chrome_facts(path: Path) -> Facts | None:
    """What a Chrome trace holds."""
    try:
        whole = _parse_file(path)
        events = whole["traceEvents"] if isinstance(whole, dict) else whole
        return _facts_of_events(events) if isinstance(events, list) else None
    except (OSError, EOFError, ValueError, KeyError, RecursionError, InvalidOperation, _NotPlain):
        return None


def _parse_file(path: Path) -> Any:
    content = path.read_bytes()
    if content.startswith(b"PK"):
        raise _NotPlain
    text = (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode()

    def no_constant(token: str) -> None:
        raise ValueError(token)

    def check_pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            raise _NotPlain
        return found

    if "\\ud" in text.lower() or text.count('"traceEvents"') > 1:
        raise _NotPlain
    return json.loads(text, parse_float=Decimal, parse_constant=no_constant, object_pairs_hook=check_pairs)


def _facts_of_events(events: list[Any]) -> Facts:  # noqa: C901 - the rules in one piece, to be read beside each other
    rows: dict[str, list[tuple[int, int]]] = {"cpu_slice": [], "kernel": [], "memcpy": [], "memset": []}
    names: Counter[str] = Counter()
    halves = 0
    for event in events:
        if not isinstance(event, dict) or _measure_depth(event) > _DEEPEST:
            raise _NotPlain
        phase, category = event.get("ph"), event.get("cat")
        if not isinstance(phase, str) or phase in ("s", "t", "f", "M", "C"):
            continue
        start = _to_ns(event.get("ts"))
        if start is None:
            continue
        if phase in ("B", "b", "S"):
            halves += 1
        if phase in ("i", "I", "n", "T"):
            rows["cpu_slice"].append((start, 0))
        if phase != "X":
            continue
        family = GPU.get(str(category).lower())
        if str(category).lower() in _OTHER_GPU:
            continue
        if family is None:
            rows["cpu_slice"].append((start, _read_duration(event.get("dur"))))
        elif _read_device(event) is not None:
            rows[family].append((start, _read_duration(event.get("dur"))))
            if isinstance(event.get("name"), str):
                names[event["name"]] += 1
    facts: Facts = {
        key: (len(found), sum(dur for _, dur in found), min((ts for ts, _ in found), default=None))
        for key, found in rows.items()
    }
    if halves:
        # The end of a range is another event's: only its beginning counts.
        facts["cpu_slice"] = (facts["cpu_slice"][0] + halves, None, None)
    return {**facts, "names": names}


_DEEPEST = 500


def _measure_depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_measure_depth, value), default=0) if isinstance(value, list) else 0


def _to_ns(value: Any) -> int | None:
    if isinstance(value, (bool, list, dict)):
        raise _NotPlain
    if isinstance(value, str) and not _is_number(value):
        return None
    if value is None:
        return None
    try:
        microseconds = Decimal(value)
    except InvalidOperation:
        return None
    if not microseconds.is_finite() or not -_MOST_MICROSECONDS < microseconds < _MOST_MICROSECONDS:
        return None
    return int((microseconds * 1000).to_integral_value())


def _is_number(text: str) -> bool:
    if not text.isascii() or "_" in text or text != text.strip():
        raise _NotPlain
    with contextlib.suppress(InvalidOperation):
        return Decimal(text).is_finite()
    return False


def _read_duration(value: Any) -> int:
    found = 0 if value is None else _to_ns(value)
    return found if found is not None and 0 <= found <= _SEVEN_DAYS else 0


def _read_device(event: dict[str, Any]) -> int | None:
    arguments = event.get("args")
    told = arguments.get("device") if isinstance(arguments, dict) else None
    if isinstance(told, (bool, Decimal, str, list, dict)) or isinstance(event.get("pid"), bool):
        raise _NotPlain
    device = told if told is not None and -(1 << 63) <= told < 1 << 63 else event.get("pid")
    return device if isinstance(device, int) and 0 <= device < 1 << 31 else None


def chrome_rows(tables: dict[str, list[Any]]) -> Facts:
    """The same of the batches that the importer yields."""
    found = {key: [0, 0, None] for key in ("cpu_slice", "kernel", "memcpy", "memset")}
    names: Counter[str] = Counter()
    for table in ("cpu_slice", "gpu_slice"):
        for batch in tables.get(table, ()):
            for row in batch.select(
                [name for name in ("kind", "name", "ts", "dur") if name in batch.schema.names]
            ).to_pylist():
                entry = found["cpu_slice" if table == "cpu_slice" else row["kind"]]
                entry[0] += 1
                entry[1] += row["dur"]
                entry[2] = row["ts"] if entry[2] is None else min(entry[2], row["ts"])
                names[row["name"]] += table == "gpu_slice"
    return {**{key: tuple(each) for key, each in found.items()}, "names": names}


def chrome_differences(plain: Facts, read: Facts) -> list[str]:
    """In words what differs."""
    told = []
    for key, (count, total, first) in ((key, each) for key, each in plain.items() if key != "names"):
        got = read[key]
        # Doubles of microseconds may be a nanosecond off, where more than three decimals are written.
        if got[0] != count or (
            total is not None and (abs(got[1] - total) > count or (first is not None and abs(got[2] - first) > 1))
        ):
            told.append(f"{key}: {got} where it is {(count, total, first)}")
    if lost := plain["names"] - read["names"]:
        told.append(f"names lost: {list(lost)[:2]}")
    return told


_TIMED = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "memset",
}
_TIME_LIMIT = 1 << 60


def nsys_facts(path: Path) -> Facts | None:
    """What an nsys export holds of GPU work."""
    if path.read_bytes()[:6] != b"SQLite":
        return None
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            if database.execute("pragma integrity_check(1)").fetchone() != ("ok",):
                return None
            tables = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
            return {kind: _facts_of_table(database, table) for table, kind in _TIMED.items() if table in tables}
    except (sqlite3.Error, UnicodeDecodeError, _NotPlain):
        return None


def _facts_of_table(database: sqlite3.Connection, table: str) -> tuple[int, int, int | None]:
    columns = {row[1] for row in database.execute(f"pragma table_info({table})")}
    if not {"start", "end"} <= columns:
        raise _NotPlain
    rows = database.execute(f'select start, "end" from {table}').fetchall()
    if any(type(value) not in (int, type(None)) for row in rows for value in row):
        raise _NotPlain
    kept = [
        (start, max(0, end - start) if end is not None and abs(end) <= _TIME_LIMIT else 0)
        for start, end in rows
        if start is not None and abs(start) <= _TIME_LIMIT
    ]
    return len(kept), sum(dur for _, dur in kept), min((start for start, _ in kept), default=None)


def nsys_differences(plain: Facts, read: Facts) -> list[str]:
    """In words what differs."""
    return [f"{key}: {read[key]} where it is {each}" for key, each in plain.items() if read[key] != each and each[0]]
