"""A chart as a file of its own: PNG, for pages that take no SVG, and SVG. The same figure gives the same bytes."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from traceq.reports.charts.palette import PAGE
from traceq.reports.charts.sheet import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 144


def png(figure: Figure) -> bytes:
    """The figure at 144 dpi on white."""
    return _saved(figure, format="png", dpi=_DPI, metadata={"Software": None})


def svg_file(figure: Figure) -> bytes:
    """The figure as a file, unlike charts.svg, which is a part of a page."""
    return _saved(figure, format="svg", metadata={"Date": None, "Creator": None})


def _saved(figure: Figure, **how: Any) -> bytes:
    import matplotlib as mpl

    file = BytesIO()
    with style(), mpl.rc_context({"svg.hashsalt": "traceq", "svg.fonttype": "path"}):
        figure.savefig(file, facecolor=PAGE[0], **how)
    return file.getvalue()
