"""The report in GitHub-flavoured Markdown, for a ticket, never longer than a limit.

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
from traceq.reports.fit import Summary, TextFrame, TextPart, join_fitting
from traceq.reports.model import Report
from traceq.reports.outline import Leaf, Node, Section, build_outline, rate_importance
from traceq.reports.renderers import bar
from traceq.reports.sections.compose import compose_report

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
    """Return the report as Markdown text of fewer than `limit` characters, at least 6,000.

    Where it does not fit, the least important parts are left out, and a line says which. `pictures` has the file of
    each chart by its name, relative to the report's; a chart without a file is left out.
    """
    return blocks_to_markdown(compose_report(report, folds=True), limit, pictures)


def blocks_to_markdown(
    blocks: Iterable[doc.Block], limit: int = LIMIT, pictures: Mapping[str, str] | None = None
) -> str:
    """Return the blocks as Markdown text; for `limit` and `pictures` see to_markdown()."""
    shown = list(_drop_drawn(blocks, pictures or {}))
    first = next((each for each in shown if isinstance(each, doc.Verdict)), None)
    parts = list(_make_parts(build_outline(shown), (), first, pictures or {}))
    return join_fitting(parts, limit, _write_note, _summary_for(limit))


def _drop_drawn(blocks: Iterable[doc.Block], files: Mapping[str, str]) -> Iterator[doc.Block]:
    """Yield the blocks without timelines and flame graphs, and without charts that have no file in `files`."""
    for block in blocks:
        if isinstance(block, doc.Fold):
            yield doc.Fold(block.title, tuple(_drop_drawn(block.blocks, files)))
        elif not isinstance(block, doc.Tracks | doc.Flame) and not (
            isinstance(block, doc.Picture) and block.name not in files
        ):
            yield block


def _make_parts(
    nodes: Iterable[Node], above: tuple[Section, ...], first: doc.Verdict | None, files: Mapping[str, str]
) -> Iterator[TextPart | TextFrame]:
    """Yield the nodes of the outline as parts of text with their importance.

    The part with the verdict `first` is never dropped. `above` are the sections around the nodes, `files` the files of
    charts by name.
    """
    for node in nodes:
        if isinstance(node, Leaf):
            text = "\n\n".join(_render_block(block, files) for block in node.blocks)
            rank = None if any(block is first for block in node.blocks) else rate_importance(node, above)
            yield TextPart(text, rank, _KINDS.get(type(node.blocks[-1]), ""))
        elif node.nodes:
            inside = list(_make_parts(node.nodes, (*above, node), first, files))
            closing = "</details>" if isinstance(node.head, doc.Fold) else ""
            yield TextFrame(_render_block(node.head, files), closing, _write_title(node.head), inside)
        elif isinstance(node.head, doc.Heading):
            yield TextPart(_render_block(node.head, files), rate_importance(Leaf((node.head,)), above), "heading")


def _write_title(head: doc.Heading | doc.Fold) -> str:
    spans = head.title if isinstance(head, doc.Fold) else head.spans
    return _escape_words(shortened(printable("".join(spans)), _TITLE_LIMIT))


def _write_note(titles: Sequence[str], kinds: Sequence[str]) -> str:
    named = [some(number, kind) for kind, number in Counter(kinds).items()]
    named += [f"“{title}”" for title in titles[:_LISTED]]
    if len(titles) > _LISTED:
        named.append(f"and so on to “{titles[-1]}”, {len(titles):,} sections in all")
    return f"*Left out here: {', '.join(named)}.* {_WHOLE} shows it."


def _summary_for(limit: int) -> Summary:
    def text(left_out: Sequence[TextPart]) -> str:
        queries = sum(not each.kind for each in left_out)
        named = [some(queries, "query", "queries")] if queries else []
        named += [some(len(left_out) - queries, "other part")] if queries < len(left_out) else []
        return f"> **Note:** Left out to stay below {limit:,} characters: {' and '.join(named)}. {_WHOLE} shows all."

    return text


def _render_block(block: doc.Block, files: Mapping[str, str]) -> str:
    return (
        f"![{_escape_words(block.alt)}]({quote(files[block.name])})"
        if isinstance(block, doc.Picture)
        else _TEXT[type(block)](block)
    )


def _render_fold(block: doc.Fold) -> str:
    # Blank lines on both sides of what is folded make it Markdown and not HTML.
    title = _MENTION.sub(_APART, shortened(printable("".join(block.title)), _NAME_LIMIT))
    return f"<details><summary>{html.escape(title)}</summary>"


def _render_verdict(block: doc.Verdict) -> str:
    sentence = _escape_words(shortened(printable("".join(block.spans)), _VERDICT_LIMIT)).strip()
    beside = f" ({_escape_words(block.beside)})" if block.beside else ""
    return "\n\n".join([f"**{sentence}**{beside}", *map(_render_line, block.lines)])


def _render_ledger(block: doc.Ledger) -> str:
    rows = (
        (row.label, share(row.share), row.text, " ".join(filter(None, (*row.owners, row.verdict))))
        for row in block.rows
    )
    title = f"{_render_spans(block.title)}: {_escape_words(block.total)}"
    return f"{title}\n\n{_render_table(doc.Table(('category', 'share', 'time', 'findings'), tuple(rows), (0, 3)))}"


def _render_ranking(block: doc.Ranking) -> str:
    rows = (
        (row.anchor, row.title, row.saves, row.share, row.cumulative, row.confidence, "".join(row.deed))
        for row in block.rows
    )
    head = ("", "what to fix", f"saves per {block.unit}", "share", "cumulative", "confidence", "how")
    return _render_table(doc.Table(head, tuple(rows), (0, 1, 5, 6)))


def _render_table(block: doc.Table) -> str:
    rule = [":---" if index in block.text_columns else "---:" for index in range(len(block.columns))]
    head = f"{_render_row(block.columns)}\n{_join_cells(rule)}"
    return "\n".join([head, _join_lines((_render_row(row) for row in block.rows), before="\n")]) if block.rows else head


_TEXT: dict[type, Callable[[Any], str]] = {
    doc.Heading: lambda block: f"{'#' * block.level} {_render_spans(block.spans)}",
    doc.Fold: _render_fold,
    doc.Header: lambda block: _join_lines(
        f"- **{_render_span(label)}**: {_render_spans(spans)}" for label, spans in (*block.rows, *block.more)
    ),
    doc.Verdict: _render_verdict,
    doc.Ledger: _render_ledger,
    doc.Ranking: _render_ranking,
    doc.Commands: lambda block: _fence_lines("sh", (f"{command}  # {what}" for what, command in block.rows)),
    doc.Paragraph: lambda block: _render_line(block.spans),
    doc.Warn: lambda block: f"> **Note:** {_render_spans(block.spans)}",
    doc.Items: lambda block: _join_lines(f"- {_render_line(spans)}" for spans in block.items),
    doc.Facts: lambda block: _join_lines(
        f"- **{_render_span(label)}**: {_render_spans(spans)}" for label, spans in block.rows
    ),
    doc.Table: _render_table,
    doc.Bar: lambda block: _fence_lines("text", bar.draw_bar(block.parts)),
    doc.Bars: lambda block: _fence_lines("text", bar.draw_bar_rows(block.rows)),
    doc.Curve: lambda block: _fence_lines("text", [bar.draw_curve(block.values), block.text]),
    doc.Query: lambda block: _fence_lines("sh", [f'traceq sql DB "{block.sql}"']),
}


def _join_lines(lines: Iterable[str], *, before: str = "- ") -> str:
    """Return the lines as text, as many as fit a block.

    If some are left out, a last line, which begins with `before`, says how many.
    """
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


def _render_row(cells: tuple[str, ...]) -> str:
    return _join_cells(_render_span(text).replace("|", "\\|") for text in cells)


def _join_cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _fence_lines(language: str, lines: Iterable[str]) -> str:
    shown = [printable(line).rstrip() for line in lines]
    fence = _unused_fence("`", shown, least=3)
    return "\n".join([f"{fence}{language}", *shown, fence])


def _unused_fence(mark: str, texts: Iterable[str], least: int) -> str:
    """Return `mark` repeated `least` times, or once more than any text has it in a row, if that is more."""
    longest = max((len(run) for text in texts for run in re.findall(f"{mark}+", text)), default=0)
    return mark * max(least, longest + 1)


def _render_line(spans: doc.Spans) -> str:
    """Return spans as Markdown for the start of a line; characters that would begin a list or heading there are escaped."""
    return _START.sub(lambda match: f"{match[1]}&#{ord(match[2])};", _render_spans(spans)).strip()


def _render_spans(spans: doc.Spans) -> str:
    return "".join(map(_render_span, spans))


def _render_span(text: str) -> str:
    if isinstance(text, doc.Name) and not isinstance(text, doc.Title):
        return _render_code(shortened(printable(text), _NAME_LIMIT))
    if isinstance(text, doc.Literal):
        return _render_code(shortened(printable(text), _TEXT_LIMIT))
    if isinstance(text, doc.Address) and _ADDRESS.fullmatch(text):
        return f"<{text}>"
    return _escape_words(shortened(printable(text), _TEXT_LIMIT))


def _escape_words(text: str) -> str:
    """Return text with everything escaped that Markdown, GitHub or GitLab would interpret; their references become code spans."""
    pieces = _REFERENCE.split(text)
    return "".join(
        _render_code(piece) if index % 2 else _SPECIAL.sub(_escape_match, piece) for index, piece in enumerate(pieces)
    )


def _escape_match(match: re.Match[str]) -> str:
    """Return the matched characters as HTML entities, because not all readers of Markdown take backslashes as escapes."""
    return "".join(_ENTITIES.get(character, f"&#{ord(character)};") for character in match[0])


def _render_code(text: str) -> str:
    """Return `text` as a Markdown code span, in more backticks than it has in a row."""
    fence = _unused_fence("`", [text], least=1)
    padding = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{padding}{text}{padding}{fence}"
