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


def blocks_to_jira(blocks: Iterable[doc.Block]) -> str:
    """Return the blocks of a ticket as text in Jira's wiki markup."""
    return "\n\n".join(map(_render_block, blocks)) + "\n"


def _render_block(block: doc.Block) -> str:
    return _TEXT[type(block)](block)


def _render_fold(block: doc.Fold) -> str:
    return "\n\n".join([f"h5. {_render_spans(block.title)}", *map(_render_block, block.blocks)])


def _render_verdict(block: doc.Verdict) -> str:
    beside = f" ({_escape_match(block.beside)})" if block.beside else ""
    return "\n\n".join([f"*{_render_spans(block.spans).strip()}*{beside}", *map(_render_line, block.lines)])


def _render_table(block: doc.Table) -> str:
    head = "||" + "||".join(_render_span(each) or " " for each in block.columns) + "||"
    rows = ["|" + "|".join(_render_span(each) or " " for each in row) + "|" for row in block.rows]
    return "\n".join([head, *rows])


def _render_verbatim(lines: Iterable[str]) -> str:
    # The macro ends at its name, wherever that stands.
    shown = "\n".join(printable(line).rstrip().replace("{noformat", "{ noformat") for line in lines)
    return f"{{noformat}}\n{shown}\n{{noformat}}"


_TEXT: dict[type, Callable[[Any], str]] = {
    doc.Heading: lambda block: f"h{block.level}. {_render_spans(block.spans)}",
    doc.Verdict: _render_verdict,
    doc.Paragraph: lambda block: _render_line(block.spans),
    doc.Warn: lambda block: f"{{note}}{_render_spans(block.spans)}{{note}}",
    doc.Items: lambda block: "\n".join(f"* {_render_spans(spans)}" for spans in block.items),
    doc.Facts: lambda block: "\n".join(
        f"* *{_render_span(label)}*: {_render_spans(spans)}" for label, spans in block.rows
    ),
    doc.Table: _render_table,
    doc.Query: lambda block: _render_verbatim([block.sql]),
    doc.Fold: _render_fold,
}


def _render_spans(spans: doc.Spans) -> str:
    return "".join(map(_render_span, spans))


def _render_line(spans: doc.Spans) -> str:
    return _START.sub(lambda match: _render_code(match[0]), _render_spans(spans).strip())


def _render_span(text: str) -> str:
    if isinstance(text, doc.Name) and not isinstance(text, doc.Title):
        return f"{{{{{_escape_match(shortened(printable(text), _NAME_LIMIT))}}}}}"
    if isinstance(text, doc.Literal):
        return f"{{{{{_escape_match(shortened(printable(text), _TEXT_LIMIT))}}}}}"
    return _escape_match(shortened(printable(text), _TEXT_LIMIT))


def _escape_match(text: str) -> str:
    return _SPECIAL.sub(lambda match: _render_code(match[0]), text)


def _render_code(text: str) -> str:
    return "".join(f"&#{ord(each)};" for each in text)
