"""Reports: build.py fills a Report from a trace database, each renderer is a function from it to text.

To add a format: a module renderers/to_<format>.py, and its names in _FORMATS and SUFFIXES; other packages add theirs by the
entry point group traceq.renderers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from traceq.common.plugins import load_plugins
from traceq.errors import UnusablePlugin

if TYPE_CHECKING:
    from traceq.reports.model import Report


class Renderer(Protocol):
    """A report format that another package adds by an entry point of the group traceq.renderers: a module or an object."""

    NAME: str
    SUFFIX: str

    def render(self, report: Report) -> str:
        """Return the report as text."""


# Format to the module of renderers/, and the function in it, that makes it.
_FORMATS = {"text": "to_text", "md": "to_markdown", "html": "to_html", "json": "to_json"}
SUFFIXES = {".txt": "text", ".md": "md", ".html": "html", ".json": "json"}

# Formats that show a part of a report, and their suffixes.
_BRIEF = {"llm": "to_llm"}
_BRIEF_SUFFIXES = {".llm": "llm"}

# Formats that show timelines, which a report of scope "drawing" has.
DRAWN = frozenset(("html",))


def _render(renderer: str, report: Report) -> str:
    # Imported on use: the command line lists the formats without them.
    text: str = getattr(import_module(f"traceq.reports.renderers.{renderer}"), renderer)(report)
    return text


RENDERERS: Mapping[str, Callable[[Report], str]] = {
    name: partial(_render, renderer) for name, renderer in _FORMATS.items()
}


@cache
def all_renderers() -> Mapping[str, Callable[[Report], str]]:
    """Return the functions from Report to text by format, traceq's own first.

    Raises UnusablePlugin for a broken plugin.
    """
    brief = {name: partial(_render, renderer) for name, renderer in _BRIEF.items()}
    return {**RENDERERS, **brief, **{each.NAME: each.render for each in _find_foreign()}}


@cache
def all_suffixes() -> Mapping[str, str]:
    """Return the format's name by file suffix, traceq's own first. Raises UnusablePlugin for a broken plugin."""
    return {**SUFFIXES, **_BRIEF_SUFFIXES, **{each.SUFFIX: each.NAME for each in _find_foreign()}}


@cache
def _find_foreign() -> tuple[Renderer, ...]:
    taken = {*_FORMATS, *SUFFIXES, *_BRIEF, *_BRIEF_SUFFIXES}
    found: list[Renderer] = []
    for each in load_plugins("traceq.renderers"):
        if each.NAME in taken or each.SUFFIX in taken:
            raise UnusablePlugin(
                f"renderer {each.NAME} ({each.SUFFIX}): the name or the suffix is taken; remove the other package"
            )
        taken |= {each.NAME, each.SUFFIX}
        found.append(each)
    return tuple(found)
