"""The parts of a chart: panels, in which bars, areas, lines, dots and notes lie at places of their axes.

Charts are made of these, and traceq.reports.charts draws them as SVG or as figures. Lengths are points; a drawing is WIDTH wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log, log10
from typing import Literal, NamedTuple

from traceq.common.text import printable, shortened, width
from traceq.common.units import SIZE_UNITS, TIME_UNITS, choose_unit

WIDTH = 520.0
FONT = 11
# In DejaVu Sans, which is wide, a character is on average at most this part of the size of the font.
_CHARACTER = 0.6
EDGE = 6.0
APART = 8.0
SWATCH = 10.0
ROW = 26.0

_LINE = 17.0
_TITLE_LINE = 24.0
_TICK_LINE = 20.0
_NAME_LIMIT = 28
_MOST_STEPS = 4
_WIDE = 1_000

Anchor = Literal["start", "middle", "end"]
Place = tuple[float, float]


class Rect(NamedTuple):
    """A rectangle in the colour of its kind, from (x, y) on, along the axes."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    opacity: float = 1.0


class Area(NamedTuple):
    """A staircase of `tops` between `edges` (one more) in the colour of its kind, filled down to 0."""

    kind: str
    edges: Sequence[float]
    tops: Sequence[float]


class Stroke(NamedTuple):
    """Lines along `paths`, in the colour of the text where they have no kind."""

    paths: Sequence[Sequence[Place]]
    kind: str | None = None
    width: float = 1.2
    dashes: str = ""


class Dot(NamedTuple):
    """A disc, or a dash as wide as that, in the colour of its kind; the radius in points."""

    kind: str
    x: float
    y: float
    radius: float = 3.5
    is_dash: bool = False


class Text(NamedTuple):
    """A text beside (x, y), or where it `is_above` on it: `right` and `up` in points from there."""

    text: str
    x: float
    y: float
    right: float = 0.0
    up: float = 0.0
    anchor: Anchor = "start"
    is_above: bool = False


Shape = Rect | Area | Stroke | Dot | Text


class Tick(NamedTuple):
    """A value of an axis and what stands there."""

    value: float
    text: str


@dataclass(frozen=True)
class Axis:
    """From `low`, which is left or below, to `high`; a linear scale unless it `is_log`."""

    low: float
    high: float
    ticks: Sequence[Tick] = ()
    is_log: bool = False
    has_grid: bool = False
    label: str = ""

    def locate(self, value: float) -> float:
        """Return how far along the axis `value` is: 0 at `low`, 1 at `high`."""
        if self.is_log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def middle(self) -> float:
        """The value in the middle of the axis."""
        return (self.low * self.high) ** 0.5 if self.is_log else (self.low + self.high) / 2


@dataclass(frozen=True)
class Panel:
    """Shapes on a pair of axes: `left` and `right` are its distances from the edges, `top` from the upper one."""

    shapes: Sequence[Shape]
    x: Axis
    y: Axis
    height: float = 155.0
    left: float = 43.0
    right: float = 11.0
    top: float = _TITLE_LINE

    @property
    def width(self) -> float:
        """The length of the x axis."""
        return WIDTH - self.left - self.right

    @property
    def bottom(self) -> float:
        """The lower end of the panel, labels below its x axis included."""
        return self.top + self.height + (_TICK_LINE if self.x.ticks else EDGE) + (_LINE if self.x.label else 0)

    def locate(self, x: float, y: float) -> Place:
        """Return where the values `x` and `y` lie in the drawing, from its upper left corner."""
        return self.left + self.x.locate(x) * self.width, self.top + (1 - self.y.locate(y)) * self.height

    def choose_anchor(self, tick: Tick) -> Anchor:
        """Return how the text of a tick of the x axis lies at its place, so that it does not leave the drawing."""
        at, half = self.left + self.x.locate(tick.value) * self.width, estimate_width(tick.text) / 2
        return "start" if at - half < 0 else "end" if at + half > WIDTH else "middle"


@dataclass(frozen=True)
class Drawing:
    """A chart: what it shows at its upper edge, panels, and below them what colours mean, as (kind, label)."""

    title: str
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str]] = ()

    @property
    def bottom(self) -> float:
        """The lower end of the panels, where the legend begins."""
        return max(panel.bottom for panel in self.panels)

    @property
    def height(self) -> float:
        """The whole height, legend included."""
        return max([self.bottom, *(y + _LINE / 2 for _, _, (_, y) in self.legend_places())])

    def legend_places(self) -> list[tuple[str, str, Place]]:
        """Return kind and label of each entry of the legend, and the left middle of its swatch."""
        room = WIDTH - 2 * EDGE
        widest = max([estimate_width(label) for _, label in self.legend] or [0.0]) + 2.5 * SWATCH
        columns = max(1, min(len(self.legend), int(room / widest)))
        return [
            (kind, label, (EDGE + number % columns * room / columns, self.bottom + (number // columns + 0.5) * _LINE))
            for number, (kind, label) in enumerate(self.legend)
        ]


class AxisUnit(NamedTuple):
    """The unit of the numbers along an axis, in ns or bytes."""

    name: str
    size: int


def choose_time_unit(highest: float) -> AxisUnit:
    """Choose the unit for times up to `highest` ns."""
    return AxisUnit(*choose_unit(highest, TIME_UNITS))


def choose_size_unit(highest: float) -> AxisUnit:
    """Choose the unit for sizes up to `highest` bytes."""
    return AxisUnit(*choose_unit(highest, SIZE_UNITS))


def make_axis(low: float, high: float, *, has_grid: bool = False, whole: bool = False, label: str = "") -> Axis:
    """Make a linear axis with up to five round numbers, `whole` ones on demand."""
    rough = ((high - low) or 1) / _MOST_STEPS
    power = 10.0 ** floor(log10(rough))
    sizes = [size * power for size in (1, 2, 2.5, 5, 10)]
    size = next(size for size in sizes if size >= rough * (1 - 1e-9) and (not whole or size == round(size) >= 1))
    numbers = range(ceil(low / size - 1e-9), floor(high / size + 1e-9) + 1)
    return Axis(low, high, [Tick(n * size, f"{n * size:,.10g}") for n in numbers], has_grid=has_grid, label=label)


def make_log_axis(low: float, high: float, label: str = "") -> Axis:
    """Make a logarithmic axis with up to five powers of ten, on a short one three times those too."""
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
) -> Panel:
    """Make a panel of rows, each `row` high, the first on top, every `every`-th with its name; row n has its middle at n."""
    ticks = [Tick(number, name) for number, name in enumerate(names)][::every]
    room = estimate_room(names) if left is None else left
    return Panel(shapes, x, Axis(len(names) - 0.5, -0.5, ticks), len(names) * row, room, right)


def make_row_bars(row: float, start: float, parts: Iterable[tuple[str, float]], text: str = "") -> list[Shape]:
    """Make the bars of a row, parts as (kind, length) behind each other from `start` on, and `text` behind them."""
    shapes: list[Shape] = []
    for kind, length in parts:
        if length:
            shapes.append(Rect(kind, start, row - 0.36, length, 0.72))
        start += length
    return [*shapes, Text(text, start, row, APART)] if text else shapes


def estimate_width(text: str) -> float:
    """Return about how wide `text` is drawn, rather too much than too little."""
    return width(text) * FONT * _CHARACTER


def estimate_room(texts: Sequence[str]) -> float:
    """Return the room that the longest of the labels needs, with what keeps it apart."""
    return max(map(estimate_width, texts)) + 2 * APART


def shorten_label(text: str) -> str:
    """Make text from a trace fit for a label."""
    return shortened(printable(text), _NAME_LIMIT)
