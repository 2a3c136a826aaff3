"""A chart as an SVG element for a page: bare of styles, scripts and references, coloured by the page's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.reports.charts.sheet import FONT, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def svg(figure: Figure, name: str, alt: str) -> str:
    """The figure as an element <svg> that scales with the page; screen readers get `alt` in its place.

    It is coloured by the variables of palette.stylesheet(), and fit for a page with a strict Content-Security-Policy: no
    style, no script, no reference, no id but `name`. The same figure gives the same text.
    """
    from traceq.reports.charts.svg_renderer import SvgRenderer, attribute, number

    wide, high = (round(inches * figure.dpi) for inches in figure.get_size_inches())
    renderer = SvgRenderer(high, figure.dpi, FONT)
    was_visible = figure.patch.get_visible()
    figure.patch.set_visible(False)  # the page shows through
    try:
        with style():
            figure.draw(renderer)
    finally:
        figure.patch.set_visible(was_visible)
    return (
        f'<svg id="{attribute(name)}" viewBox="0 0 {wide} {high}" role="img" aria-label="{attribute(alt)}"'
        f' font-size="{number(renderer.points_to_pixels(FONT))}" fill="currentColor">{"".join(renderer.elements)}</svg>'
    )
