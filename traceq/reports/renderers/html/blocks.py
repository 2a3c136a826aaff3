"""The blocks of the document as HTML, by the macros of blocks.html; the only place where text becomes HTML."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from traceq.common.text import printable, shortened
from traceq.common.units import duration, share
from traceq.reports.charts.palette import variable
from traceq.reports.charts.svg import svg
from traceq.reports.document import Block
from traceq.reports.renderers.html import flames
from traceq.reports.renderers.html.tracks import drawing


def source(name: str) -> str:
    """The text of a file of this folder."""
    return files("traceq.reports.renderers.html").joinpath(name).read_text("utf-8")


@cache
def environment() -> Environment:
    """What the templates of this folder are rendered in."""
    made = Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(source))
    made.filters |= {"text": printable, "shortened": shortened}
    made.globals |= {"markup": markup, "kind_of": lambda value: type(value).__name__, "share": share}
    made.globals |= {"duration": duration, "variable": variable, "svg": svg, "drawing": drawing}
    made.globals |= {"flame_data": flames.data, "flame_legend": flames.legend, "hottest": flames.table_of}
    return made


def markup(block: Block, anchors: str) -> Markup:
    """`block` as HTML; `anchors` stands before the anchors of its trace."""
    macro = getattr(environment().get_template("blocks.html").module, type(block).__name__)
    return Markup(macro(block, anchors))  # noqa: S704 - the template escapes
