"""A chart as a matplotlib figure, and as PNG. matplotlib, of the extra `plots`, is imported here only, without pyplot."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceq.common.extras import import_extra
from traceq.common.scratch import temporary_folder
from traceq.reports import drawing
from traceq.reports.charts.palette import PAGE, light_colour
from traceq.reports.drawing import APART, EDGE, FONT, SWATCH, WIDTH, Drawing, Panel, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#000000"
_POINTS = 72  # an inch
_DPI = 144
_ANCHORS: dict[str, Any] = {"start": "left", "middle": "center", "end": "right"}
_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": FONT,
    "text.parse_math": False,
    "figure.dpi": 100,
    "axes.facecolor": "none",
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "axes.spines.left", "axes.unicode_minus"), False),
    "axes.axisbelow": True,
    "grid.color": _INK,
    "grid.alpha": 0.2,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "axes.labelsize"), FONT),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size", "xtick.minor.size", "ytick.minor.size"), 0),
}
_SETTING = "MPLCONFIGDIR"
_AT_HOME = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}


def draw_figure(chart: Drawing) -> Figure:
    """Return the drawing as a matplotlib figure in traceq's style, whatever the user's style is; each panel has its axes.

    Raises MissingTool without matplotlib.
    """
    with _use_style():
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle

        high = chart.height
        figure = Figure(figsize=(WIDTH / _POINTS, high / _POINTS))
        figure.text(EDGE / WIDTH, 1 - (EDGE + 0.7 * FONT) / high, chart.title)
        for panel in chart.panels:
            axes = _add_axes(figure, panel, high)
            figure.text(EDGE / WIDTH, 1 - (panel.top - APART) / high, panel.y.label)
            for mark in panel.shapes:
                _add_shape(axes, mark)
        for kind, label, (x, y) in chart.legend_places():
            corner, size = (x / WIDTH, 1 - (y + SWATCH / 2) / high), (SWATCH / WIDTH, SWATCH / high)
            figure.add_artist(Rectangle(corner, *size, transform=figure.transFigure, facecolor=light_colour(kind)))
            figure.text((x + 1.5 * SWATCH) / WIDTH, 1 - y / high, label, va="center_baseline")
        return figure


def save_png(figure: Figure) -> bytes:
    """Return the figure as the bytes of a PNG file, 144 dpi on white; the same figure always gives the same bytes."""
    file = BytesIO()
    with _use_style():
        figure.savefig(file, facecolor=PAGE[0], format="png", dpi=_DPI, metadata={"Software": None})
    return file.getvalue()


def _add_axes(figure: Figure, panel: Panel, high: float) -> Axes:
    """Add the axes of a panel to the figure and return them, with its scales, limits, ticks, grid and label.

    `high` is the height of the whole drawing, points.
    """
    bottom = high - panel.top - panel.height
    axes = figure.add_axes((panel.left / WIDTH, bottom / high, panel.width / WIDTH, panel.height / high))
    axes.set(
        xscale="log" if panel.x.is_log else "linear",
        yscale="log" if panel.y.is_log else "linear",
        xlim=(panel.x.low, panel.x.high),
        ylim=(panel.y.low, panel.y.high),
        xlabel=panel.x.label,
    )
    for axis, drawn in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        axis.set_ticks([tick.value for tick in drawn.ticks], [tick.text for tick in drawn.ticks])
        axis.set_ticks([], minor=True)
        axis.grid(visible=drawn.has_grid)
    for text, tick in zip(axes.get_xticklabels(), panel.x.ticks, strict=True):
        text.set_horizontalalignment(_ANCHORS[panel.choose_anchor(tick)])
    axes.spines["bottom"].set_visible(bool(panel.x.ticks))
    return axes


def _add_shape(axes: Axes, mark: Shape) -> None:
    """Draw one shape (rectangle, area, line, dot or text) of a panel on its axes."""
    look: dict[str, Any] = {}
    if not isinstance(mark, drawing.Text):
        look = {"color": _INK if mark.kind is None else light_colour(mark.kind), "label": mark.kind}
    match mark:
        case drawing.Rect():
            look |= {"alpha": mark.opacity, "edgecolor": PAGE[0], "linewidth": 0.8}
            axes.barh(mark.y, mark.width, mark.height, mark.x, align="edge", **look)
        case drawing.Area():
            axes.stairs(mark.tops, mark.edges, fill=True, **look | {"edgecolor": PAGE[0], "linewidth": 0.5})
        case drawing.Stroke():
            look |= {"linestyle": (0, tuple(map(float, mark.dashes.split()))) if mark.dashes else "-"}
            for path in mark.paths:
                axes.plot(*zip(*path, strict=True), linewidth=mark.width, clip_on=False, **look)
        case drawing.Dot():
            look |= {"marker": "_", "linewidth": 2} if mark.is_dash else {"edgecolor": PAGE[0]}
            axes.scatter(mark.x, mark.y, (2 * mark.radius) ** 2, zorder=3, **look)
        case drawing.Text():
            look = {"ha": _ANCHORS[mark.anchor], "va": "baseline" if mark.is_above else "center_baseline"}
            away = (mark.right, mark.up)
            axes.annotate(mark.text, (mark.x, mark.y), away, textcoords="offset points", annotation_clip=False, **look)


@contextmanager
def _use_style() -> Iterator[None]:
    """Use matplotlib's default settings and traceq's style inside the context; the user's settings are restored at the end."""
    _import_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


@cache
def _import_matplotlib() -> None:
    """Import matplotlib; if the home folder cannot be written, its list of fonts goes to a temporary folder.

    By itself matplotlib would then warn in three lines, and make a folder that stays after a signal. Raises MissingTool.
    """
    with ExitStack() as stack:
        if _SETTING not in os.environ and sys.platform.startswith("linux") and not _is_at_home():
            os.environ[_SETTING] = str(stack.enter_context(temporary_folder()))
            stack.callback(os.environ.pop, _SETTING)
        for module in ("font_manager", "style"):
            import_extra(f"matplotlib.{module}", "plots", "figures and PNG files")


def _is_at_home() -> bool:
    """Return whether matplotlib's folders for settings and cache in the home folder can be written; makes them if missing."""
    try:
        for variable, name in _AT_HOME.items():
            place = Path(os.environ.get(variable) or Path.home() / name) / "matplotlib"
            place.mkdir(parents=True, exist_ok=True)
            if not os.access(place, os.W_OK | os.X_OK):
                return False
    except (OSError, RuntimeError):  # nobody has a home
        return False
    return True
