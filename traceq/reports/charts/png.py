"""A chart as a PNG file, for pages that take no SVG."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from traceq.reports.charts.palette import PAGE
from traceq.reports.charts.sheet import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 144


def png(figure: Figure) -> bytes:
    """The figure at 144 dpi on white. The same figure gives the same bytes."""
    file = BytesIO()
    with style():
        figure.savefig(file, format="png", dpi=_DPI, facecolor=PAGE[0], metadata={"Software": None})
    return file.getvalue()
