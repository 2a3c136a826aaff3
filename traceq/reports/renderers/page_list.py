"""A page that lists other pages, for `traceq open --watch`: it has no script, and loads itself again every other second."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traceq.common.version import __version__
from traceq.reports.charts import palette
from traceq.reports.renderers.html.blocks import read_source, template_environment


class ListedTrace(msgspec.Struct, frozen=True):
    """A trace of the list: its path, and its verdict in a line, or what is wrong with it; `link` is its page, None for none."""

    path: str
    words: str
    link: str | None


def render_page_list(folder: str, traces: Sequence[ListedTrace]) -> str:
    """Return the text of the HTML page that lists the traces of a folder, in the order given."""
    template = template_environment().get_template("page_list.html")
    style = read_source("style.css") + palette.write_stylesheet()
    return template.render(folder=folder, traces=traces, style=style, version=__version__)
