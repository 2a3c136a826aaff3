"""A timeline as inline SVG: lanes of slices, to be zoomed by script.js and readable without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from traceq.printable import printable
from traceq.reports.charts.palette import COLOURS, variable
from traceq.reports.html.bars import swatch
from traceq.reports.html.markup import tag, text
from traceq.reports.names import shortened
from traceq.units import count, duration

if TYPE_CHECKING:
    from traceq.reports.timeline import Lane, Span, Timeline

_WORDS = {"op": "operator", "runtime": "CUDA call", "culprit": "what the finding points at"}

# In units of a drawing that can be zoomed: its width stands for the whole timeline.
_WIDTH, _ROW, _GAP, _LEAST = 10_000, 14, 6, 4
_NAME_LIMIT = 90
_TOLD = 8
# Of so few slices each says its name and what it is without a script.
_CLOSE = 600
# Per cent of the width that a name needs, and how much of it is written.
_LABELLED, _LABEL = 5.0, 60


def tracks(timeline: Timeline) -> Markup:
    """The timeline with the names of its lanes, its scale, and its longest slices in words."""
    height = sum(_height(lane) + _GAP for lane in timeline.lanes) or 1
    is_close = sum(len(lane.spans) for lane in timeline.lanes) <= _CLOSE
    drawn = tag(
        "svg",
        *(_close(timeline, height) if is_close else _zoomable(timeline, height)),
        viewBox=None if is_close else f"0 0 {_WIDTH} {height}",
        preserveAspectRatio="none",
        role="img",
        aria_label=_in_words(timeline),
        height=height,
        class_="spans",
    )
    scale = tag("div", *(tag("span", text(duration(part * timeline.width / 4))) for part in range(5)), class_="scale")
    names = tag("div", *_labels(timeline), class_="lanes")
    content = [
        tag("figcaption", text(timeline.title)),
        tag("div", names, tag("div", drawn, scale, class_="window"), class_="drawn"),
        _legend(timeline),
    ]
    if is_close:
        return tag("figure", *content, _note(timeline), class_="tracks")
    return tag("figure", *content, _note(timeline), _names(timeline), class_="tracks", data_dur=timeline.width)


def _rows(lane: Lane) -> int:
    return 1 + max((span.depth for span in lane.spans), default=0)


def _height(lane: Lane) -> int:
    return _rows(lane) * _ROW


def _labels(timeline: Timeline) -> Iterator[Markup]:
    for lane in timeline.lanes:
        yield tag("div", text(lane.label), class_=f"rows-{_rows(lane)}")


def _placed(timeline: Timeline) -> Iterator[tuple[Span, int]]:
    """Each slice, and how far down it is."""
    y = 0
    for lane in timeline.lanes:
        yield from ((span, y + span.depth * _ROW) for span in lane.spans)
        y += _height(lane) + _GAP


def _zoomable(timeline: Timeline, height: int) -> Iterator[Markup]:
    """In units that a script can change: it shows another part by another viewBox, and says what a slice is."""
    scale = _WIDTH / timeline.width
    for mark in timeline.marks:
        yield _rect(f"{mark.ts * scale:.0f}", 0, f"{max(_LEAST, mark.dur * scale):.0f}", height, "mark", class_="mark")
    for number, (span, y) in enumerate(_placed(timeline)):
        size = max(_LEAST, span.dur * scale)
        yield _rect(f"{span.ts * scale:.0f}", y, f"{size:.0f}", _ROW - 1, _kind(span), data_n=number)


def _close(timeline: Timeline, height: int) -> Iterator[Markup]:
    """In per cent of the width, so that names can be written into the slices."""
    scale = 100 / timeline.width
    for mark in timeline.marks:
        yield _rect(f"{mark.ts * scale:.2f}%", 0, f"{max(0.1, mark.dur * scale):.2f}%", height, "mark", class_="mark")
    for span, y in _placed(timeline):
        x, size = f"{span.ts * scale:.2f}%", max(0.1, span.dur * scale)
        rect = _rect("0", 0, "100%", _ROW - 1, _kind(span))
        title = tag("title", text(_told(span)))
        name = [tag("text", text(shortened(span.name, _LABEL)), x=3, y=10)] if size >= _LABELLED else []
        yield tag("svg", title, rect, *name, x=x, y=y, width=f"{size:.2f}%", height=_ROW - 1)


def _rect(x: str, y: int, width: str, height: int, kind: str, **more: str | int) -> Markup:
    return tag("rect", x=x, y=y, width=width, height=height, fill=f"var({variable(kind)})", **more)


def _kind(span: Span) -> str:
    return "culprit" if span.is_culprit else span.kind


def _legend(timeline: Timeline) -> Markup:
    drawn = {_kind(span) for lane in timeline.lanes for span in lane.spans}
    kinds = [kind for kind in COLOURS if kind in drawn]
    return tag("ul", *(tag("li", swatch(kind), text(_WORDS.get(kind, kind))) for kind in kinds), class_="legend")


def _told(span: Span) -> str:
    name = shortened(span.name, _NAME_LIMIT)
    if span.slices > 1:
        return f"{count(span.slices)} within {duration(span.dur)}, the longest {name}"
    return f"{name}, {duration(span.dur)}"


def _names(timeline: Timeline) -> Markup:
    """What script.js shows of a slice: per slice its name (a number in the list of names), duration and how many it is."""
    names: dict[str, int] = {}
    slices = [
        [names.setdefault(printable(shortened(span.name, _NAME_LIMIT)), len(names)), span.ts, span.dur, span.slices]
        for lane in timeline.lanes
        for span in lane.spans
    ]
    content = json.dumps({"names": list(names), "slices": slices}, ensure_ascii=False, separators=(",", ":"))
    # Within a script element nothing is unescaped, and only this could end it.
    return tag("script", Markup(content.replace("<", "\\u003c")), type="application/json")  # noqa: S704


def _in_words(timeline: Timeline) -> str:
    """What the drawing shows, for who cannot see it: the longest slices of each lane."""
    parts = []
    for lane in timeline.lanes:
        longest = sorted(lane.spans, key=lambda span: (-span.dur, span.ts))[:2]
        parts.append(f"{lane.label}: {'; '.join(map(_told, longest))}")
    marks = "".join(f" Marked: {mark.text}." for mark in timeline.marks)
    return printable(f"{timeline.title}, {duration(timeline.dur)}. {'. '.join(parts[:_TOLD])}.{marks}")


def _note(timeline: Timeline) -> Markup:
    words = f"{duration(timeline.dur)} from {timeline.ts} ns of the trace's clock"
    if timeline.resolution > 1:
        words += f"; slices below {duration(timeline.resolution)} are drawn together"
    return tag("p", text(words + "."), class_="note")
