"""Reports: build.py fills a Report from a trace database, each renderer is a function from it to text.

To add a format: a module to_<format>.py, its function in RENDERERS, its suffix in SUFFIXES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from traceq.reports.to_html import to_html
from traceq.reports.to_json import to_json
from traceq.reports.to_markdown import to_markdown
from traceq.reports.to_text import to_text

if TYPE_CHECKING:
    from traceq.reports.report import Report

RENDERERS: dict[str, Callable[[Report], str]] = {
    "text": to_text,
    "md": to_markdown,
    "html": to_html,
    "json": to_json,
}

SUFFIXES = {".txt": "text", ".md": "md", ".html": "html", ".json": "json"}

# Formats that show timelines, which a report has where it was built with `drawn`.
DRAWN = frozenset({"html"})
