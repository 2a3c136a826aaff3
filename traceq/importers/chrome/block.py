"""One block of events, as text, becomes rows. Pure: runs in any process, knows nothing of other blocks.

Slice ids are numbers of events within the block, thread ids are numbers into `Rows.tracks`; `reading` shifts both.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from traceq.importers.chrome import gpu, host
from traceq.importers.chrome.times import Inexact, durations, starts

_Scalar = int | float | str | bool | None
Time = TypeVar("Time")


class Event(msgspec.Struct, Generic[Time], gc=False):
    """The members of an event that matter; args stays text."""

    ph: str = ""
    cat: _Scalar = None
    name: _Scalar = None
    pid: _Scalar = None
    tid: _Scalar = None
    ts: Time | None = None
    dur: Time | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


_events = msgspec.json.Decoder(list[Event[int | float | str]])
# For files with nanoseconds since 1970 as fractional microseconds.
_exact_events = msgspec.json.Decoder(list[Event[Decimal]])

AnyEvent = Event[Any]
Track = tuple[Any, Any]


@dataclass
class Rows:
    """What a block holds: batches per table, the tracks their thread_id points into, and what needs the whole file.

    A track comes with the number of its first event.
    """

    events: int
    batches: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    tracks: dict[Track, int] = field(default_factory=dict)
    metadata: list[tuple[str, Track, Any]] = field(default_factory=list)
    ranges: list[host.RangeEnd] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)


def decode(text: bytes) -> Rows | None:
    """Rows of a block of comma-separated events, or None when it is not exactly that."""
    array = b"[" + text.strip(b" \t\r\n,") + b"]"
    try:
        events: list[AnyEvent] = _events.decode(array)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    try:
        return to_rows(events)
    except Inexact:
        pass
    try:
        events = _exact_events.decode(array)
    except msgspec.DecodeError:
        # A time that is not a number: event by event only that one is lost.
        return None
    return to_rows(events)


# Stands for an event that could not be decoded and was counted as such.
DROPPED = "dropped"

# Phases of flow events: redundant with correlation and external ids.
_FLOWS = frozenset("stf")

# Phase of other events than X -> family of rows.
_FAMILY_OF_PHASE = {"i": "instant", "I": "instant", "B": "range", "E": "range", "C": "counter"}

# Chrome category -> family of rows. Capitalised names are those of 2021.
_FAMILY_OF_CATEGORY = {
    "cpu_op": "op", "operator": "op", "hpu_op": "op",
    "user_annotation": "annotation",
    "cuda_runtime": "runtime", "cuda_driver": "runtime", "runtime": "runtime", "mtia_runtime": "runtime",
    "glow_runtime": "runtime", "xpu_runtime": "runtime", "xpu_driver": "runtime", "privateuse1_runtime": "runtime",
    "privateuse1_driver": "runtime",
    "python_function": "python",
    "overhead": "overhead",
    "kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset",
    "gpu_user_annotation": "gpu_annotation",
    "cuda_sync": "synchronization", "xpu_sync": "synchronization",
    "cuda_event": "cuda_event",
}  # fmt: skip

# In 2021 user annotations were written as operators; these are the ones PyTorch itself makes.
_OLD_ANNOTATIONS = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")


def to_rows(events: Sequence[AnyEvent]) -> Rows:
    """Sort events into groups of one phase and category, and build the rows of each."""
    rows = Rows(len(events))
    tracks = _Tracks(rows.tracks)
    groups: dict[tuple[str, Any], list[int]] = defaultdict(list)
    for number, event in enumerate(events):
        groups[event.ph, event.cat].append(number)
    for (phase, category), numbers in groups.items():
        chosen = [events[number] for number in numbers]
        families = _families(phase, category, events, numbers)
        for family, members in families.items():
            _build(family, category, [events[number] for number in members], members, tracks, rows)
        if phase == "M":
            rows.metadata += [(str(event.name), (event.pid, event.tid), bytes(event.args)) for event in chosen]
        elif phase in _FLOWS:
            rows.notes["flow_not_stored"] += len(chosen)
        elif not families and phase != DROPPED:
            empty = sum(not event.ph and event.name is None and event.ts is None for event in chosen)
            rows.notes["empty_event"] += empty
            rows.notes["phase_not_stored"] += len(chosen) - empty
    return rows


def _families(phase: str, category: Any, events: Sequence[AnyEvent], numbers: list[int]) -> dict[str, list[int]]:
    """Numbers of the events of one phase and category by family: one, or none when no table holds them."""
    if phase == "X" and category == "Operator":
        families: dict[str, list[int]] = {"annotation": [], "op": []}
        for number in numbers:
            is_annotation = str(events[number].name).startswith(_OLD_ANNOTATIONS)
            families["annotation" if is_annotation else "op"].append(number)
        return families
    if phase == "X":
        return {_FAMILY_OF_CATEGORY.get(str(category).lower(), "other"): numbers}
    return {_FAMILY_OF_PHASE[phase]: numbers} if phase in _FAMILY_OF_PHASE else {}


class _Tracks:
    """Numbers the (pid, tid) pairs of a block as they come, and keeps the first event of each."""

    def __init__(self, tracks: dict[Track, int]) -> None:
        self._tracks = tracks
        self._numbers: dict[Track, int] = {}

    def number(self, events: Sequence[AnyEvent], ids: npt.NDArray[np.int64]) -> list[int]:
        tracks = [(event.pid, event.tid) for event in events]
        for track, first in dict(zip(reversed(tracks), reversed(ids.tolist()), strict=True)).items():
            self._numbers.setdefault(track, len(self._numbers))
            self._tracks[track] = min(first, self._tracks.get(track, first))
        return [self._numbers[track] for track in tracks]


def _build(family: str, category: Any, events: list[AnyEvent], numbers: list[int], tracks: _Tracks, rows: Rows) -> None:
    ids = np.array(numbers, dtype=np.int64)
    ts, valid = starts([event.ts for event in events], rows.notes)
    if not valid.all():
        events = [event for event, usable in zip(events, valid, strict=True) if usable]
        ids, ts = ids[valid], ts[valid]
    if not events:
        return
    if family == "counter":
        rows.batches += host.counter_batches(events, ts, rows.notes)
        return
    if family == "range":
        rows.ranges += host.range_ends(events, ids, ts, tracks.number(events, ids))
        return
    dur = durations([event.dur for event in events], rows.notes) if family != "instant" else np.zeros_like(ts)
    if family in gpu.FAMILIES:
        rows.batches += gpu.batches(family, events, ids, ts, dur, rows.notes)
        return
    threads = tracks.number(events, ids)
    rows.batches += host.batches(family, category, events, ids, ts, dur, threads, rows.notes)


LooseEvent: Any = msgspec.defstruct(
    "LooseEvent",
    [*((name, Any, None) for name in Event.__struct_fields__[:-1]), ("args", msgspec.Raw, msgspec.Raw(b"{}"))],
)
"""An event whose members may have any type."""
_loose_event = msgspec.json.Decoder(LooseEvent)


def decode_loosely(texts: Sequence[bytes], notes: Counter[str]) -> Rows:
    """Rows of events given one by one; what is no event is counted as malformed_event and leaves its number unused."""
    events: list[Any] = []
    for text in texts:
        try:
            event: Any = _loose_event.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            notes["malformed_event"] += 1
            event = LooseEvent(ph=DROPPED)
        event.ph = event.ph if isinstance(event.ph, str) else ""
        for name in ("pid", "tid", "cat"):
            if isinstance(getattr(event, name), (list, dict)):
                setattr(event, name, str(getattr(event, name)))
        events.append(event)
    try:
        return to_rows(events)
    except Inexact:
        for text, event in zip(texts, events, strict=True):
            if event.ph != DROPPED:
                _set_exact_times(text, event, notes)
        return to_rows(events)


def _set_exact_times(text: bytes, event: LooseEvent, notes: Counter[str]) -> None:
    try:
        members = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        notes["malformed_event"] += 1
        event.ph = DROPPED
    else:
        event.ts, event.dur = members.get("ts"), members.get("dur")
