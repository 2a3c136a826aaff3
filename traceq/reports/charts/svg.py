"""A chart as SVG: an element of a page in the page's colours, or a file of its own on white. Same drawing, same text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from traceq.common.text import printable
from traceq.reports import drawing
from traceq.reports.charts.palette import COLOURS, PAGE, css_variable
from traceq.reports.drawing import APART, EDGE, FONT, SWATCH, Anchor, Drawing, Panel, Place, Shape

_HALF_LETTER = 0.35 * FONT  # from the middle of a line of text to its baseline
_LEAST = 0.6  # what is less wide would not be seen
_PAGE_COLOUR = "var(--c-page)"


def draw_svg(chart: Drawing, name: str, alt: str = "") -> str:
    """Return the chart as text of an <svg> element that scales with the page; screen readers read `alt`.

    Its id is `name`. Without `alt` that is the id of another picture of the same, whose words are read.

    Its colours are the CSS variables of palette.write_stylesheet(). It fits a page with a strict Content-Security-
    Policy: no style, no script, no reference, no other id.
    """
    shown = escape(printable(name))
    words = f'id="{shown}" role="img" aria-label="{escape(printable(alt))}"'
    attributes = words if alt else f'role="img" aria-labelledby="{shown}"'
    return f'<svg {attributes} fill="currentColor" {_view_box(chart)}>{"".join(_draw_elements(chart))}</svg>'


def draw_svg_file(chart: Drawing) -> bytes:
    """Return the bytes of an SVG file that stands alone, black on white, in the colours of a light page."""
    text = "".join(_draw_elements(chart)).replace(_PAGE_COLOUR, PAGE[0])
    for kind, (light, _) in COLOURS.items():
        text = text.replace(f'"var({css_variable(kind)})"', f'"{light}"')
    size = f'width="{_tenths(chart.width)}" height="{_tenths(chart.height)}" font-family="DejaVu Sans, sans-serif"'
    looks = f'{_view_box(chart)} {size} color="#000000" fill="currentColor"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {looks}>'
    page = f'<rect width="100%" height="100%" fill="{PAGE[0]}"/>'
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}{page}{text}</svg>\n'.encode()


def _view_box(chart: Drawing) -> str:
    """Return the SVG attributes of the drawing's size and font size."""
    high = _tenths(chart.height - chart.upper_edge)
    return f'viewBox="0 {_tenths(chart.upper_edge)} {_tenths(chart.width)} {high}" font-size="{FONT}"'


def _draw_elements(chart: Drawing) -> Iterator[str]:
    """Yield the SVG elements of the drawing, as text: title, panels with grid, shapes and labels, then the legend."""
    if chart.title:
        yield _draw_text(chart.title, EDGE, EDGE + 2 * _HALF_LETTER)
    for panel in chart.panels:
        yield from _draw_grid(panel)
        yield from (_draw_shape(panel, mark) for mark in panel.shapes)
        yield from _draw_labels(panel)
    for kind, label, (x, y) in chart.legend_places():
        yield _draw_rect(f"var({css_variable(kind)})", x, y - SWATCH / 2, SWATCH, SWATCH)
        yield _draw_text(label, x + 1.5 * SWATCH, y + _HALF_LETTER)


def _draw_grid(panel: Panel) -> Iterator[str]:
    """Yield one SVG path of the grid lines at the panel's ticks; nothing if neither axis has a grid."""
    paths = [[(tick.value, end) for end in (panel.y.low, panel.y.high)] for tick in panel.x.ticks if panel.x.has_grid]
    paths += [[(end, tick.value) for end in (panel.x.low, panel.x.high)] for tick in panel.y.ticks if panel.y.has_grid]
    if paths:
        path = "".join(_join_path([panel.locate(*place) for place in path]) for path in paths)
        yield f'<path d="{path}" stroke="currentColor" stroke-width=".8" stroke-opacity=".2"/>'


def _draw_labels(panel: Panel) -> Iterator[str]:
    """Yield the SVG of the panel's tick texts, of a line at its lower edge if the x axis has ticks, and of its labels."""
    bottom, right = panel.top + panel.height, panel.page_width - panel.right
    if panel.x.ticks:
        yield f'<path d="{_join_path([(panel.left, bottom), (right, bottom)])}" stroke="currentColor" stroke-width=".8"/>'
    for tick in panel.x.ticks:
        yield _draw_text(
            tick.text, panel.locate(tick.value, panel.y.low)[0], bottom + FONT + 3, panel.choose_anchor(tick)
        )
    for tick in panel.y.ticks:
        yield _draw_text(tick.text, panel.left - 4, panel.locate(panel.x.low, tick.value)[1] + _HALF_LETTER, "end")
    if panel.y.label:
        yield _draw_text(panel.y.label, EDGE, panel.top - APART)
    if panel.x.label:
        yield _draw_text(panel.x.label, (panel.left + right) / 2, panel.bottom - 4, "middle")


def _draw_shape(panel: Panel, mark: Shape) -> str:
    """Return the SVG element of a shape, placed by the panel's axes."""
    match mark:
        case drawing.Text():
            x, y = panel.locate(mark.x, mark.y)
            return _draw_text(
                mark.text, x + mark.right, y - mark.up + (0 if mark.is_above else _HALF_LETTER), mark.anchor
            )
        case drawing.Stroke():
            path = "".join(_join_path([panel.locate(*place) for place in path]) for path in mark.paths)
            ink = "currentColor" if mark.kind is None else f"var({css_variable(mark.kind)})"
            dashes = f' stroke-dasharray="{mark.dashes}"' if mark.dashes else ""
            return f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="{_tenths(mark.width)}"{dashes}/>'
        case drawing.Area():
            ends = zip(mark.tops, pairwise(mark.edges), strict=True)
            corners = [(edge, top) for top, edges in ends for edge in edges]
            path = _join_path([panel.locate(*corner) for corner in [(mark.edges[0], 0), *corners, (mark.edges[-1], 0)]])
            return (
                f'<path d="{path}Z" fill="var({css_variable(mark.kind)})" stroke="{_PAGE_COLOUR}" stroke-width=".5"/>'
            )
        case drawing.Rect():
            (x, y), (to_x, to_y) = panel.locate(mark.x, mark.y), panel.locate(mark.x + mark.width, mark.y + mark.height)
            more = "" if mark.opacity == 1 else f' fill-opacity="{_tenths(mark.opacity)}"'
            # What is between two bars is of the page.
            wide = max(to_x - x - 0.4, _LEAST)
            return _draw_rect(f"var({css_variable(mark.kind)})", x, min(y, to_y), wide, abs(to_y - y), more)
        case drawing.Dot():
            x, y = panel.locate(mark.x, mark.y)
            ink, radius = f"var({css_variable(mark.kind)})", _tenths(mark.radius)
            if mark.is_dash:
                return f'<path d="{_join_path([(x - mark.radius, y), (x + mark.radius, y)])}" stroke="{ink}" stroke-width="2"/>'
            return f'<circle cx="{_tenths(x)}" cy="{_tenths(y)}" r="{radius}" fill="{ink}" stroke="{_PAGE_COLOUR}"/>'


def _draw_rect(ink: str, x: float, y: float, width: float, height: float, more: str = "") -> str:
    """Return an SVG <rect>; `ink` is its fill, `more` further attributes."""
    place = f'x="{_tenths(x)}" y="{_tenths(y)}" width="{_tenths(width)}" height="{_tenths(height)}"'
    return f'<rect {place} fill="{ink}"{more}/>'


def _draw_text(text: str, x: float, y: float, anchor: Anchor = "start") -> str:
    """Return an SVG <text> element at the point, anchored at its start, middle or end."""
    where = f'x="{_tenths(x)}" y="{_tenths(y)}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
    return f"<text {where}>{escape(printable(text))}</text>"


def _join_path(places: Sequence[Place]) -> str:
    """Return the SVG path data of a line through `places`; parts along one axis are written as H or V."""
    (x, y), *others = [(_tenths(x), _tenths(y)) for x, y in _drop_middles(places)]
    steps = [f"M{x} {y}"]
    for to_x, to_y in others:
        steps.append(f"V{to_y}" if to_x == x else f"H{to_x}" if to_y == y else f"L{to_x} {to_y}")
        x, y = to_x, to_y
    return "".join(steps)


def _drop_middles(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the places without those in the middle of a horizontal line."""
    for number, place in enumerate(places):
        around = places[number - 1 : number + 2]
        if number == 0 or len({y for _, y in around}) > 1 or number == len(places) - 1:
            yield place


def _tenths(value: float) -> str:
    """Return the number as text, rounded to one decimal."""
    return f"{round(value, 1) + 0:g}"
