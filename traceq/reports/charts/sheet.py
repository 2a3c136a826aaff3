"""What every chart is drawn on: one style, whatever the user's own is, sizes, units and legends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from traceq.common.text import printable, shortened, width
from traceq.reports.charts.matplotlib_files import import_matplotlib
from traceq.reports.charts.palette import INK, PAGE, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

T = TypeVar("T")

# Inches.
WIDTH = 7.2
_HEIGHT = 2.8
_EDGE = 0.08
_LINE = 0.24
_SWATCH = 0.14

# Points. In DejaVu Sans, which is wide, a character is about so many em wide.
FONT = 11
_EM = 0.6
_NAME_LIMIT = 28

_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": FONT,
    "text.parse_math": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "grid.color", "xtick.color", "ytick.color"), INK
    ),
    "figure.dpi": 100,
    "figure.facecolor": PAGE[0],
    "axes.facecolor": "none",
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "axes.spines.left"), False),
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "grid.alpha": 0.2,
    "grid.linewidth": 0.8,
    "xtick.labelsize": FONT,
    "ytick.labelsize": FONT,
    **dict.fromkeys(("xtick.major.size", "ytick.major.size", "xtick.minor.size", "ytick.minor.size"), 0),
    "path.simplify": False,
}

_TICKS = 4
_TIMES = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1))
_SIZES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


class Unit(NamedTuple):
    """What numbers of an axis are multiples of."""

    name: str
    size: int


@contextmanager
def style() -> Iterator[None]:
    """The library's own defaults and ours, whatever the user has set, but for how figures are shown; put back at the end."""
    import_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


def styled(draw: Callable[[T], Figure]) -> Callable[[T], Figure]:
    """`draw` within our style."""

    @wraps(draw)
    def chart(report: T) -> Figure:
        with style():
            return draw(report)

    return chart


def sheet(
    *,
    height: float = _HEIGHT,
    left: float = 0.6,
    right: float = 0.15,
    top: float = 0.32,
    bottom: float = 0.32,
    legend: Sequence[tuple[str, str]] = (),
) -> tuple[Figure, Axes]:
    """A figure with one pair of axes; all in inches. Entries of the legend, (kind, label), go below and add height."""
    from matplotlib.figure import Figure

    columns = _columns(legend)
    lines = -(-len(legend) // columns)
    whole = height + lines * _LINE
    figure = Figure(figsize=(WIDTH, whole))
    axes = figure.add_axes(
        (
            left / WIDTH,
            (bottom + lines * _LINE) / whole,
            (WIDTH - left - right) / WIDTH,
            (height - top - bottom) / whole,
        )
    )
    for number, (kind, label) in enumerate(legend):
        line, column = divmod(number, columns)
        at = (_EDGE + column * (WIDTH - 2 * _EDGE) / columns, (lines - line - 0.5) * _LINE)
        _entry(figure, kind, label, at)
    return figure, axes


def _columns(legend: Sequence[tuple[str, str]]) -> int:
    widest = max((inches(label) for _, label in legend), default=0) + 2.5 * _SWATCH
    return max(1, min(len(legend), int((WIDTH - 2 * _EDGE) / widest)))


def _entry(figure: Figure, kind: str, label: str, at: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    wide, high = figure.get_size_inches()
    x, y = at
    corner = (x / wide, (y - _SWATCH / 2) / high)
    swatch = Rectangle(corner, _SWATCH / wide, _SWATCH / high, transform=figure.transFigure, facecolor=colour(kind))
    figure.add_artist(swatch)
    figure.text((x + 1.5 * _SWATCH) / wide, y / high, label, va="center_baseline")


def caption(figure: Figure, text: str) -> None:
    """What the axes show, at the upper edge: words along an axis are hard to read."""
    high = float(figure.get_size_inches()[1])
    figure.text(_EDGE / WIDTH, 1 - 0.2 / high, text)


def unit_of_time(highest: float) -> Unit:
    """For times up to `highest` ns."""
    return Unit(*next((unit for unit in _TIMES if highest >= unit[1]), _TIMES[-1]))


def unit_of_size(highest: float) -> Unit:
    """For sizes up to `highest` bytes."""
    return Unit(*next((unit for unit in _SIZES if highest >= unit[1]), _SIZES[-1]))


def few_ticks(axis: Axis, *, whole: bool = False) -> None:
    """At most five plain numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10], integer=whole))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def bar(axes: Axes, row: int, start: float, length: float, kind: str) -> None:
    """Draw a horizontal bar in the colour of its kind."""
    axes.barh(row, length, 0.72, start, color=colour(kind), edgecolor=PAGE[0], linewidth=0.8, label=kind)


def note(axes: Axes, text: str, at: tuple[float, float], away: tuple[float, float], **how: Any) -> None:
    """Write text so many points away from a place, one of the data unless `how`, which annotate gets, has xycoords."""
    axes.annotate(text, at, away, textcoords="offset points", **how)


def inches(text: str) -> float:
    """About how wide `text` is drawn; no less."""
    return width(text) * FONT * _EM / 72


def named(text: str) -> str:
    """Text from a trace, fit for a label."""
    return shortened(printable(text), _NAME_LIMIT)
