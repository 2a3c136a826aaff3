"""The events of a Chrome trace as they stand in the file, numbered as `read` numbers slices: for those who copy some of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.chrome import cut
from traceq.importers.chrome.decode import split
from traceq.importers.chrome.host import RangeEnd
from traceq.importers.chrome.repair import object_of_trailer, repair
from traceq.importers.chrome.rows import BlockRows, parse_integer
from traceq.importers.chrome.source import ByteStream
from traceq.importers.chrome.times import is_inexact, parse_starts

_LONGEST_TRAILER = 16 << 20
_HALF_RANGE = re.compile(rb'"ph"\s*:\s*"[BE]"')
_CHUNK = 1 << 20

_raw_events = msgspec.json.Decoder(list[msgspec.Raw])


class EventHead(msgspec.Struct, gc=False):
    """Members of an event that identify it, as its JSON has them, of any type; None where missing."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    id: Any = None


_head = msgspec.json.Decoder(EventHead)


def decode_head(event: bytes | msgspec.Raw) -> EventHead:
    """Return the identifying members of an event (JSON text); all are None for text that is no JSON object."""
    try:
        return _head.decode(event)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return EventHead()


def start_of(event: bytes | msgspec.Raw, head: EventHead) -> int | None:
    """Return the start of an event in ns, the same as its slice's; None where it has no usable time.

    `event` is its JSON text, `head` the members decoded from it.
    """
    ts = head.ts
    if is_inexact(ts):
        found = re.search(rb'"ts"\s*:\s*"?(-?[\d.eE+-]+)', bytes(event))
        ts = found[1].decode() if found else ts
    values, valid = parse_starts([ts], Counter())
    return int(values[0]) if valid[0] and ts is not None else None


class EventRecords:
    """Reader of a file's events in order, as JSON texts; a context manager.

    `before` is the text before the list of events (b"" for a bare list), `after` the text behind it, known once
    `read_blocks` has ended. Raises UnusableTrace when the file holds no list of events.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] = lambda _bytes: None) -> None:
        self._stream = ByteStream(path, progress)
        before, self._text = cut.read_header(self._stream)
        if before is None:
            self._stream.close()
            raise UnusableTrace(f"{path}: holds no list of trace events; was it written by a profiler?")
        self.before = before
        self.after = b""
        self._events: Sequence[bytes | msgspec.Raw] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read_blocks(self) -> Iterator[tuple[int, Sequence[bytes | msgspec.Raw]]]:
        """Yield (number of the block's first event, texts of its events) for each block of the file, in order."""
        first = 0
        for events in self._split_blocks():
            yield first, events
            first += len(events)

    def _split_blocks(self) -> Iterator[Sequence[bytes | msgspec.Raw]]:
        """Yield the events' texts of each block, repaired where needed; set `after` where the list of events ends."""
        texts = cut.read_blocks(self._stream, self._text)
        text = next(texts, None)
        while text is not None:
            if self._decode(text):
                yield self._events
                text = next(texts, None)
                continue
            more = next(texts, None)
            repaired = repair(text, self._decode, is_last=more is None)
            yield repaired.events or self._events
            if repaired.ended:
                self.after = self._read_rest(repaired.rest + (more or b""), texts)
                return
            text = repaired.rest + (more or b"") if more is not None else None

    def _decode(self, text: bytes) -> BlockRows | None:
        """Set `_events` to the texts of a block's events; return rows that only count them.

        None, and no events, where the text is not a plain list of events.
        """
        block = split(text)
        self._events = () if block is None else _raw_events.decode(block.text)
        return None if block is None else BlockRows(block.events)

    def _read_rest(self, text: bytes, texts: Iterator[bytes]) -> bytes:
        """Return the text with the remaining blocks appended, up to about 16 MiB; read them all."""
        for more in texts:
            if len(text) < _LONGEST_TRAILER:
                text += more
        return text

    def members_before(self) -> dict[str, msgspec.Raw] | None:
        """Return the members of the file's outermost object before its events as JSON texts; None where it is no JSON."""
        header = self.before.strip().rstrip(b",")
        return _decode_members(header + b"}" if header else b"{}")

    def members_after(self) -> dict[str, msgspec.Raw]:
        """Return the members of the file's outermost object after its events, as JSON texts; {} where it is no JSON."""
        return _decode_members(object_of_trailer(self.after)) or {}


def _decode_members(text: bytes) -> dict[str, msgspec.Raw] | None:
    """Return the members of a JSON object as JSON texts, None where the text is anything else."""
    try:
        return {
            str(key): msgspec.Raw(bytes(value))
            for key, value in msgspec.json.decode(text, type=dict[str, msgspec.Raw]).items()
        }
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def pair_half_ranges(path: Path) -> dict[int, int]:
    """Return, for each range written as two events (B and E), the number of its end event by that of its begin event.

    Events are numbered from 0 in the file's order. Ranges without an end are left out.
    """
    if not _has_half_ranges(path):
        return {}
    ends: list[RangeEnd] = []
    threads: dict[tuple[Any, Any], int] = {}
    with EventRecords(path) as records:
        for first, events in records.read_blocks():
            for number, event in enumerate(events, first):
                head = decode_head(event)
                if head.ph not in ("B", "E") or (ts := start_of(event, head)) is None:
                    continue
                track = tuple(
                    str(part) if parse_integer(part) is None else parse_integer(part) for part in (head.pid, head.tid)
                )
                thread = threads.setdefault(track, len(threads))  # type: ignore[arg-type]
                ends.append(RangeEnd(number, head.ph, thread, "", None, ts, b""))
    found: dict[int, int] = {}
    opened: dict[int, list[int]] = {}
    for end in sorted(ends, key=lambda half: (half.ts, half.number)):
        stack = opened.setdefault(end.thread_id, [])
        if end.phase == "B":
            stack.append(end.number)
        elif stack:
            found[stack.pop()] = end.number
    return found


def _has_half_ranges(path: Path) -> bool:
    """Return whether the file's text has an event of phase B or E."""
    with closing(ByteStream(path, lambda _bytes: None)) as stream:
        tail = b""
        while text := stream.read(_CHUNK):
            if _HALF_RANGE.search(tail + text):
                return True
            tail = text[-32:]
    return False
