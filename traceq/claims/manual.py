"""The manual page of a rule: the docstring of its module, in sections."""

from __future__ import annotations

import re
from dataclasses import dataclass

SECTIONS = ("What it finds", "Why it matters", "How it is measured", "What to try", "References")


@dataclass(frozen=True)
class Manual:
    """Title, text and references of a rule."""

    title: str
    text: str
    references: tuple[str, ...]


def manual(docstring: str) -> Manual:
    """The manual page in `docstring`: its first line is the title; SECTIONS follow, each with its text indented.

    Raises ValueError when a section is missing.
    """
    title, _, text = docstring.strip().partition("\n")
    missing = [section for section in SECTIONS if not re.search(rf"^{section}$", text, re.MULTILINE)]
    if missing:
        raise ValueError(f"{title}: the manual page lacks {', '.join(missing)}")
    references = text[text.index("\nReferences\n") :]
    return Manual(title.rstrip("."), text.strip(), tuple(re.findall(r"https?://\S+", references)))
