"""Untrusted text (from a trace, of a path): made safe for a terminal, a line and a Markdown page, and cut to a width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path, PurePath

# What Markdown could take for markup; names of C++ templates would otherwise vanish as HTML tags.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_REFERENCE = re.compile(r"(?<=[@#!~%$])(?=\w)")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

# What acts on a terminal or turns text around, without what ends lines and fields: ESC and its like, DEL, the codes from 0x80 on,
# marks of direction, separators that programs take for ends of lines.
CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
_CONTROL = re.compile(f"[{CONTROLS}]")
_ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

# Letters may carry a few combining marks; a hundred on one are a prank.
CHARACTERS_PER_COLUMN = 4


def printable(text: str) -> str:
    r"""Return `text` on one line; characters that could steer a terminal (\x1b, \n, bidi overrides) become escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def without_colours(text: str) -> str:
    """Return `text` without the escape sequences that colour it and move the cursor of a terminal."""
    return _ESCAPE_SEQUENCE.sub("", text) if "\x1b" in text else text


def without_controls(text: str) -> str:
    r"""Return `text` with its lines and tabs; other characters that could steer a terminal become escapes (\x1b, \u202e)."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def quiet_json(text: str) -> str:
    r"""Return the JSON text with \u escapes for characters that could steer a terminal, which JSON may hold as they are."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def markdown(text: str) -> str:
    """Return `text` on one line, escaped so that Markdown shows it unchanged, also inside a table."""
    escaped = _MARKUP.sub(r"\\\g<0>", printable(text))
    return re.sub("[&<>]", lambda match: _HTML[match[0]], escaped)


def telling_nobody(text: str) -> str:
    """Return `text` so that GitHub and GitLab see no mention, issue or label in it, and notify nobody.

    An invisible joiner is put behind @, # and the like.
    """
    return _REFERENCE.sub("\u2060", text)


def shortened(text: str, limit: int) -> str:
    """Return `text` cut to `limit` columns with … in place of its middle: most of the start and a little of the end are kept."""
    if fits(text, limit):
        return text
    tail = limit // 4
    return prefix(text, limit - tail - 1) + "…" + prefix(text[::-1], tail)[::-1]


def shorten_sources(sources: Sequence[str]) -> list[str]:
    """Return the last name of each path or address, with as many folders before it as tell different ones apart."""
    parts = [_split_source(source) for source in sources]
    most = max(map(len, parts), default=0)
    several = len(set(parts))
    last = next((last for last in range(1, most) if len({part[-last:] for part in parts}) == several), most)
    return [str(PurePath(*part[-last:])) if part else "" for part in parts]


def _split_source(source: str) -> tuple[str, ...]:
    """Return the parts of a path or an address: of "." those of the current folder, without what may sign an address (?...)."""
    path = PurePath(source.partition("?")[0] if "://" in source else source)
    return path.parts if path.name or not source else Path(source).absolute().parts


def first_clause(text: str) -> str:
    """Return `text` up to its first full stop or semicolon, exclusive; those within `backticks` or brackets do not count."""
    is_code, depth = False, 0
    for index, character in enumerate(text):
        is_code ^= character == "`"
        depth += (character == "(") - (character == ")") if not is_code else 0
        ends = character in ".;" and text[index + 1 : index + 2] in ("", " ", "\n")
        if ends and not is_code and depth <= 0:
            return text[:index]
    return text


def fits(text: str, limit: int) -> bool:
    """Return whether `text` takes at most `limit` columns, without too many combining characters."""
    return len(text) <= CHARACTERS_PER_COLUMN * limit and width(text) <= limit


def prefix(text: str, limit: int) -> str:
    """Return the longest start of `text` that fits into `limit` columns."""
    used = 0
    for index, character in enumerate(text):
        used += _columns(character)
        if used > limit or index >= CHARACTERS_PER_COLUMN * limit:
            return text[:index]
    return text


def width(text: str) -> int:
    """Return the number of columns that `text` takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    """Return the number of columns that a character takes on a terminal: 0, 1 or 2."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
