"""What blocks.html draws of a timeline: a picture that needs no script, and the data that timeline.js draws instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from traceq.analysis import categories
from traceq.common.text import printable, shortened
from traceq.common.units import count, duration
from traceq.reports.charts.palette import COLOURS, variable
from traceq.reports.flame import Frame
from traceq.reports.renderers.html.packed import packed
from traceq.reports.timeline import Called, Lane, Timeline

_WORDS = {
    "compute": "kernel",
    "graph": "CUDA graph",
    "communication": "communication",
    "op": "operator",
    "runtime": "CUDA call",
    "python": "Python frame",
    "smaller": "smaller frames",
}
_CULPRIT = "what the finding points at"
_OCCURRENCE = "occurrence of the finding"

# The picture is drawn on a grid: a slice is one cell wide at least, and one of some cells leaves its last one free.
_CELLS, _APART = 400, 4
_ROW, _GAP = 14, 6
_NAME_LIMIT = 160
# Names in the picture: from which part of its width on, how many, and how long.
_LABEL_SHARE, _LABELS, _LABEL_LIMIT = 0.05, 40, 40
# Said for who sees no picture: so many lanes, and the longest slices of each.
_TOLD_LANES, _TOLD = 8, 2


@dataclass(frozen=True)
class Label:
    """A name in the picture: its place and width in % and its top."""

    x: float
    width: float
    y: int
    text: str


@dataclass(frozen=True)
class Drawing:
    """The picture: lanes as (label, height), strokes as (CSS variable, path), marks as (place, width) in cells; and the data."""

    timeline: Timeline
    height: int
    lanes: list[tuple[str, int]]
    strokes: list[tuple[str, str]]
    marks: list[tuple[float, float]]
    labels: list[Label]
    view: str
    words: str
    note: str
    scale: list[str]
    legend: list[tuple[str, str]]
    data: str
    cells: int = _CELLS
    row: int = _ROW - 1


def drawing(timeline: Timeline) -> Drawing:
    """The picture of the first view of the timeline, and the whole of it as data."""
    ts, dur = _window(timeline)
    tops = _tops(timeline)
    rows = list(_rows(timeline, ts, dur))
    view = timeline.views[0].text if timeline.views and timeline.views[0].text != timeline.title else ""
    return Drawing(
        timeline=timeline,
        height=tops[-1],
        lanes=[(lane.label, lane.levels * _ROW) for lane in timeline.lanes],
        strokes=[stroke for row in rows for stroke in _strokes(timeline, row, ts, dur, tops)],
        marks=[((mark.ts - ts) / dur * _CELLS, max(1.0, mark.dur / dur * _CELLS)) for mark in timeline.marks],
        labels=_labels(timeline, [index for row in rows for index in row], ts, dur, tops),
        view=view,
        words=_in_words(timeline),
        note=_note(timeline),
        scale=[duration(part * dur / 4) for part in range(5)],
        legend=_legend(timeline),
        data=_data(timeline),
    )


def _window(timeline: Timeline) -> tuple[int, int]:
    """The start and the length of what the picture shows."""
    if timeline.views:
        return timeline.views[0].ts, timeline.views[0].dur or 1
    return 0, timeline.width or 1


def _tops(timeline: Timeline) -> list[int]:
    """Where each lane begins from above, and where the last one ends."""
    tops = [0]
    for lane in timeline.lanes:
        tops.append(tops[-1] + lane.levels * _ROW + _GAP)
    return tops


def _rows(timeline: Timeline, ts: int, dur: int) -> Iterator[list[int]]:
    """The slices that are seen, for each level of each lane."""
    slices = timeline.slices
    seen = (
        index
        for index in range(len(slices))
        if slices.ts[index] < ts + dur and slices.ts[index] + slices.dur[index] >= ts
    )
    for _, row in groupby(seen, key=lambda index: (slices.lane[index], slices.depth[index])):
        yield list(row)


def _strokes(
    timeline: Timeline, row: Sequence[int], ts: int, dur: int, tops: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """The row as one path for each kind: where it is drawn and where not, cell by cell."""
    cells: list[str | None] = [None] * _CELLS
    longest = [0.0] * _CELLS
    for index in row:
        first, last, wide = _cells(timeline, index, ts, dur)
        kind = "culprit" if index == timeline.culprit else timeline.called[timeline.slices.called[index]].kind
        for cell in range(first, last):
            if wide >= longest[cell]:
                cells[cell], longest[cell] = kind, wide
    y = tops[timeline.slices.lane[row[0]]] + timeline.slices.depth[row[0]] * _ROW + _ROW / 2 - 0.5
    runs = [(kind, len(list(run))) for kind, run in groupby(cells)]
    for kind in sorted({kind for kind, _ in runs if kind}):
        yield variable(kind), f"M0 {y:g}" + "".join(f"h{n}" if each == kind else f"m{n} 0" for each, n in runs)


def _cells(timeline: Timeline, index: int, ts: int, dur: int) -> tuple[int, int, float]:
    """The first cell of a slice, the one after its last, and its width in cells."""
    start = max(0.0, (timeline.slices.ts[index] - ts) / dur * _CELLS)
    end = min(float(_CELLS), (timeline.slices.ts[index] + timeline.slices.dur[index] - ts) / dur * _CELLS)
    first = min(_CELLS - 1, int(start))
    last = max(first + 1, round(end))
    return first, last - (last - first >= _APART), end - start


def _labels(timeline: Timeline, seen: Sequence[int], ts: int, dur: int, tops: Sequence[int]) -> list[Label]:
    found = []
    for index in seen:
        first, last, wide = _cells(timeline, index, ts, dur)
        if wide >= _LABEL_SHARE * _CELLS:
            y = tops[timeline.slices.lane[index]] + timeline.slices.depth[index] * _ROW
            found.append(
                Label(first / _CELLS * 100, (last - first) / _CELLS * 100, y, _name(timeline, index, _LABEL_LIMIT))
            )
    return sorted(found, key=lambda label: -label.width)[:_LABELS]


def _name(timeline: Timeline, index: int, limit: int) -> str:
    called = timeline.called[timeline.slices.called[index]]
    return shortened(called_in_words(called), limit)


def called_in_words(called: Called | Frame) -> str:
    """The name as people read it: steps, threads and categories have none of their own."""
    if called.kind == "step":
        return f"Step {called.name}"
    if called.kind == "thread":
        return f"thread {called.name}"
    return kind_in_words(called.kind) if called.name == called.kind else called.name


def kind_in_words(kind: str) -> str:
    """What slices of a kind are."""
    if kind in categories.IDLE:
        words = categories.in_words(kind)
        return words if words.startswith("idle") else f"idle: {words}"
    return _WORDS.get(kind) or categories.in_words(kind)


def _legend(timeline: Timeline) -> list[tuple[str, str]]:
    """Every colour that is drawn, and what it stands for."""
    drawn = {timeline.called[each].kind for each in set(timeline.slices.called)}
    order = [*COLOURS, *sorted(drawn - COLOURS.keys())]
    entries = [(kind, kind_in_words(kind)) for kind in order if kind in drawn]
    if timeline.culprit >= 0:
        entries.append(("culprit", _CULPRIT))
    if timeline.marks:
        entries.append(("mark", _OCCURRENCE))
    return entries


def _in_words(timeline: Timeline) -> str:
    """What is drawn, for who cannot see it: the longest slices of each lane."""
    lanes = [_lane_in_words(timeline, number, lane) for number, lane in enumerate(timeline.lanes[:_TOLD_LANES])]
    marked = [mark.text for mark in timeline.marks if mark.text]
    marks = f" Marked: {', '.join(marked)}." if marked else ""
    return printable(f"{timeline.title}, {duration(timeline.dur)}. {'. '.join(lanes)}.{marks}")


def _lane_in_words(timeline: Timeline, number: int, lane: Lane) -> str:
    slices = timeline.slices
    own = (index for index in range(len(slices)) if slices.lane[index] == number)
    longest = sorted(own, key=lambda index: (-slices.dur[index], index))[:_TOLD]
    return f"{lane.label}: {'; '.join(_told(timeline, index) for index in longest)}"


def _told(timeline: Timeline, index: int) -> str:
    name, slices = _name(timeline, index, _LABEL_LIMIT), timeline.slices
    if slices.count[index] > 1:
        return f"{count(slices.count[index])} within {duration(slices.dur[index])}, the longest {name}"
    return f"{name}, {duration(slices.dur[index])}"


def _note(timeline: Timeline) -> str:
    """What is not drawn one by one; nothing if all is."""
    if timeline.resolution == 1:
        return "" if timeline.fine == 1 else f"Slices below {duration(timeline.fine)} are drawn together."
    words = f"Slices below {duration(timeline.resolution)} are drawn together"
    if timeline.fine != timeline.resolution and timeline.views:
        views = " and ".join(view.text.split(",")[0].lower() for view in timeline.views)
        words += f"; in {views} " + (f"those below {duration(timeline.fine)}" if timeline.fine > 1 else "each is drawn")
    return f"{words}."


def _data(timeline: Timeline) -> str:
    slices, path = timeline.slices, timeline.path
    kinds = list(dict.fromkeys(called.kind for called in timeline.called))
    head = {
        "start": str(timeline.ts),
        "width": timeline.width,
        "lanes": [[lane.label, lane.side, lane.levels, lane.device] for lane in timeline.lanes],
        "names": [printable(shortened(called_in_words(each), _NAME_LIMIT)) for each in timeline.called],
        "kindOf": [kinds.index(each.kind) for each in timeline.called],
        "kinds": [[variable(kind), kind_in_words(kind)] for kind in kinds],
        "views": [[view.ts, view.dur, view.text] for view in timeline.views],
        "marks": [[mark.ts, mark.dur, mark.text] for mark in timeline.marks],
        "culprit": timeline.culprit,
    }
    columns = {
        "lane": slices.lane,
        "depth": slices.depth,
        "ts": slices.ts,
        "dur": slices.dur,
        # What differs from the usual: all of its duration, one slice.
        "rest": [dur - busy for dur, busy in zip(slices.dur, slices.busy, strict=True)],
        "more": [number - 1 for number in slices.count],
        "called": slices.called,
        "launch": slices.launch,
        "pathLane": path.lane,
        "pathTs": path.ts,
        "pathDur": path.dur,
    }
    return packed(head, columns, frozenset(("lane", "ts", "launch", "pathTs")))
