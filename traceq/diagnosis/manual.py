"""The manual page of a rule, in sections: the docstring of its module, or the header of its SQL file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from traceq.diagnosis.query import RuleQuery

# In the header of an SQL file the sections have these keys.
_KEYS = ("finds", "matters", "measured", "try", "references")
SECTIONS = ("What it finds", "Why it matters", "How it is measured", "What to try", "References")


class Manual(msgspec.Struct, frozen=True):
    """A rule's manual page: its title, a function that makes its text, and the addresses that it refers to.

    The text is made on demand, as filling the lines of all rules takes 30 ms.
    """

    title: str
    write: Callable[[], str]
    references: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text of the page: its sections, each a heading with text below."""
        return self.write()


def parse_manual(docstring: str) -> Manual:
    """Return the manual page in the docstring of a rule's module.

    Its first line is the title; SECTIONS with indented texts follow. Raises ValueError when a section is missing.
    """
    title, _, text = docstring.strip().partition("\n")
    missing = [section for section in SECTIONS if not re.search(rf"^{section}$", text, re.MULTILINE)]
    if missing:
        raise ValueError(f"{title}: the manual page is missing {', '.join(missing)}")
    references = text[text.index("\nReferences\n") :]
    return Manual(title.rstrip("."), text.strip, tuple(re.findall(r"https?://\S+", references)))


def manual_of_header(name: str, query: RuleQuery, on_shares: str = "") -> Manual:
    """Return the manual page of the rule `name` from the header of its SQL file; sections without a text are left out.

    `on_shares`, sentences on where the rule's shares come from, are added to "How it is measured".
    """
    header = {"measured": query.header.get("reason", ""), "try": query.header.get("fix", ""), **query.header}
    header["measured"] = f"{header['measured']} {on_shares}".strip()
    texts = [(section, header.get(key, "")) for section, key in zip(SECTIONS, _KEYS, strict=True)]

    def write() -> str:
        return "\n\n".join(f"{section}\n{_indent(text)}" for section, text in texts if text)

    references = tuple(re.findall(r"https?://\S+", header.get("references", "")))
    return Manual(header.get("title", name.replace("_", " ").replace("-", " ").capitalize()), write, references)


def _indent(text: str) -> str:
    return textwrap.fill(text, 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
