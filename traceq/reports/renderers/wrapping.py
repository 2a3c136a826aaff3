"""Spans as plain text, in lines of a number of columns; East Asian letters take two."""

from __future__ import annotations

import re
from collections.abc import Iterator

from traceq.common.text import CHARACTERS_PER_COLUMN, fits, prefix, printable, shortened, width
from traceq.reports.document import Name, Spans

_WORD = re.compile(r"[^ ]+")
# A number and its unit stay together.
_PHRASE = re.compile(r"(?:[\d.,]+ (?=(?:%|[nµm]?s|[KMGT]?i?B)(?!\w)))?[^ ]+")
_ADDRESS = re.compile(r"https?://")

# What is between quotes is one word: a line break there would change it.
_SQL_WORD = re.compile(r"(?:'[^']*'|[^ '])+|'")


def wrap_text(text: str, room: int, *, whole: bool) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) in `text` of each line of at most `room` columns.

    A longer word fills the line and goes on in the next. With `whole`, such a word begins a line, and an address is not
    broken.
    """
    line: tuple[int, int] | None = None
    for word in (_PHRASE if whole else _WORD).finditer(text):
        at, end = word.span()
        while at < end:
            begin = line[0] if line else at
            # A name may be 10 MB long: what is beyond `reach` cannot matter to this line.
            reach = at + CHARACTERS_PER_COLUMN * room + 1
            rest = text[at : min(end, reach)]
            if fits(text[begin : min(end, reach)], room) or (whole and not line and _ADDRESS.match(rest)):
                line, at = (begin, end), end
                continue
            if not fits(rest, room) and not (whole and line):
                # A line is never empty.
                taken = prefix(rest, room - width(text[begin:at])) or ("" if line else text[at])
                line, at = (begin, at + len(taken)) if taken else line, at + len(taken)
            if line:
                yield line
            line = None
    if line:
        yield line


def wrap_sql(sql: str, first: int, others: int) -> Iterator[str]:
    """Yield the lines of a SQL text, the first of at most `first` columns, the others of `others`.

    Joined by spaces, they are the same SQL; a long word may exceed a line.
    """
    line, room = "", first
    for word in _SQL_WORD.findall(sql):
        if line and width(line) + 1 + width(word) > room:
            yield line
            line, room = "", others
        line = f"{line} {word}" if line else word
    yield line


_NAME_LIMIT = 70


def to_plain_text(spans: Spans) -> str:
    """Return the spans as plain text for a terminal: names are cut to 70 columns, control characters escaped."""
    return "".join(
        shortened(printable(span), _NAME_LIMIT) if isinstance(span, Name) else printable(span) for span in spans
    )
