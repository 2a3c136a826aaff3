"""The blocks of the document as HTML, by the macros of blocks.html; the only place where text becomes HTML."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from traceq.analysis.categories import label
from traceq.common.text import printable, shortened
from traceq.common.units import duration, share
from traceq.reports.charts.palette import css_variable
from traceq.reports.charts.svg import draw_svg
from traceq.reports.document import Block
from traceq.reports.drawing import NARROW
from traceq.reports.renderers.html.flames import (
    describe_colours,
    difference_legend,
    flame_data,
    flame_legend,
    hottest_frames,
    tabulate_changes,
)
from traceq.reports.renderers.html.tracks import TimelinePicture


def read_source(name: str) -> str:
    """Return the text of the file `name` ("page.html") of this folder."""
    return files("traceq.reports.renderers.html").joinpath(name).read_text("utf-8")


@cache
def template_environment() -> Environment:
    """Return the Jinja environment for the templates of this folder, with escaping on; it is built once."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(read_source))
    environment.filters |= {"text": printable, "shortened": shortened, "category_label": label}
    of_flames = (tabulate_changes, describe_colours, difference_legend, flame_data, flame_legend, hottest_frames)
    used = (css_variable, draw_svg, duration, *of_flames, render_block, share)
    environment.globals |= {helper.__name__: helper for helper in used}
    environment.globals |= {
        "narrow": NARROW,
        "TimelinePicture": TimelinePicture,
        "kind_of": lambda value: type(value).__name__,
    }
    return environment


def render_block(block: Block, anchors: str) -> Markup:
    """Return `block` as HTML, by the template's macro of its class; `anchors` is the prefix of its trace's anchors."""
    macro = getattr(template_environment().get_template("blocks.html").module, type(block).__name__)
    return Markup(macro(block, anchors))  # noqa: S704 - the template escapes
