"""When what was typed in the shell is complete."""

from __future__ import annotations


def is_ready(text: str) -> bool:
    """Whether `text` can be answered: nothing, a dot command, or statements up to the last semicolon."""
    from traceq.queries import is_complete

    stripped = text.strip()
    return not stripped or stripped.startswith(".") or is_complete(text)
