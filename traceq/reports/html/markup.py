"""Spans and tags: the only place where text becomes HTML. All of it is escaped here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from traceq.printable import printable
from traceq.reports.document import Address, Literal, Name, Reference, Spans, Title
from traceq.reports.names import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME_LIMIT = 160
_WEB = ("https://", "http://")


def tag(name: str, *content: Markup, **attributes: str | int | None) -> Markup:
    """An element; attributes that are None are left out, `class_` and the like lose their underscore, others become dashes."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{''.join(content)}</{name}>")  # noqa: S704 - every part is escaped


def text(value: str) -> Markup:
    """Plain text; what would steer a terminal or the direction of writing is shown as an escape."""
    return escape(printable(value))


def inline(spans: Spans, anchors: str = "") -> Markup:
    """Running text. `anchors` stands before the names of the headings that it refers to."""
    return Markup("").join(span(each, anchors) for each in spans)


def span(value: str, anchors: str = "") -> Markup:
    """One span: names are isolated, so that letters written from right to left turn nothing else around."""
    if isinstance(value, Title):
        return text(value)
    if isinstance(value, Name):
        return tag("bdi", text(shortened(value, _NAME_LIMIT)))
    if isinstance(value, Literal):
        return tag("code", text(value))
    if isinstance(value, Reference):
        return tag("a", text(value), href=f"#{anchors}{value}")
    if isinstance(value, Address) and value.startswith(_WEB):
        return tag("a", text(value), href=value, rel="noopener noreferrer", target="_blank")
    return text(value)


def joined(parts: Iterable[Markup]) -> Markup:
    """The parts one after the other."""
    return Markup("\n").join(parts)
