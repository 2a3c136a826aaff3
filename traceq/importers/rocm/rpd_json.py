"""RPD's Chrome traces (rpd2tracing.py): a JSON array whose events have no categories, times in whole microseconds, all as text.

Processes named GPU0, GPU1, ... hold the operations of a GPU, by queue; their `desc` says which sort each is. Other slices are
calls and ranges of roctx. An arrow goes from a moment inside the call to the start of its operation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.rocm.dispatches import BATCH_ROWS, Job, Rows, copy, kernel_name
from traceq.importers.rocm.source import text_of
from traceq.importers.rows import batches_of

_US = 1000
_GPU = re.compile(r"GPU(\d+)")
_MARKER = "UserMarker"


class _Args(msgspec.Struct, frozen=True):
    name: str = ""
    desc: str = ""


class _Event(msgspec.Struct):
    """An event, as far as traceq reads it; counters have numbers where others have text."""

    ph: str = ""
    name: str = ""
    pid: str = ""
    tid: str = ""
    ts: str | int | float = ""
    dur: str | int | float = ""
    id: str | int = ""
    args: _Args = _Args()


@dataclass
class _Found:
    """What the events say: devices by process, slices of the host by thread, operations, and both ends of each arrow."""

    devices: dict[str, int] = field(default_factory=dict)
    calls: dict[tuple[str, str], list[tuple[int, int, _Event]]] = field(default_factory=lambda: defaultdict(list))
    operations: list[tuple[int, int, _Event]] = field(default_factory=list)
    starts: dict[str | int, tuple[str, str, int]] = field(default_factory=dict)
    ends: dict[tuple[str, str, int], str | int] = field(default_factory=dict)


def read(path: Path, job: Job) -> Rows:
    """Yield the batches of the whole file; raise UnusableTrace where it is no such array."""
    try:
        events = msgspec.json.decode(text_of(path), type=list[_Event])
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again") from error
    found = _found(events)
    numbers = {id(call): number for number, (_, _, call) in enumerate(_all_calls(found), 1)}
    operations = [(start, end, each, _caused(found, start, each)) for start, end, each in found.operations]
    for begin in range(0, len(operations), BATCH_ROWS):
        yield from _operations(operations[begin : begin + BATCH_ROWS], found, numbers, job)
    calls = list(_all_calls(found))
    for begin in range(0, len(calls), BATCH_ROWS):
        yield from _calls(calls[begin : begin + BATCH_ROWS], numbers, job)
    yield from batches_of("trace", [{"producer": "rocmProfileData"}])


def _found(events: Sequence[_Event]) -> _Found:
    found = _Found()
    for each in events:
        if each.ph == "M" and each.name == "process_name" and (match := _GPU.fullmatch(each.args.name)):
            found.devices[each.pid] = int(match[1])
    for each in events:
        ts = _ns(each.ts)
        if ts is None:
            continue
        if each.ph == "X":
            end = ts + (_ns(each.dur) or 0)
            if each.pid in found.devices:
                found.operations.append((ts, end, each))
            else:
                found.calls[each.pid, each.tid].append((ts, end, each))
        elif each.ph == "s":
            found.starts[each.id] = (each.pid, each.tid, ts)
        elif each.ph == "f":
            found.ends[each.pid, each.tid, ts] = each.id
    for calls in found.calls.values():
        calls.sort(key=lambda call: (call[0], -call[1]))
    return found


def _all_calls(found: _Found) -> Iterator[tuple[int, int, _Event]]:
    return (call for _, calls in sorted(found.calls.items()) for call in calls)


def _caused(found: _Found, start: int, operation: _Event) -> _Event | None:
    """The call that the operation's arrow begins in: the last one that had begun by then; None where no arrow ends in it."""
    place = found.starts.get(found.ends.get((operation.pid, operation.tid, start), ""))
    if place is None:
        return None
    pid, tid, ts = place
    calls = found.calls.get((pid, tid), [])
    before = bisect_right(calls, ts, key=lambda call: call[0]) - 1
    return next((call for _, end, call in reversed(calls[: before + 1]) if end >= ts), None)


def _operations(
    rows: Sequence[tuple[int, int, _Event, _Event | None]], found: _Found, numbers: dict[int, int], job: Job
) -> Rows:
    kernels, copies, fills = [], [], []
    for start, end, each, call in rows:
        place = (found.devices[each.pid], _whole(each.tid))
        caused = (None, None) if call is None else (_whole(call.pid), numbers[id(call)])
        sort = each.args.desc
        if "copy" in sort.lower():
            name, *told = copy(sort)
            copies.append((start, end, *place, name, *caused, *told, None, None, None))
        elif "fill" in sort.lower():
            fills.append((start, end, *place, "Memset (Device)", *caused))
        else:
            kernels.append((start, end, *place, kernel_name(each.name, "of no name"), *caused, *(None,) * 8))
    for kind, made in (("kernel", kernels), ("memcpy", copies), ("memset", fills)):
        yield from job.batch(kind, made)


def _calls(rows: Sequence[tuple[int, int, _Event]], numbers: dict[int, int], job: Job) -> Rows:
    calls: list[tuple[Any, ...]] = []
    ranges: list[tuple[Any, ...]] = []
    for start, end, each in rows:
        thread = job.thread(_whole(each.pid), _whole(each.tid))
        if each.name == _MARKER:
            ranges.append((start, end, thread, "roctx", each.args.desc or _MARKER, False))
        else:
            category = "hip" if each.name.startswith("hip") else None
            calls.append((start, end, thread, category, each.name, numbers[id(each)]))
    for kind, made in (("call", calls), ("range", ranges)):
        yield from job.batch(kind, made)


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None


def _ns(value: str | float) -> int | None:
    """A time in ns; None for what is none."""
    try:
        return round(float(value) * _US)
    except (ValueError, OverflowError):
        return None
