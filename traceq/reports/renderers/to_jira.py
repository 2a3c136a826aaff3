"""A document in Jira's wiki markup.

Names from traces stand between {{ and }}, and what could mean something to Jira is written as an entity there and
elsewhere: nothing in a trace can start a link, a macro, a mention or a new cell. Jira has no part that folds: what is
folded elsewhere stands open under its title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from traceq.common.text import printable, shortened
from traceq.reports import document as doc

_NAME_LIMIT = 120
_TEXT_LIMIT = 2_000

# What could begin markup, a link, a macro, a mention or a cell; a smiley; the key of an issue (ABC-12).
_SPECIAL = re.compile(
    r"""[\\{}\[\]|*^~!#&@]
    | (?<!\w)[-_+] | [-_+](?!\w) | \?(?=\?)
    | (?<=:)// | (?<=www)\.
    | [:;](?=[()DP](?!\w)) | \((?=(?:[yni/x+?-]|on|off)\))
    | (?<=\b[A-Z])-(?=\d) | (?<=[A-Z0-9][A-Z0-9])-(?=\d)""",
    re.VERBOSE,
)
# What begins a heading or a quotation where it stands at the start of a line.
_START = re.compile(r"^(?:h[1-6]|bq)(?=\.)")


def jira_of(blocks: Iterable[doc.Block]) -> str:
    """The blocks as wiki markup, with blank lines between them; of the blocks those that tickets are made of."""
    return "\n\n".join(map(_block, blocks)) + "\n"


def _block(block: doc.Block) -> str:
    return _TEXT[type(block)](block)


def _fold(block: doc.Fold) -> str:
    return "\n\n".join([f"h5. {_inline(block.title)}", *map(_block, block.blocks)])


def _verdict(block: doc.Verdict) -> str:
    beside = f" ({_entities(block.beside)})" if block.beside else ""
    return "\n\n".join([f"*{_inline(block.spans).strip()}*{beside}", *map(_line, block.lines)])


def _table(block: doc.Table) -> str:
    head = "||" + "||".join(_span(each) or " " for each in block.columns) + "||"
    rows = ["|" + "|".join(_span(each) or " " for each in row) + "|" for row in block.rows]
    return "\n".join([head, *rows])


def _noformat(lines: Iterable[str]) -> str:
    # The macro ends at its name, wherever that stands.
    shown = "\n".join(printable(line).rstrip().replace("{noformat", "{ noformat") for line in lines)
    return f"{{noformat}}\n{shown}\n{{noformat}}"


_TEXT: dict[type, Callable[[Any], str]] = {
    doc.Heading: lambda block: f"h{block.level}. {_inline(block.spans)}",
    doc.Verdict: _verdict,
    doc.Paragraph: lambda block: _line(block.spans),
    doc.Warn: lambda block: f"{{note}}{_inline(block.spans)}{{note}}",
    doc.Items: lambda block: "\n".join(f"* {_inline(spans)}" for spans in block.items),
    doc.Facts: lambda block: "\n".join(f"* *{_span(label)}*: {_inline(spans)}" for label, spans in block.rows),
    doc.Table: _table,
    doc.Query: lambda block: _noformat([block.sql]),
    doc.Fold: _fold,
}


def _inline(spans: doc.Spans) -> str:
    return "".join(map(_span, spans))


def _line(spans: doc.Spans) -> str:
    return _START.sub(lambda match: _coded(match[0]), _inline(spans).strip())


def _span(text: str) -> str:
    if isinstance(text, doc.Name) and not isinstance(text, doc.Title):
        return f"{{{{{_entities(shortened(printable(text), _NAME_LIMIT))}}}}}"
    if isinstance(text, doc.Literal):
        return f"{{{{{_entities(shortened(printable(text), _TEXT_LIMIT))}}}}}"
    return _entities(shortened(printable(text), _TEXT_LIMIT))


def _entities(text: str) -> str:
    return _SPECIAL.sub(lambda match: _coded(match[0]), text)


def _coded(text: str) -> str:
    return "".join(f"&#{ord(each)};" for each in text)
