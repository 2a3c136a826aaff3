"""The parts of a chart: panels, in which bars, areas, lines, dots and notes lie at places of their axes.

Charts are made of these, and traceq.reports.charts draws them as SVG or as figures. Lengths are points; a drawing is WIDTH wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log, log10
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from traceq.common.text import printable, shortened, width
from traceq.common.units import SIZE_UNITS, TIME_UNITS, choose_unit

WIDTH = 520.0
# On a phone, where a wide drawing would be shrunk until nobody could read it.
NARROW = 340.0
FONT = 11
# In DejaVu Sans, which is wide, a character is on average at most this part of the size of the font.
_CHARACTER = 0.6
EDGE = 6.0
APART = 8.0
SWATCH = 10.0
ROW = 26.0
TITLE_LINE = 24.0

_LINE = 17.0
_TICK_LINE = 20.0
# Where a panel begins that has the label of its y axis between the title and itself.
LABELLED_TOP = TITLE_LINE + 16.0
_LEAST_PANEL = 110.0
_NAME_LIMIT = 28
_MOST_STEPS = 4
_WIDE = 1_000

Anchor = Literal["start", "middle", "end"]
Place = tuple[float, float]


class Rect(NamedTuple):
    """A rectangle in the colour of its kind; (x, y) is its corner with the lowest values, all sizes in values of the axes."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    opacity: float = 1.0


class Area(NamedTuple):
    """A filled staircase, from `tops` down to 0, in the colour of its kind; `edges` has one more value than `tops`."""

    kind: str
    edges: Sequence[float]
    tops: Sequence[float]


class Stroke(NamedTuple):
    """Lines along `paths`, in the colour of the text if `kind` is None; `dashes` is as in SVG."""

    paths: Sequence[Sequence[Place]]
    kind: str | None = None
    width: float = 1.2
    dashes: str = ""


class Dot(NamedTuple):
    """A disc of a radius in points, or a dash as wide as the disc, in the colour of its kind."""

    kind: str
    x: float
    y: float
    radius: float = 3.5
    is_dash: bool = False


class Text(NamedTuple):
    """A text beside the place (x, y), or above if `is_above`, moved by `right` and `up`, in points."""

    text: str
    x: float
    y: float
    right: float = 0.0
    up: float = 0.0
    anchor: Anchor = "start"
    is_above: bool = False


Shape = Rect | Area | Stroke | Dot | Text


class Tick(NamedTuple):
    """A value of an axis and its label."""

    value: float
    text: str


class Axis(msgspec.Struct, frozen=True):
    """An axis from `low` (left or bottom) to `high`, linear unless `is_log`."""

    low: float
    high: float
    ticks: Sequence[Tick] = ()
    is_log: bool = False
    has_grid: bool = False
    label: str = ""

    def locate(self, value: float) -> float:
        """Return the place of `value` along the axis, from 0 at `low` to 1 at `high`."""
        if self.is_log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def middle(self) -> float:
        """The value in the middle of the axis."""
        return (self.low * self.high) ** 0.5 if self.is_log else (self.low + self.high) / 2


class Panel(msgspec.Struct, frozen=True):
    """Shapes on a pair of axes; `left`, `right` and `top` are distances from the edges of the drawing, points.

    The drawing is `page_width` wide. With a label of the y axis, which stands above it, `top` is LABELLED_TOP or more.
    """

    shapes: Sequence[Shape]
    x: Axis
    y: Axis
    height: float = 155.0
    left: float = 43.0
    right: float = 11.0
    top: float = TITLE_LINE
    page_width: float = WIDTH

    @property
    def width(self) -> float:
        """The length of the x axis, points."""
        return self.page_width - self.left - self.right

    @property
    def bottom(self) -> float:
        """The lower end of the panel with the labels of the x axis, points from the top."""
        return self.top + self.height + (_TICK_LINE if self.x.ticks else EDGE) + (_LINE if self.x.label else 0)

    def locate(self, x: float, y: float) -> Place:
        """Return the place of the values `x` and `y`, in points from the drawing's upper left corner."""
        return self.left + self.x.locate(x) * self.width, self.top + (1 - self.y.locate(y)) * self.height

    def choose_anchor(self, tick: Tick) -> Anchor:
        """Return whether the text of an x tick starts, ends or is centred there, so that it stays in the drawing."""
        at, half = self.left + self.x.locate(tick.value) * self.width, estimate_width(tick.text) / 2
        return "start" if at - half < 0 else "end" if at + half > self.page_width else "middle"


class Drawing(msgspec.Struct, frozen=True):
    """A chart: its title, its panels, and its legend as (kind, label)."""

    title: str
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str]] = ()
    width: float = WIDTH

    def without_frame(self, width: float = WIDTH) -> Drawing:
        """Return the drawing without title and legend, `width` points wide, or wider where its panels have too little room."""
        least = max(panel.left + panel.right for panel in self.panels) + _LEAST_PANEL
        wide = min(max(width, least), self.width)
        return Drawing("", [replace(panel, page_width=wide) for panel in self.panels], width=wide)

    @property
    def upper_edge(self) -> float:
        """The y coordinate at which the picture begins, points: 0, or below the line of a missing title."""
        return 0.0 if self.title else TITLE_LINE - 8

    @property
    def bottom(self) -> float:
        """The lower end of the panels, where the legend begins, points."""
        return max(panel.bottom for panel in self.panels)

    @property
    def height(self) -> float:
        """The height of the drawing with its legend, points."""
        return max([self.bottom, *(y + _LINE / 2 for _, _, (_, y) in self.legend_places())])

    def legend_places(self) -> list[tuple[str, str, Place]]:
        """Return (kind, label, place) of each legend entry; the place is the left middle of its swatch, in points."""
        room = self.width - 2 * EDGE
        widest = max([estimate_width(label) for _, label in self.legend] or [0.0]) + 2.5 * SWATCH
        columns = max(1, min(len(self.legend), int(room / widest)))
        return [
            (kind, label, (EDGE + number % columns * room / columns, self.bottom + (number // columns + 0.5) * _LINE))
            for number, (kind, label) in enumerate(self.legend)
        ]


class AxisUnit(NamedTuple):
    """A unit for the numbers along an axis: its name, and its size in ns or bytes."""

    name: str
    size: int


def choose_time_unit(highest: float) -> AxisUnit:
    """Choose the unit for times up to `highest` ns."""
    return AxisUnit(*choose_unit(highest, TIME_UNITS))


def choose_size_unit(highest: float) -> AxisUnit:
    """Choose the unit for sizes up to `highest` bytes."""
    return AxisUnit(*choose_unit(highest, SIZE_UNITS))


def make_axis(low: float, high: float, *, has_grid: bool = False, whole: bool = False, label: str = "") -> Axis:
    """Make a linear axis with ticks at about five round numbers, at integers only if `whole`."""
    rough = ((high - low) or 1) / _MOST_STEPS
    power = 10.0 ** floor(log10(rough))
    sizes = [size * power for size in (1, 2, 2.5, 5, 10)]
    size = next(size for size in sizes if size >= rough * (1 - 1e-9) and (not whole or size == round(size) >= 1))
    numbers = range(ceil(low / size - 1e-9), floor(high / size + 1e-9) + 1)
    return Axis(low, high, [Tick(n * size, f"{n * size:,.10g}") for n in numbers], has_grid=has_grid, label=label)


def make_log_axis(low: float, high: float, label: str = "") -> Axis:
    """Make a logarithmic axis with ticks at about five powers of ten; a short axis has ticks at their triples too."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1.0,) if high / low > _WIDE else (1.0, 3.0)
    values = [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
    every = -(-len(values) // (_MOST_STEPS + 1)) or 1
    ticks = [Tick(value, f"{value:,.10g}") for value in values[::every]]
    return Axis(low, high, ticks, is_log=True, has_grid=True, label=label)


def make_rows_panel(
    names: Sequence[str],
    shapes: Sequence[Shape],
    x: Axis,
    *,
    row: float = ROW,
    every: int = 1,
    left: float | None = None,
    right: float = 11.0,
    top: float = TITLE_LINE,
) -> Panel:
    """Make a panel of rows from the top down; the middle of row n has the value n on the y axis.

    `row` is the height of a row; every `every`-th has its name. `left`, `right` and `top` are the margins, points.
    """
    ticks = [Tick(number, name) for number, name in enumerate(names)][::every]
    room = estimate_room(names) if left is None else left
    return Panel(shapes, x, Axis(len(names) - 0.5, -0.5, ticks), len(names) * row, room, right, top)


def make_row_bars(row: float, start: float, parts: Iterable[tuple[str, float]], text: str = "") -> list[Shape]:
    """Make the bars of a row, one behind the other from `start` on, and `text` behind them.

    `parts` has (kind, length).
    """
    shapes: list[Shape] = []
    for kind, length in parts:
        if length:
            shapes.append(Rect(kind, start, row - 0.36, length, 0.72))
        start += length
    return [*shapes, Text(text, start, row, APART)] if text else shapes


def estimate_width(text: str) -> float:
    """Return the estimated width of `text` in points, rather too large than too small."""
    return width(text) * FONT * _CHARACTER


def estimate_room(texts: Sequence[str]) -> float:
    """Return the width in points that a column of these labels needs, with its margins."""
    return max(map(estimate_width, texts)) + 2 * APART


def shorten_label(text: str) -> str:
    """Return text from a trace, made printable and cut to the length of a label."""
    return shortened(printable(text), _NAME_LIMIT)
