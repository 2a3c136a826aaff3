"""The report in GitHub-flavoured Markdown, for a ticket: below so many characters whatever is in it.

Names from traces become code spans, all other text is escaped: nothing in a trace can start a tag, a link, a
mention or a new cell.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from traceq.common.text import printable, shortened
from traceq.common.units import share, some
from traceq.reports import document as doc
from traceq.reports.fit import Around, Part, Summary, join_fitting
from traceq.reports.importance import importance
from traceq.reports.model import Report
from traceq.reports.outline import Leaf, Node, Section, outline
from traceq.reports.renderers import bar
from traceq.reports.sections.compose import compose

# GitHub takes 65,536 characters, and people add some of their own.
LIMIT = 60_000

_NAME_LIMIT = 120
_TEXT_LIMIT = 2_000
_TITLE_LIMIT = 60
_VERDICT_LIMIT = 300

# Of one table or list; more of it would take the place of everything else.
_BLOCK_LIMIT = 15_000
_LISTED = 6

_WHOLE = "The same command with `-o report.html`"

# Everything that can mean something to Markdown; underscores inside words do not.
_SPECIAL = re.compile(r"[\\`*{}\[\]<>#|~&@$!]|(?<![^\W_])_|_(?![^\W_])|(?<=:)//|(?<=www)\.")
# Addresses in which nothing can mean something else.
_ADDRESS = re.compile(r"https://[\w./#?=%+-]+")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

# What GitHub and GitLab take for a person, an issue or a label, and of which they tell people: they look for
# these after entities are replaced, but not in code.
_REFERENCE = re.compile(r"((?:[@~%]\w[\w.-]*|[#!$&]\d\w*|\bGH-\d+)+)")

# The same inside a tag, where there is no code: a word joiner, which has no width, keeps them apart.
_MENTION = re.compile(r"(?<=[@~%#!$])(?=\w)")
_APART = "\u2060"

# What starts a list, a rule or a command of GitLab's at the start of a line.
_START = re.compile(r"^\s*(\d{1,9}(?=[.)](?:\s|\Z))|(?=[-+=/]))(.)")

_KINDS: dict[type, str] = {
    doc.Bar: "chart",
    doc.Bars: "chart",
    doc.Curve: "chart",
    doc.Facts: "list",
    doc.Items: "list",
    doc.Header: "list",
    doc.Ledger: "table",
    doc.Ranking: "table",
    doc.Commands: "list",
    doc.Paragraph: "paragraph",
    doc.Picture: "picture",
    doc.Table: "table",
    doc.Verdict: "paragraph",
    doc.Warn: "warning",
}


def to_markdown(report: Report, limit: int = LIMIT, pictures: Mapping[str, str] | None = None) -> str:
    """The report as Markdown of fewer than `limit` characters, at least 6,000.

    Where it does not fit, parts are left out, the least important first; a line says what and where it is.
    `pictures` says for a chart, by its name, in which file it is, relative to that of the report.
    """
    return markdown_of(compose(report, folds=True), limit, pictures)


def markdown_of(blocks: Iterable[doc.Block], limit: int = LIMIT, pictures: Mapping[str, str] | None = None) -> str:
    """The blocks as `to_markdown` shows them."""
    shown = list(_shown(blocks, pictures or {}))
    first = next((each for each in shown if isinstance(each, doc.Verdict)), None)
    return join_fitting(list(_parts(outline(shown), (), first, pictures or {})), limit, _note, _summary(limit))


def _shown(blocks: Iterable[doc.Block], files: Mapping[str, str]) -> Iterator[doc.Block]:
    """Without what only other formats draw."""
    for block in blocks:
        if isinstance(block, doc.Fold):
            yield doc.Fold(block.title, tuple(_shown(block.blocks, files)))
        elif not isinstance(block, doc.Tracks | doc.Flame) and not (
            isinstance(block, doc.Picture) and block.name not in files
        ):
            yield block


def _parts(
    nodes: Iterable[Node], above: tuple[Section, ...], first: doc.Verdict | None, files: Mapping[str, str]
) -> Iterator[Part | Around]:
    """The text of the nodes; that of the `first` verdict is never left out."""
    for node in nodes:
        if isinstance(node, Leaf):
            text = "\n\n".join(_markdown(block, files) for block in node.blocks)
            rank = None if any(block is first for block in node.blocks) else importance(node, above)
            yield Part(text, rank, _KINDS.get(type(node.blocks[-1]), ""))
        elif node.nodes:
            inside = list(_parts(node.nodes, (*above, node), first, files))
            closing = "</details>" if isinstance(node.head, doc.Fold) else ""
            yield Around(_markdown(node.head, files), closing, _title(node.head), inside)
        elif isinstance(node.head, doc.Heading):
            yield Part(_markdown(node.head, files), importance(Leaf((node.head,)), above), "heading")


def _title(head: doc.Heading | doc.Fold) -> str:
    spans = head.title if isinstance(head, doc.Fold) else head.spans
    return _words(shortened(printable("".join(spans)), _TITLE_LIMIT))


def _note(titles: Sequence[str], kinds: Sequence[str]) -> str:
    named = [some(number, kind) for kind, number in Counter(kinds).items()]
    named += [f"“{title}”" for title in titles[:_LISTED]]
    if len(titles) > _LISTED:
        named.append(f"and so on to “{titles[-1]}”, {len(titles):,} sections in all")
    return f"*Left out here: {', '.join(named)}.* {_WHOLE} shows it."


def _summary(limit: int) -> Summary:
    def text(left_out: Sequence[Part]) -> str:
        queries = sum(not each.kind for each in left_out)
        named = [some(queries, "query", "queries")] if queries else []
        named += [some(len(left_out) - queries, "other part")] if queries < len(left_out) else []
        return f"> **Note:** Left out to stay below {limit:,} characters: {' and '.join(named)}. {_WHOLE} shows all."

    return text


def _markdown(block: doc.Block, files: Mapping[str, str]) -> str:
    return (
        f"![{_words(block.alt)}]({quote(files[block.name])})"
        if isinstance(block, doc.Picture)
        else _TEXT[type(block)](block)
    )


def _fold(block: doc.Fold) -> str:
    # Blank lines on both sides of what is folded make it Markdown and not HTML.
    title = _MENTION.sub(_APART, shortened(printable("".join(block.title)), _NAME_LIMIT))
    return f"<details><summary>{html.escape(title)}</summary>"


def _verdict(block: doc.Verdict) -> str:
    sentence = _words(shortened(printable("".join(block.spans)), _VERDICT_LIMIT)).strip()
    beside = f" ({_words(block.beside)})" if block.beside else ""
    return "\n\n".join([f"**{sentence}**{beside}", *map(_line, block.lines)])


def _ledger(block: doc.Ledger) -> str:
    rows = (
        (row.label, share(row.share), row.text, " ".join(filter(None, (*row.owners, row.verdict))))
        for row in block.rows
    )
    title = f"{_inline(block.title)}: {_words(block.total)}"
    return f"{title}\n\n{_table(doc.Table(('category', 'share', 'time', 'findings'), tuple(rows), (0, 3)))}"


def _ranking(block: doc.Ranking) -> str:
    rows = (
        (row.anchor, row.title, row.saves, row.share, row.cumulative, row.confidence, "".join(row.deed))
        for row in block.rows
    )
    head = ("", "what to fix", f"saves per {block.unit}", "share", "cumulative", "confidence", "how")
    return _table(doc.Table(head, tuple(rows), (0, 1, 5, 6)))


def _table(block: doc.Table) -> str:
    rule = [":---" if index in block.text_columns else "---:" for index in range(len(block.columns))]
    head = f"{_row(block.columns)}\n{_row_of(rule)}"
    return "\n".join([head, _listed((_row(row) for row in block.rows), before="\n")]) if block.rows else head


_TEXT: dict[type, Callable[[Any], str]] = {
    doc.Heading: lambda block: f"{'#' * block.level} {_inline(block.spans)}",
    doc.Fold: _fold,
    doc.Header: lambda block: _listed(
        f"- **{_span(label)}**: {_inline(spans)}" for label, spans in (*block.rows, *block.more)
    ),
    doc.Verdict: _verdict,
    doc.Ledger: _ledger,
    doc.Ranking: _ranking,
    doc.Commands: lambda block: _fenced("sh", (f"{command}  # {what}" for what, command in block.rows)),
    doc.Paragraph: lambda block: _line(block.spans),
    doc.Warn: lambda block: f"> **Note:** {_inline(block.spans)}",
    doc.Items: lambda block: _listed(f"- {_line(spans)}" for spans in block.items),
    doc.Facts: lambda block: _listed(f"- **{_span(label)}**: {_inline(spans)}" for label, spans in block.rows),
    doc.Table: _table,
    doc.Bar: lambda block: _fenced("text", bar.draw(block.parts)),
    doc.Bars: lambda block: _fenced("text", bar.draw_rows(block.rows)),
    doc.Curve: lambda block: _fenced("text", [bar.curve(block.values), block.text]),
    doc.Query: lambda block: _fenced("sh", [f'traceq sql DB "{block.sql}"']),
}


def _listed(lines: Iterable[str], *, before: str = "- ") -> str:
    """As many of the lines as there is room for; `before` is what the line about the others begins with."""
    kept: list[str] = []
    used = left_out = 0
    for line in lines:
        used += len(line) + 1
        if used <= _BLOCK_LIMIT:
            kept.append(line)
        else:
            left_out += 1
    if left_out:
        kept.append(f"{before}*... and {left_out:,} more.* {_WHOLE} shows them.")
    return "\n".join(kept)


def _row(cells: tuple[str, ...]) -> str:
    return _row_of(_span(text).replace("|", "\\|") for text in cells)


def _row_of(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _fenced(language: str, lines: Iterable[str]) -> str:
    shown = [printable(line).rstrip() for line in lines]
    fence = _longer_than("`", shown, least=3)
    return "\n".join([f"{fence}{language}", *shown, fence])


def _longer_than(mark: str, texts: Iterable[str], least: int) -> str:
    """So many of `mark` that no text holds as many in a row."""
    longest = max((len(run) for text in texts for run in re.findall(f"{mark}+", text)), default=0)
    return mark * max(least, longest + 1)


def _line(spans: doc.Spans) -> str:
    """Text at the start of a line, where some of it would mean more than itself."""
    return _START.sub(lambda match: f"{match[1]}&#{ord(match[2])};", _inline(spans)).strip()


def _inline(spans: doc.Spans) -> str:
    return "".join(map(_span, spans))


def _span(text: str) -> str:
    if isinstance(text, doc.Name) and not isinstance(text, doc.Title):
        return _code(shortened(printable(text), _NAME_LIMIT))
    if isinstance(text, doc.Literal):
        return _code(shortened(printable(text), _TEXT_LIMIT))
    if isinstance(text, doc.Address) and _ADDRESS.fullmatch(text):
        return f"<{text}>"
    return _words(shortened(printable(text), _TEXT_LIMIT))


def _words(text: str) -> str:
    """Text that means nothing to Markdown, nor to what GitHub and GitLab look for in it."""
    pieces = _REFERENCE.split(text)
    return "".join(_code(piece) if index % 2 else _SPECIAL.sub(_entities, piece) for index, piece in enumerate(pieces))


def _entities(match: re.Match[str]) -> str:
    """As entities and not after backslashes, which not everything that reads Markdown takes for escapes."""
    return "".join(_ENTITIES.get(character, f"&#{ord(character)};") for character in match[0])


def _code(text: str) -> str:
    """`text` as a code span: fenced by one backtick more than it holds, padded where they touch."""
    fence = _longer_than("`", [text], least=1)
    padding = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{padding}{text}{padding}{fence}"
