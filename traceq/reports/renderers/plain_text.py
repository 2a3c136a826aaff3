"""Spans as a line of plain text."""

from __future__ import annotations

from traceq.common.text import printable, shortened
from traceq.reports.document import Name, Spans

_NAME_LIMIT = 70


def to_plain_text(spans: Spans) -> str:
    """The spans for a terminal; names cut, and nothing in them steers it."""
    return "".join(
        shortened(printable(span), _NAME_LIMIT) if isinstance(span, Name) else printable(span) for span in spans
    )
