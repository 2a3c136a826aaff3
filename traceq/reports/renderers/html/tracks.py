"""What blocks.html draws of a timeline: where its slices are, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from traceq.common.text import printable, shortened
from traceq.common.units import count, duration
from traceq.reports.charts.palette import COLOURS
from traceq.reports.timeline import Lane, Span, Timeline

_WORDS = {"op": "operator", "runtime": "CUDA call", "culprit": "what the finding points at"}

_ROW, _GAP = 14, 6
_NAME_LIMIT = 90
_TOLD = 8
# Of so few slices each says its name and what it is without a script.
_CLOSE = 600
# The width of a drawing: per cent where names are written into slices, else units that can be zoomed, and the least width.
_PER_CENT, _ZOOMABLE = (100, 0.1), (10_000, 4)


@dataclass(frozen=True)
class Drawing:
    """Lanes as (label, rows), slices as (slice, kind, y); `names` is what script.js shows, JSON fit for a script element."""

    timeline: Timeline
    is_close: bool
    height: int
    lanes: list[tuple[str, int]]
    spans: list[tuple[Span, str, int]]
    words: str
    note: str
    legend: list[tuple[str, str]]
    row: int = _ROW - 1

    @property
    def scale(self) -> int:
        """How wide the whole timeline is."""
        return (_PER_CENT if self.is_close else _ZOOMABLE)[0]

    def at(self, ns: int, *, least: bool = False) -> str:
        """A place or, not less than can be seen, a width."""
        wide = ns * (self.scale / self.timeline.width)
        if self.is_close:
            return f"{max(_PER_CENT[1], wide) if least else wide:.2f}%"
        return f"{max(_ZOOMABLE[1], wide) if least else wide:.0f}"

    @property
    def names(self) -> str:
        """Per slice its name (a number in the list of names), its time and duration in ns, and how many it stands for."""
        names: dict[str, int] = {}
        slices = [
            [names.setdefault(printable(shortened(each.name, _NAME_LIMIT)), len(names)), each.ts, each.dur, each.slices]
            for each, _, _ in self.spans
        ]
        content = json.dumps({"names": list(names), "slices": slices}, ensure_ascii=False, separators=(",", ":"))
        # Within a script element nothing is unescaped, and only this could end it.
        return content.replace("<", "\\u003c")


def drawing(timeline: Timeline) -> Drawing:
    """The timeline with the names of its lanes, its scale, and its longest slices in words."""
    lanes: list[tuple[str, int]] = []
    spans: list[tuple[Span, str, int]] = []
    y = 0
    for lane in timeline.lanes:
        lanes.append((lane.label, 1 + max((span.depth for span in lane.spans), default=0)))
        spans += [(span, "culprit" if span.is_culprit else span.kind, y + span.depth * _ROW) for span in lane.spans]
        y += lanes[-1][1] * _ROW + _GAP
    drawn = {kind for _, kind, _ in spans}
    return Drawing(
        timeline=timeline,
        is_close=len(spans) <= _CLOSE,
        height=y or 1,
        lanes=lanes,
        spans=spans,
        words=_in_words(timeline),
        note=_note(timeline),
        legend=[(kind, _WORDS.get(kind, kind)) for kind in COLOURS if kind in drawn],
    )


def told(span: Span) -> str:
    """What the slice is, in words."""
    name = shortened(span.name, _NAME_LIMIT)
    if span.slices > 1:
        return f"{count(span.slices)} within {duration(span.dur)}, the longest {name}"
    return f"{name}, {duration(span.dur)}"


def _in_words(timeline: Timeline) -> str:
    """What the drawing shows, for who cannot see it: the longest slices of each lane."""
    parts = "; ".join
    lanes = [f"{lane.label}: {parts(map(told, _longest(lane)))}" for lane in timeline.lanes[:_TOLD]]
    marks = "".join(f" Marked: {mark.text}." for mark in timeline.marks)
    return printable(f"{timeline.title}, {duration(timeline.dur)}. {'. '.join(lanes)}.{marks}")


def _longest(lane: Lane) -> list[Span]:
    return sorted(lane.spans, key=lambda span: (-span.dur, span.ts))[:2]


def _note(timeline: Timeline) -> str:
    words = f"{duration(timeline.dur)} from {timeline.ts} ns of the trace's clock"
    if timeline.resolution > 1:
        words += f"; slices below {duration(timeline.resolution)} are drawn together"
    return f"{words}."
