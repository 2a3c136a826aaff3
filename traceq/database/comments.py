"""Comments of tables, views and columns, which stand above them in the SQL files of the schema.

    --: One row per GPU a trace lists or uses.
    create table if not exists device (
        --: Trace.
        trace_id integer not null,

Lines that begin with `--:` are one comment, of what begins on the next line. DuckDB does not keep comments of SQL; these become
statements `comment on`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"""--:(?P<comment>[^\n]*)|--[^\n]*|(?:'[^']*')+|"[^"]*"|\w+|[^\s\w]""")
_CREATED = re.compile(r"create\s+(?:or\s+replace\s+)?(table|view)\s+(?:if\s+not\s+exists\s+)?(\w+)\s+(\(|as\b)")


def comment_statements(text: str) -> list[str]:
    """Return an SQL statement `comment on ...` for each `--:` comment in the SQL `text`."""
    return [f"comment on {thing} is '{comment.replace(chr(39), 2 * chr(39))}'" for thing, comment in _comments(text)]


def _comments(text: str) -> Iterator[tuple[str, str]]:
    """Yield, for each `--:` comment, its object (`table device` or `column device.trace_id`) and its text on one line."""
    words: list[str] = []
    name = ""
    is_query = False
    tokens = list(_TOKEN.finditer(text))
    for place, token in enumerate(tokens):
        if token["comment"] is not None:
            words.append(token["comment"].strip())
        elif words and not token[0].startswith("--"):
            if created := _CREATED.match(text, token.start()):
                name, is_query = created[2], created[3] == "as"
                yield f"{created[1]} {name}", " ".join(words)
            else:
                yield f"column {name}.{_alias(tokens[place:]) if is_query else token[0]}", " ".join(words)
            words = []


def _alias(tokens: list[re.Match[str]]) -> str:
    """Return the column name of the select expression at the beginning of `tokens`: its last word."""
    depth = 0
    last = ""
    for token in tokens:
        depth += (token[0] == "(") - (token[0] == ")")
        if depth == 0 and token[0] in (",", "from", ";"):
            break
        if not token[0].startswith("--"):
            last = token[0]
    return last
