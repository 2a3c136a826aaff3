"""RPD's Chrome traces (rpd2tracing.py): a JSON array whose events have no categories, times in whole microseconds, all as text.

Processes named GPU0, GPU1, ... hold the operations of a GPU, by queue; their `desc` says which sort each is. Other slices are
calls and ranges of roctx. An arrow goes from a moment inside the call to the start of its operation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, read_unpacked
from traceq.importers.rocm.dispatches import NO_END, NO_TIME, RowBuilder, Rows
from traceq.importers.rocm.rpd import MARKER, build_calls, build_operations
from traceq.importers.rows import batches_of
from traceq.importers.sqlite import BATCH_ROWS

_US = 1000
# No clock since boot shows more, ns.
_LAST = 1 << 60
_GPU = re.compile(r"GPU(\d{1,18})")
_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGED, msgspec.DecodeError, RecursionError)


class _RpdArgs(msgspec.Struct, frozen=True):
    name: str = ""
    desc: str = ""


class _RpdEvent(msgspec.Struct):
    """An event of RPD's Chrome trace, as far as traceq reads it; numbers may be written as text."""

    ph: str = ""
    name: str = ""
    pid: str | int = ""
    tid: str | int = ""
    ts: str | int | float = ""
    dur: str | int | float = ""
    id: str | int = ""
    args: _RpdArgs = _RpdArgs()

    @property
    def process(self) -> str:
        """The id of the process, as text."""
        return str(self.pid)

    @property
    def thread(self) -> str:
        """The id of the thread, as text."""
        return str(self.tid)


class _SortedEvents(msgspec.Struct):
    """Events by kind: GPUs by process, calls by process and thread, operations on GPUs, and both ends of arrows.

    `devices` are device numbers by process. `calls` and `operations` have (start, end, event) in ns. `starts` are
    (process, thread, ns) by the arrow's id, `ends` the arrow's id by (process, thread, ns).
    """

    devices: dict[str, int] = msgspec.field(default_factory=dict)
    calls: dict[tuple[str, str], list[tuple[int, int, _RpdEvent]]] = msgspec.field(
        default_factory=lambda: defaultdict(list)
    )
    operations: list[tuple[int, int, _RpdEvent]] = msgspec.field(default_factory=list)
    starts: dict[str | int, tuple[str, str, int]] = msgspec.field(default_factory=dict)
    ends: dict[tuple[str, str, int], str | int] = msgspec.field(default_factory=dict)


def read(path: Path, builder: RowBuilder) -> Rows:
    """Yield (table, batch) of the operations and calls in RPD's Chrome trace; raises UnusableTrace where it is damaged."""
    try:
        events = msgspec.json.decode(read_unpacked(path), type=list[_RpdEvent])
    except msgspec.ValidationError as error:
        raise UnusableTrace(f"{path}: an event is not in RPD's format ({error})") from error
    except _UNREADABLE as error:
        raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again") from error
    found = _sort_events(events, builder)
    numbers = {id(call): number for number, (_, _, call) in enumerate(_all_calls(found), 1)}
    caused = _calls_of_arrows(found)
    operations = []
    for start, end, operation in found.operations:
        call = caused.get(found.ends.get((operation.process, operation.thread, start), ""))
        by = (None, None) if call is None else (numbers[id(call)], _parse_integer(call.process))
        place = (found.devices[operation.process], _parse_integer(operation.thread))
        # Neither shared memory, nor sizes of grid and block, nor bytes are told.
        operations.append((start, end, *place, operation.name, operation.args.desc, *by, *(None,) * 8))
    calls = [
        (
            start,
            end,
            number,
            _parse_integer(call.process),
            _parse_integer(call.thread),
            call.name,
            call.args.desc or MARKER,
        )
        for number, (start, end, call) in enumerate(_all_calls(found), 1)
    ]
    for begin in range(0, len(operations), BATCH_ROWS):
        yield from build_operations(operations[begin : begin + BATCH_ROWS], builder)
    for begin in range(0, len(calls), BATCH_ROWS):
        yield from build_calls(calls[begin : begin + BATCH_ROWS], builder)
    yield from batches_of("trace", [{"producer": "rocmProfileData"}])


def _sort_events(events: Sequence[_RpdEvent], builder: RowBuilder) -> _SortedEvents:
    """Return the events by kind; those without a readable time are counted in the builder's notes."""
    found = _SortedEvents()
    for event in events:
        if event.ph == "M" and event.name == "process_name" and (match := _GPU.fullmatch(event.args.name)):
            found.devices[event.process] = int(match[1])
    for event in events:
        ts = _parse_ns(event.ts)
        if ts is None:
            builder.notes[NO_TIME] += event.ph == "X"
            continue
        if event.ph == "X":
            dur = _parse_ns(event.dur)
            builder.notes[NO_END] += dur is None
            end = ts + (dur or 0)
            if event.process in found.devices:
                found.operations.append((ts, end, event))
            else:
                found.calls[event.process, event.thread].append((ts, end, event))
        elif event.ph == "s":
            found.starts[event.id] = (event.process, event.thread, ts)
        elif event.ph == "f":
            found.ends[event.process, event.thread, ts] = event.id
    for calls in found.calls.values():
        calls.sort(key=lambda call: (call[0], -call[1]))
    return found


def _all_calls(found: _SortedEvents) -> Iterator[tuple[int, int, _RpdEvent]]:
    return (call for _, calls in sorted(found.calls.items()) for call in calls)


def _calls_of_arrows(found: _SortedEvents) -> dict[str | int, _RpdEvent]:
    """Return, by arrow's id, the innermost call in which the arrow starts.

    Arrows that start outside of all calls are left out.
    """
    by_thread: dict[tuple[str, str], list[tuple[int, str | int]]] = defaultdict(list)
    for number, (pid, tid, ts) in found.starts.items():
        by_thread[pid, tid].append((ts, number))
    caused: dict[str | int, _RpdEvent] = {}
    for thread, arrows in by_thread.items():
        calls, open_calls, place = found.calls.get(thread, []), [], 0
        for ts, number in sorted(arrows, key=lambda arrow: arrow[0]):
            while place < len(calls) and calls[place][0] <= ts:
                open_calls.append(calls[place])
                place += 1
            while open_calls and open_calls[-1][1] < ts:
                open_calls.pop()
            if open_calls:
                caused[number] = open_calls[-1][2]
    return caused


def _parse_integer(text: str) -> int | str | None:
    """Return the number that the text is, None for no text; other text, and a number of too many digits, as it is."""
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text or None


def _parse_ns(value: str | float) -> int | None:
    """Return a time in us, written as number or text, as ns; None for text that is no number, or a number out of range."""
    whole = value if isinstance(value, int) else _parse_integer(str(value))
    try:
        found = whole * _US if isinstance(whole, int) else float(value) * _US
    except ValueError:
        return None
    return round(found) if abs(found) < _LAST else None
