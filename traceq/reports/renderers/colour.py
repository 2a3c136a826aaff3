"""The colours of a terminal, and what they stand for; no information is in a colour alone.

All are of the 256 fixed ones, of middle brightness, so that they can be read on black and on white alike.
"""

from __future__ import annotations

from collections.abc import Callable

from traceq.reports.charts import palette

# (text, style) -> the text in that style
Paint = Callable[[str, str], str]

GREEN, YELLOW = "28", "136"

_CODES = {
    "heading": "1",
    "verdict": "1",
    "saving": "1",
    "dim": "2",
    "low": "2",
    "warning": f"38;5;{YELLOW}",
    "high": f"38;5;{GREEN}",
    "medium": f"38;5;{YELLOW}",
}

PARTS = {name: str(look.terminal) for name, look in palette.LOOKS.items() if look.terminal}


def paint_nothing(text: str, _style: str) -> str:
    """Return `text` unchanged; this is the painter where colours are off."""
    return text


def paint_text(text: str, style: str) -> str:
    """Return `text` within the terminal's escape codes for `style`, the name of a style or of a ledger category.

    Unchanged for another name.
    """
    code = _CODES.get(style) or _colour_of_part(style)
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def _colour_of_part(label: str) -> str | None:
    colour = PARTS.get("idle" if label.startswith("idle_") else label)
    return f"38;5;{colour}" if colour else None
