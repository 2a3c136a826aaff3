"""Text from a trace or a path made safe for a terminal, a line and a Markdown page."""

from __future__ import annotations

import re

# What Markdown could take for markup; names of C++ templates would otherwise vanish as HTML tags.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def printable(text: str) -> str:
    r"""`text` in one line: what could steer a terminal (\x1b, \n, bidi overrides) becomes an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def markdown(text: str) -> str:
    """`text` in one line that Markdown shows as it is, also inside a table."""
    escaped = _MARKUP.sub(r"\\\g<0>", printable(text))
    return re.sub("[&<>]", lambda match: _HTML[match[0]], escaped)
