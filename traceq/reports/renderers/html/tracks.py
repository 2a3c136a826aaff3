"""A timeline for blocks.html: a picture that needs no script, and the data that timeline.js draws instead."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, groupby
from typing import NamedTuple

from traceq.analysis import categories
from traceq.common.text import printable, shortened
from traceq.common.units import count, duration
from traceq.reports.charts.palette import COLOURS, css_variable
from traceq.reports.flame import Frame, FramePair
from traceq.reports.renderers.html.packed import pack
from traceq.reports.timeline import Called, Timeline

_WORDS = {
    "compute": "kernel",
    "graph": "graph launched as a whole",
    "communication": "communication",
    "op": "operator",
    "runtime": "runtime call",
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


class SliceLabel(NamedTuple):
    """A slice's name written in the picture: its left end and width in % of the picture, its top in pixels, and the text."""

    x: float
    width: float
    y: int
    text: str


class TimelinePicture:
    """A timeline as blocks.html shows it: its first view as a picture, and all of it as data for timeline.js."""

    cells = _CELLS
    row = _ROW - 1

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        view = timeline.views[0] if timeline.views else None
        self._ts, self._dur = (view.ts, view.dur or 1) if view else (0, timeline.width or 1)
        self.view = view.text if view and view.text != timeline.title else ""
        self.scale = [duration(part * self._dur / 4) for part in range(5)]
        self.lanes = [(lane.label, lane.levels * _ROW) for lane in timeline.lanes]
        # Where each lane begins from above, and where the last one ends.
        self._tops = [0, *accumulate(height + _GAP for _, height in self.lanes)]
        self.height = self._tops[-1]

    @property
    def marks(self) -> list[tuple[float, float]]:
        """The (start, width) of each marked stretch, in cells of the picture, at least one cell wide."""
        cell = self._dur / _CELLS
        return [((mark.ts - self._ts) / cell, max(1.0, mark.dur / cell)) for mark in self._timeline.marks]

    @cached_property
    def _rows(self) -> list[list[int]]:
        """The indices of the slices in the first view, a list for each level of each lane that has some."""
        slices = self._timeline.slices
        seen = (
            index
            for index in range(len(slices))
            if slices.ts[index] < self._ts + self._dur and slices.ts[index] + slices.dur[index] >= self._ts
        )
        return [list(row) for _, row in groupby(seen, key=lambda index: (slices.lane[index], slices.depth[index]))]

    def _find_top(self, index: int) -> int:
        slices = self._timeline.slices
        return self._tops[slices.lane[index]] + slices.depth[index] * _ROW

    @property
    def strokes(self) -> Iterator[tuple[str, str]]:
        """The (CSS variable of the colour, SVG path data) of each kind of slice in each row of the first view."""
        timeline = self._timeline
        for row in self._rows:
            cells: list[str | None] = [None] * _CELLS
            longest = [0.0] * _CELLS
            for index in row:
                first, last, wide = self._find_span(index)
                kind = "culprit" if index == timeline.culprit else timeline.called[timeline.slices.called[index]].kind
                for cell in range(first, last):
                    if wide >= longest[cell]:
                        cells[cell], longest[cell] = kind, wide
            start = f"M0 {self._find_top(row[0]) + _ROW / 2 - 0.5:g}"
            runs = [(kind, len(list(run))) for kind, run in groupby(cells)]
            for kind in sorted({kind for kind, _ in runs if kind}):
                yield css_variable(kind), start + "".join(f"h{n}" if drawn == kind else f"m{n} 0" for drawn, n in runs)

    def _find_span(self, index: int) -> tuple[int, int, float]:
        """Return (first cell of a slice, the cell after its last, its width in cells).

        Wide slices end a cell earlier, as a gap.
        """
        slices, cell = self._timeline.slices, self._dur / _CELLS
        start = max(0.0, (slices.ts[index] - self._ts) / cell)
        end = min(float(_CELLS), (slices.ts[index] + slices.dur[index] - self._ts) / cell)
        first = min(_CELLS - 1, int(start))
        last = max(first + 1, round(end))
        return first, last - (last - first >= _APART), end - start

    @property
    def labels(self) -> list[SliceLabel]:
        """The labels of slices that are wide enough for one, the widest first, at most a fixed number."""
        spans = [(index, *self._find_span(index)) for row in self._rows for index in row]
        found = [
            SliceLabel(
                first / _CELLS * 100,
                (last - first) / _CELLS * 100,
                self._find_top(index),
                _slice_name(self._timeline, index),
            )
            for index, first, last, wide in spans
            if wide >= _LABEL_SHARE * _CELLS
        ]
        return sorted(found, key=lambda label: -label.width)[:_LABELS]

    @property
    def legend(self) -> list[tuple[str, str]]:
        """The (kind, words) of every colour in the timeline, including the culprit's and the marks' if it has some."""
        drawn = {self._timeline.called[number].kind for number in set(self._timeline.slices.called)}
        order = [*COLOURS, *sorted(drawn - COLOURS.keys())]
        entries = [(kind, kind_in_words(kind)) for kind in order if kind in drawn]
        if self._timeline.culprit >= 0:
            entries.append(("culprit", _CULPRIT))
        if self._timeline.marks:
            entries.append(("mark", _OCCURRENCE))
        return entries

    @property
    def words(self) -> str:
        """The timeline in words for screen readers: title, duration, longest slices of the first lanes, marks with a text."""
        timeline, slices = self._timeline, self._timeline.slices
        lanes = []
        for number, lane in enumerate(timeline.lanes[:_TOLD_LANES]):
            own = (index for index in range(len(slices)) if slices.lane[index] == number)
            longest = sorted(own, key=lambda index: (-slices.dur[index], index))[:_TOLD]
            lanes.append(f"{lane.label}: {'; '.join(_slice_words(timeline, index) for index in longest)}")
        marked = [mark.text for mark in timeline.marks if mark.text]
        marks = f" Marked: {', '.join(marked)}." if marked else ""
        return printable(f"{timeline.title}, {duration(timeline.dur)}. {'. '.join(lanes)}.{marks}")

    @property
    def note(self) -> str:
        """A sentence on slices that are drawn merged; "" if each is drawn alone."""
        timeline = self._timeline
        if timeline.resolution == 1:
            return "" if timeline.fine == 1 else f"Slices below {duration(timeline.fine)} are drawn together."
        words = f"Slices below {duration(timeline.resolution)} are drawn together"
        if timeline.fine != timeline.resolution and timeline.detail:
            fine = f"those below {duration(timeline.fine)}" if timeline.fine > 1 else "each is drawn"
            words += f"; in {timeline.detail} {fine}"
        return f"{words}."

    @property
    def data(self) -> str:
        """The whole timeline as packed text for timeline.js (see pack())."""
        timeline, slices, path = self._timeline, self._timeline.slices, self._timeline.path
        kinds = list(dict.fromkeys(called.kind for called in timeline.called))
        head = {
            "start": str(timeline.ts),
            "width": timeline.width,
            "lanes": [[lane.label, lane.side, lane.levels, lane.device] for lane in timeline.lanes],
            "names": [printable(shortened(name_in_words(each), _NAME_LIMIT)) for each in timeline.called],
            "kindOf": [kinds.index(each.kind) for each in timeline.called],
            "kinds": [[css_variable(kind), kind_in_words(kind)] for kind in kinds],
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
        return pack(head, columns, frozenset(("lane", "ts", "launch", "pathTs")))


def _slice_name(timeline: Timeline, index: int) -> str:
    return shortened(name_in_words(timeline.called[timeline.slices.called[index]]), _LABEL_LIMIT)


def _slice_words(timeline: Timeline, index: int) -> str:
    name, slices = _slice_name(timeline, index), timeline.slices
    if slices.count[index] > 1:
        return f"{count(slices.count[index])} within {duration(slices.dur[index])}, the longest {name}"
    return f"{name}, {duration(slices.dur[index])}"


def name_in_words(called: Called | Frame | FramePair) -> str:
    """Return the name of a slice or frame to show: "Step N", "thread N", a category's words, else the name itself."""
    if called.kind == "step":
        return f"Step {called.name}"
    if called.kind == "thread":
        return f"thread {called.name}"
    return kind_in_words(called.kind) if called.name == called.kind else called.name


def kind_in_words(kind: str) -> str:
    """Return the kind of a slice or frame in words; those in which a GPU is idle begin with "idle"."""
    if categories.is_idle(kind):
        words = categories.in_words(kind)
        return words if words.startswith("idle") else f"idle: {words}"
    return _WORDS.get(kind) or categories.in_words(kind)
