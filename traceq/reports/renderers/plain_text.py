"""Spans as a line of plain text."""

from __future__ import annotations

from traceq.common.text import printable, shortened
from traceq.reports.document import Name, Spans

_NAME_LIMIT = 70


def to_plain_text(spans: Spans) -> str:
    """Return the spans for a terminal; names are cut, and no control character is left."""
    return "".join(
        shortened(printable(span), _NAME_LIMIT) if isinstance(span, Name) else printable(span) for span in spans
    )
