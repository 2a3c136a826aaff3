"""The report as one HTML page: no network, no script needed to read it, below 1.5 MB a trace and 4 MB in all."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import msgspec
from markupsafe import Markup

from traceq.common.text import printable, shortened
from traceq.common.version import __version__
from traceq.reports.charts import palette
from traceq.reports.document import Block, Flame, Fold, Heading, Picture, Query, Spans, Tracks, Verdict
from traceq.reports.model import Report
from traceq.reports.renderers.html.blocks import read_source, render_block, template_environment
from traceq.reports.sections.compose import compose_report

# Of a page, bytes: for each trace, and for all of a job.
_LIMIT_OF_TRACE, LIMIT = 1_500_000, 4_000_000
_TITLE_LIMIT = 120
_STYLES = ("style.css", "timeline.css")
# Scripts of drawings, by what of a page needs them.
_SCRIPTS = {
    '<figure class="timeline"': "timeline.js",
    '<figure class="flame"': "flame.js",
    '<figure class="chart asked"': "dots.js",
}
_COMMENT = re.compile(r"^[ ]*(?:/\*.*?\*/|//[^\n]*)$", re.MULTILINE | re.DOTALL)
_TRACE = 2  # the level of the headings that traces begin with
_MOST_TRACES = 500  # of which something is said where there is no room for all
_TIMELINES = (Tracks, Flame)
_DRAWN = (*_TIMELINES, Picture)
_LARGE = (*_DRAWN, Query, Fold)
# Anchors of the sections that are printed.
_ON_PAPER = frozenset({"findings", "ledger", "timelines"})


class _Chapter(msgspec.Struct):
    """A heading, and the blocks up to the next heading of its level or above."""

    heading: Heading
    blocks: list[Block] = msgspec.field(default_factory=list)

    @property
    def sections(self) -> list[_Chapter]:
        """The chapter divided at its headings of level 3; the first section has the blocks before, under an empty heading."""
        return _chapters([Heading(3, ()), *self.blocks], 3)

    @property
    def is_folded(self) -> bool:
        """Whether only the chapter's title is shown until a reader opens it."""
        return self.heading.is_minor

    @property
    def is_on_paper(self) -> bool:
        """Whether the section is printed, as findings, steps over time and where the time goes are."""
        return self.heading.anchor in _ON_PAPER


def to_html(report: Report) -> str:
    """Return the report as the text of one HTML page below the size limit, with a note on what was left out for it."""
    return html_of(compose_report(report, folds=True, draws=True))


def html_of(blocks: Iterable[Block]) -> str:
    """Return the blocks as the text of one HTML page below the size limit; each trace begins with a heading of level 2."""
    numbered = list(_numbered(blocks))
    traces = max((trace for trace, _ in numbered), default=0)
    limit = min(LIMIT, _LIMIT_OF_TRACE * max(traces, 1))
    rendered: dict[int, Markup] = {}  # by the identity of the block: a version has all that the one before has
    page = ""
    for keeps, left_out in _versions(traces):
        kept = [block for trace, block in numbered if keeps(trace, block)]
        larger = _page(kept, rendered, left_out)
        if page and len(larger.encode()) > limit:
            break
        page = larger
    return page


Keeps = Callable[[int, Block], bool]


def _versions(traces: int) -> Iterator[tuple[Keeps, str | None]]:
    """Yield (selection of blocks, sentence on what it leaves out), from the least blocks to all.

    None instead of a sentence for all.
    """
    told = "is left out to keep the page small; `traceq report` on fewer traces shows it."
    yield _all_of(0), f"All but the verdicts of the first {_MOST_TRACES} traces {told}"
    whole = 1
    while whole < traces:
        yield _all_of(whole), f"All but the verdicts of traces after the first {whole} {told}"
        whole *= 2
    yield _without(_LARGE), f"The SQL and every drawing {told}"
    yield _without(_DRAWN), f"Every drawing {told}"
    yield _without(_TIMELINES), f"Every timeline {told}"
    yield _without(()), None


def _all_of(traces: int) -> Keeps:
    """Return the selection of all but large blocks of the first `traces`, and of headings and verdicts of other traces."""
    return lambda trace, block: (
        (trace <= traces and not isinstance(block, _LARGE)) or (trace <= _MOST_TRACES and _is_essential(block))
    )


def _without(kinds: tuple[type, ...]) -> Keeps:
    return lambda _, block: not isinstance(block, kinds)


def _is_essential(block: Block) -> bool:
    return isinstance(block, Verdict) or (isinstance(block, Heading) and block.level <= _TRACE)


def _numbered(blocks: Iterable[Block]) -> Iterator[tuple[int, Block]]:
    """Yield (number of its trace, block) for each block; traces count from 1, blocks before the first trace have 0."""
    trace = 0
    for block in blocks:
        trace += isinstance(block, Heading) and block.level == _TRACE and block.anchor is not None
        yield trace, block


def _chapters(blocks: Iterable[Block], level: int) -> list[_Chapter]:
    chapters: list[_Chapter] = []
    for block in blocks:
        if isinstance(block, Heading) and block.level <= level:
            chapters.append(_Chapter(block))
        else:
            chapters[-1].blocks.append(block)
    return chapters


def _page(blocks: Sequence[Block], rendered: dict[int, Markup], left_out: str | None) -> str:
    def body(chapter: _Chapter, anchors: str) -> Markup:
        for block in chapter.blocks:
            if id(block) not in rendered:
                rendered[id(block)] = render_block(block, anchors)
        return Markup("\n").join(rendered[id(block)] for block in chapter.blocks)

    chapters = _chapters(blocks, _TRACE)
    style = _squeeze_style("".join(map(_read_code, _STYLES)) + palette.write_stylesheet())
    page = template_environment().get_template("page.html")

    def render_page(script: str) -> str:
        return page.render(
            chapters=chapters,
            body=body,
            title=_title(chapters),
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            version=__version__,
            left_out=left_out,
        )

    return f"{render_page(_collect_scripts(render_page('')))}\n"


def _collect_scripts(page: str) -> str:
    """Return the scripts that the page needs."""
    of_drawings = [name for mark, name in _SCRIPTS.items() if mark in page]
    return "".join(map(_read_code, ["script.js", *(["drawing.js", *of_drawings] if of_drawings else [])]))


@cache
def _read_code(name: str) -> str:
    """Return a script or style sheet without indentation and without comments that begin a line."""
    lines = map(str.strip, _COMMENT.sub("", read_source(name)).splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def _squeeze_style(style: str) -> str:
    """Return the style sheet without blanks that mean nothing: around braces, commas and semicolons, and after colons."""
    return re.sub(r"(?<=:) ", "", re.sub(r"\s*([{},;])\s*", r"\1", style))


def _title(chapters: Sequence[_Chapter]) -> str:
    """Return the title of the page as text: the trace's file, or the number of traces if that is not 1, and the verdict."""
    traces = [chapter for chapter in chapters if chapter.heading.anchor]
    name = f"{_plain(chapters[0].heading.spans)}, {len(traces)} traces"
    if len(traces) == 1:
        name = _plain(traces[0].heading.spans)
    said = [_plain(block.spans) for chapter in chapters for block in chapter.blocks if isinstance(block, Verdict)]
    return printable(shortened(". ".join([name, *said[:1]]), _TITLE_LIMIT))


def _plain(spans: Spans) -> str:
    return "".join(spans)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
