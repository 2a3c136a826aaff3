"""A chart as an SVG element for a page: matplotlib's own, bare of styles, scripts and references, in the page's colours."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from traceq.common.text import printable
from traceq.reports.charts.palette import in_css
from traceq.reports.charts.sheet import FONT, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_REFERENCE = "{http://www.w3.org/1999/xlink}href"
_KEPT = (
    "d",
    "fill",
    "fill-opacity",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
)
_LONG_NUMBER = re.compile(r"-?\d+\.\d+")


def svg(figure: Figure, name: str, alt: str) -> str:
    """The figure as an element <svg> that scales with the page; screen readers get `alt` in its place.

    It is coloured by the variables of palette.stylesheet(), and fit for a page with a strict Content-Security-Policy: no
    style, no script, no reference, no id but `name`. Nothing is clipped. The same figure gives the same text.
    """
    import matplotlib as mpl

    file = StringIO()
    with style(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "traceq"}):
        figure.savefig(file, format="svg", transparent=True)
    drawn = ET.fromstring(file.getvalue())  # noqa: S314 - matplotlib wrote it
    shapes = {each.get("id"): each.get("d", "") for each in drawn.iter(f"{_SVG}path")}
    box = {"viewBox": drawn.get("viewBox", ""), "font-size": str(FONT), "fill": "currentColor"}
    root = ET.Element("svg", {"id": printable(name), "role": "img", "aria-label": printable(alt), **box})
    for each in drawn.iter():
        shape = shapes.get(each.get(_REFERENCE, "")[1:])
        if each.get("id") or (each.tag not in (f"{_SVG}path", f"{_SVG}text") and shape is None):
            continue
        rules = (rule.partition(": ") for rule in each.get("style", "").split("; "))
        given = {**each.attrib, **{key: value for key, _, value in rules}}
        kept = {key: in_css(given[key]) or _short(given[key]) for key in _KEPT if key in given}
        if each.tag == f"{_SVG}text":
            turned = {} if "rotate(-0 " in given["transform"] else {"transform": given["transform"]}
            kept |= {"x": _short(given["x"]), "y": _short(given["y"]), **turned}
            ET.SubElement(root, "text", kept).text = printable(each.text or "")
        elif kept.get("fill") != "none" or "stroke" in kept:
            at = (
                {}
                if shape is None
                else {"d": _short(shape), "transform": _short(f"translate({given['x']} {given['y']})")}
            )
            ET.SubElement(root, "path", {**kept, **at})
    return ET.tostring(root, encoding="unicode")


def _short(text: str) -> str:
    """The numbers of `text` with one decimal: a tenth of a point is exact enough."""
    return _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), " ".join(text.split()))
