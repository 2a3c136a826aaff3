"""The messages of an XSpace: planes, lines, events and what is told of them (stats).

The numbers of their fields are those of xplane.proto. Names of events and stats stand once a plane, as metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traceq.importers.xplane.wire import Buffer, Span, read_fields, read_text, to_double, to_signed

Value = int | float | str | None

_EVENTS_OF_LINE = 4


class XEvent(NamedTuple):
    """An event of a line: its name, start and end in ns, and its stats (further values) by name."""

    name: str
    start: int
    end: int
    stats: dict[str, Value]


class XLine(msgspec.Struct):
    """A line of a plane, which is a stream or a thread: where it lies in the buffer, its id (`number`) and name.

    `timestamp_ns` is the time from which its events count.
    """

    span: Span
    number: int = 0
    name: str = ""
    timestamp_ns: int = 0


class Plane(msgspec.Struct):
    """A plane of an XSpace, which is a GPU or the host; its lines are read when they are asked for.

    `lines` are where they lie in the buffer.
    """

    buffer: Buffer
    name: str = ""
    lines: list[Span] = msgspec.field(default_factory=list)
    events: dict[int, str] = msgspec.field(default_factory=dict)
    """Names of events by their metadata's id."""
    names: dict[int, str] = msgspec.field(default_factory=dict)
    """Names of stats by their metadata's id; stats refer to them as texts, too."""
    stats: dict[str, Value] = msgspec.field(default_factory=dict)
    aggregated: int = 0
    """Events that stand for several and say no time; left out."""

    def read_lines(self) -> Iterator[XLine]:
        """Yield each line of the plane, without its events."""
        for span in self.lines:
            line = XLine(span)
            for number, bits, part in read_fields(self.buffer, span):
                match number:
                    case 1:
                        line.number = to_signed(bits)
                    case 2:
                        line.name = read_text(self.buffer, part)
                    case 3:
                        line.timestamp_ns = to_signed(bits)
            yield line

    def read_events(self, line: XLine) -> Iterator[XEvent]:
        """Yield the events of a line in the order of the file; their times, ps since the line's, become ns, rounded down.

        Events that stand for several are counted in `aggregated` instead.
        """
        begin = line.timestamp_ns * 1000
        for number, _, span in read_fields(self.buffer, line.span):
            if number == _EVENTS_OF_LINE and (event := self._read_event(span, begin)) is not None:
                yield event

    def _read_event(self, span: Span, begin: int) -> XEvent | None:
        """Return the event at `span`; `begin` is the line's time in ps.

        None, and counted in `aggregated`, if it stands for several.
        """
        kind = offset = duration = 0
        stats: dict[str, Value] = {}
        for number, bits, part in read_fields(self.buffer, span):
            match number:
                case 1:
                    kind = bits
                case 2:
                    offset = to_signed(bits)
                case 3:
                    duration = to_signed(bits)
                case 4:
                    name, told = self.read_stat(part)
                    stats[name] = told
                case 5:
                    self.aggregated += 1
                    return None
        start = begin + offset
        return XEvent(self.events.get(kind) or f"event {kind}", start // 1000, (start + duration) // 1000, stats)

    def read_stat(self, span: Span) -> tuple[str, Value]:
        """Return (name, value) of the stat at `span`; the value is None for bytes, which hold other messages."""
        kind = 0
        told: Value = None
        for number, bits, part in read_fields(self.buffer, span):
            match number:
                case 1:
                    kind = bits
                case 2:
                    told = to_double(bits)
                case 3:
                    told = bits
                case 4:
                    told = to_signed(bits)
                case 5:
                    told = read_text(self.buffer, part)
                case 7:
                    told = self.names.get(bits)
        return self.names.get(kind, f"stat {kind}"), told


class Space(msgspec.Struct):
    """The planes of an XSpace, and the names of the machines on which it was recorded."""

    planes: list[Plane] = msgspec.field(default_factory=list)
    hosts: list[str] = msgspec.field(default_factory=list)


def read(buffer: Buffer, span: Span) -> Space:
    """Return the planes, with the names their events refer to, of the XSpace at `span` in the buffer; raises DamagedMessage."""
    space = Space()
    for number, _, part in read_fields(buffer, span):
        match number:
            case 1:
                space.planes.append(_read_plane(buffer, part))
            case 4:
                space.hosts.append(read_text(buffer, part))
    return space


def _read_plane(buffer: Buffer, span: Span) -> Plane:
    plane = Plane(buffer)
    stats = []
    for number, _, part in read_fields(buffer, span):
        match number:
            case 2:
                plane.name = read_text(buffer, part)
            case 3:
                plane.lines.append(part)
            case 4:
                plane.events.update([_read_metadata(buffer, part)])
            case 5:
                plane.names.update([_read_metadata(buffer, part)])
            case 6:
                stats.append(part)
    plane.stats = dict(plane.read_stat(stat) for stat in stats)
    return plane


def _read_metadata(buffer: Buffer, span: Span) -> tuple[int, str]:
    """Return (id, name) of an entry of the plane's map of event names or of stat names."""
    key, name = 0, ""
    for number, bits, part in read_fields(buffer, span):
        match number:
            case 1:
                key = bits
            case 2:
                name = next(
                    (read_text(buffer, told) for inner, _, told in read_fields(buffer, part) if inner == number), ""
                )
    return key, name
