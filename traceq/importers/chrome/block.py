"""One block of events, as text, becomes rows. Pure: runs in any process, knows nothing of other blocks.

Slice ids are numbers of events within the block, thread ids are numbers into `Rows.tracks`; `reading` shifts both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from traceq.importers.chrome import gpu, host
from traceq.importers.chrome.times import Inexact, durations, starts

_Scalar = int | float | str | bool | None


class Event(msgspec.Struct, gc=False):
    """The members of an event that matter; args stays text."""

    ph: str = ""
    cat: _Scalar = None
    name: _Scalar = None
    pid: _Scalar = None
    tid: _Scalar = None
    ts: int | float | str | None = None
    dur: int | float | str | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


class ExactEvent(msgspec.Struct, gc=False):
    """An Event whose times are decimals, for files with nanoseconds since 1970 as fractional microseconds."""

    ph: str = ""
    cat: _Scalar = None
    name: _Scalar = None
    pid: _Scalar = None
    tid: _Scalar = None
    ts: Decimal | None = None
    dur: Decimal | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


_events = msgspec.json.Decoder(list[Event])
_exact_events = msgspec.json.Decoder(list[ExactEvent])

AnyEvent = Event | ExactEvent
Track = tuple[Any, Any]


@dataclass
class Rows:
    """What a block holds: batches per table, the tracks their thread_id points into, and what needs the whole file."""

    events: int
    batches: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    metadata: list[tuple[str, Track, Any]] = field(default_factory=list)
    ranges: list[host.RangeEnd] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)


def decode(text: bytes) -> Rows | None:
    """Rows of a block of comma-separated events, or None when it is not exactly that."""
    array = b"[" + text.strip(b" \t\r\n,") + b"]"
    try:
        events: Sequence[AnyEvent] = _events.decode(array)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    try:
        return to_rows(events)
    except Inexact:
        return to_rows(_exact_events.decode(array))


# Stands for an event that could not be decoded and was counted as such.
DROPPED = "dropped"

# ph of events that carry nothing a table holds: flows are redundant, the others belong to other tools.
_FLOWS = frozenset("stf")


def to_rows(events: Sequence[AnyEvent]) -> Rows:
    """Sort events into families and build the rows of each."""
    rows = Rows(len(events))
    families = _families(events, rows)
    tracks = _Tracks(rows.tracks)
    for family, numbers in families.items():
        chosen = [events[number] for number in numbers]
        ids = np.array(numbers, dtype=np.int64)
        ts, valid = starts([event.ts for event in chosen], rows.notes)
        if not valid.all():
            chosen = [event for event, usable in zip(chosen, valid, strict=True) if usable]
            ids, ts = ids[valid], ts[valid]
        if chosen:
            _build(family, _Timed(chosen, ids, ts), tracks, rows)
    return rows


@dataclass
class _Timed:
    """Events of one family with their numbers in the block and starts in ns."""

    events: list[AnyEvent]
    ids: npt.NDArray[np.int64]
    ts: npt.NDArray[np.int64]


class _Tracks:
    """Numbers the (pid, tid) pairs of a block in order of appearance."""

    def __init__(self, tracks: list[Track]) -> None:
        self._tracks = tracks
        self._numbers: dict[Track, int] = {}

    def number(self, event: AnyEvent) -> int:
        track = (event.pid, event.tid)
        number = self._numbers.get(track)
        if number is None:
            number = self._numbers[track] = len(self._tracks)
            self._tracks.append(track)
        return number


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


def _families(events: Sequence[AnyEvent], rows: Rows) -> dict[str, list[int]]:
    families: dict[str, list[int]] = {}
    flows = 0
    for number, event in enumerate(events):
        phase = event.ph
        if phase == "X":
            family = _family_of(event)
        elif phase in _FLOWS:
            flows += 1
            continue
        elif phase == "M":
            rows.metadata.append((str(event.name), (event.pid, event.tid), bytes(event.args)))
            continue
        elif phase in ("i", "I"):
            family = "instant"
        elif phase == "C":
            family = "counter"
        elif phase in ("B", "E"):
            family = "range"
        else:
            if phase != DROPPED:
                rows.notes["empty_event" if _is_empty(event) else "phase_not_stored"] += 1
            continue
        numbers = families.get(family)
        if numbers is None:
            numbers = families[family] = []
        numbers.append(number)
    rows.notes["flow_not_stored"] += flows
    return families


def _is_empty(event: AnyEvent) -> bool:
    return not event.ph and event.name is None and event.ts is None


# In 2021 user annotations were written as operators; these are the ones PyTorch itself makes.
_OLD_ANNOTATIONS = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")


def _family_of(event: AnyEvent) -> str:
    category = event.cat
    if not isinstance(category, str):
        return "other"
    family = _FAMILY_OF_CATEGORY.get(category) or _FAMILY_OF_CATEGORY.get(category.lower(), "other")
    if category == "Operator" and isinstance(event.name, str) and event.name.startswith(_OLD_ANNOTATIONS):
        return "annotation"
    return family


def _build(family: str, timed: _Timed, tracks: _Tracks, rows: Rows) -> None:
    events, ids, ts = timed.events, timed.ids, timed.ts
    if family in ("instant", "range"):
        dur = np.zeros(len(events), dtype=np.int64)
    else:
        dur = durations([event.dur for event in events], rows.notes)
    if family in gpu.FAMILIES:
        rows.batches += gpu.batches(family, events, ids, ts, dur, rows.notes)
        return
    if family == "counter":
        rows.batches += host.counter_batches(events, ts, rows.notes)
        return
    threads = [tracks.number(event) for event in events]
    if family == "range":
        rows.ranges += host.range_ends(events, ids, ts, threads)
        return
    rows.batches += host.batches(family, events, ids, ts, dur, threads, rows.notes)


class LooseEvent(msgspec.Struct, gc=False):
    """An event whose members may have any type."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: msgspec.Raw = msgspec.Raw(b"")


_loose_event = msgspec.json.Decoder(LooseEvent)
_exact_event = msgspec.json.Decoder(ExactEvent)


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
        for name in ("pid", "tid"):
            if isinstance(getattr(event, name), (list, dict)):
                setattr(event, name, str(getattr(event, name)))
        events.append(event)
    try:
        return to_rows(events)
    except Inexact:
        return to_rows([_exactly(text, event) for text, event in zip(texts, events, strict=True)])


def _exactly(text: bytes, event: Any) -> Any:
    try:
        return _exact_event.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return event
