"""Rows of a piece of a trace, and the numbers and names of the tracks (process, thread) that they are on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from traceq.importers.chrome.args import loads_pairs
from traceq.importers.chrome.host import RangeEnd
from traceq.importers.rows import Batches, batches_of

Track = tuple[Any, Any]


class BlockRows(msgspec.Struct):
    """Rows of a block of events: batches of tables, and what can be finished only with the whole file.

    `events` is the number of events. Slice ids are event numbers within the block, thread ids are indices into
    `tracks`, which has the number of the first event of each (pid, tid); `reading` makes both those of the file.
    """

    events: int
    batches: Batches = msgspec.field(default_factory=list)
    tracks: dict[Track, int] = msgspec.field(default_factory=dict)
    metadata: list[tuple[str, Track, Any]] = msgspec.field(default_factory=list)
    ranges: list[RangeEnd] = msgspec.field(default_factory=list)
    notes: Counter[str] = msgspec.field(default_factory=Counter)
    _numbers: dict[Track, int] = msgspec.field(default_factory=dict)

    def number(self, track: Track, first: int) -> int:
        """Return the index of a track in `tracks`, added there if new; `first` is the number of an event on it."""
        self.tracks[track] = min(first, self.tracks.get(track, first))
        return self._numbers.setdefault(track, len(self._numbers))


# Processes that are devices whose work is no GPU event: by name, the code of the note on their lanes.
_DEVICES = (
    (re.compile(r"/device:GPU:\d+.*"), "jax_not_measured"),
    (re.compile(r"/device:TPU:\d+.*"), "tpu_not_measured"),
    (re.compile(r"Ascend Hardware|NPU.*"), "npu_not_measured"),
)
_KINETO_THREAD_NAME = re.compile(r"thread -?\d+ \((.*)\)")


class TrackNumbers:
    """The tracks (pid, tid) of host slices, numbered as thread_id in order of appearance, and their names."""

    def __init__(self) -> None:
        self._numbers: dict[Track, int] = {}
        self._process_names: dict[Any, str] = {}
        self._thread_names: dict[Track, str] = {}
        self._devices: dict[Any, str] = {}

    def number_tracks(self, tracks: Mapping[Track, int]) -> pa.Array:
        """Return the thread_id of each track, in the order of `tracks`; new tracks are numbered by their first events.

        `tracks` has the number of each track's first event.
        """
        for track in sorted(tracks, key=tracks.__getitem__):
            self._numbers.setdefault(_normalize_track(track), len(self._numbers))
        return pa.array([self._numbers[_normalize_track(track)] for track in tracks], pa.int32())

    def has_track(self, pid: int, tid: int) -> bool:
        """Return whether the track has slices."""
        return (pid, tid) in self._numbers

    def add_track(self, pid: int, tid: int, name: str | None) -> int:
        """Return the thread_id of a track that may have no slices; `name` is the thread's, where no metadata event says it."""
        if name:
            self._thread_names.setdefault((pid, tid), name)
        return self._numbers.setdefault((pid, tid), len(self._numbers))

    def describe(self, metadata: Sequence[tuple[str, Track, bytes]]) -> None:
        """Keep the names of processes and threads that metadata (M) events give: (event name, track, args as JSON)."""
        for kind, track, raw in metadata:
            name = loads_pairs(raw, Counter()).get("name")
            if not isinstance(name, str) or not name:
                continue
            if kind == "process_name":
                code = next((code for pattern, code in _DEVICES if pattern.fullmatch(name)), None)
                if code:
                    self._devices[_normalize_track(track)[0]] = code
                self._process_names[_normalize_track(track)[0]] = name.rsplit("/", 1)[-1].split(" ", 1)[0]
            elif kind == "thread_name":
                match = _KINETO_THREAD_NAME.fullmatch(name)
                self._thread_names[_normalize_track(track)] = match[1] if match else name

    def count_unmeasured(self) -> Counter[str]:
        """Count the tracks on devices that traceq does not measure, by the code of the note on them."""
        return Counter(self._devices[pid] for pid, _ in self._numbers if pid in self._devices)

    def build_batches(self) -> Batches:
        """Return the rows of thread, one per track."""
        rows = [
            {
                "thread_id": number,
                "pid": parse_integer(pid),
                "tid": parse_integer(tid),
                "process_name": self._process_names.get(
                    pid, None if parse_integer(pid) is not None else _text_or_none(pid)
                ),
                "thread_name": self._thread_names.get(
                    (pid, tid), None if parse_integer(tid) is not None else _text_or_none(tid)
                ),
            }
            for (pid, tid), number in self._numbers.items()
        ]
        return batches_of("thread", rows)


def _normalize_track(track: Track) -> Track:
    """Return the track with its ids as numbers where possible: files of 2021 write one id with and without quotes."""
    pid, tid = (parse_integer(number) for number in track)
    return track[0] if pid is None else pid, track[1] if tid is None else tid


def parse_integer(value: Any, bits: int = 64) -> int | None:
    """Return a whole number, or the one in a text, as int; None for other values and numbers of more than `bits` bits."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    is_whole = not isinstance(value, bool) and (isinstance(value, str) or number == value)
    return number if is_whole and abs(number) < 1 << (bits - 1) else None


def _text_or_none(value: Any) -> str | None:
    """Return the value as text, None for None."""
    return None if value is None else str(value)
