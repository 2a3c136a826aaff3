"""A report as the last line of a notebook's cell, or of a console's.

Three forms, of which a front end takes the richest it can show: the page in a frame of its own, Markdown, plain text.
The latter two are a few lines for each trace: the whole is a call away (`to_markdown()`, `to_text()`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from textwrap import indent, wrap

from traceq.common.text import markdown, printable, shortened
from traceq.reports.document import verdict_in_a_line
from traceq.reports.model import Report, TraceReport
from traceq.reports.renderers.wrapping import to_plain_text
from traceq.reports.sections.headline import drop_source_folders, name_source, write_headline
from traceq.reports.sections.notes import list_warnings
from traceq.reports.sections.verdict import write_verdict

# Of the frame, in pixels: a screen of a notebook, which has its own bars above and below.
HEIGHT = 640

_MOST_TRACES = 8
_WIDTH = 98
_NAME_LIMIT = 70

# Scripts sort tables and copy queries; without allow-same-origin they reach nothing of the notebook.
_SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"

_SAME_PLACE = "grid-area: 1 / 1; min-width: 0"

# In a document without an address of its own a link to #F1 would lead to the notebook's address.
_BASE = '<base href="about:srcdoc">'


def verdict_to_text(report: Report) -> str:
    """Return the verdict on each trace of the report (at most eight) as plain text, for a console."""
    lines = ["traceq report", *(line for text in _write_first(report) for line in wrap(text, _WIDTH))]
    for trace in report.traces[:_MOST_TRACES]:
        said = _write_verdict(trace, report)
        lines += [_write_title(trace), *(indent("\n".join(wrap(text, _WIDTH)), "  ") for text in said)]
    return "\n".join([*lines, *_write_closing(report)])


def verdict_to_markdown(report: Report) -> str:
    """Return the verdict on each trace of the report (at most eight) as Markdown, for notebooks that show no HTML."""
    return "\n\n".join(_write_paragraphs(report, markdown, "**{}**")) + "\n"


def frame_report(report: Report, page: str) -> str:
    """Return HTML of the report `page` (HTML) in a frame, over the verdict as text."""
    words = "\n".join(f"<p>{text}</p>" for text in _write_paragraphs(report, escape, "<strong>{}</strong>"))
    return frame_page(page, words, "traceq report")


def frame_page(page: str, words: str, title: str) -> str:
    """Return HTML that shows `page` (HTML) in a frame, so that its styles and the notebook's do not mix.

    The frame lies over `words` (HTML), which remain visible where frames are removed (GitHub, untrusted notebooks).
    """
    # In an attribute only these two mean something; a page has many of < and ", which may stay as they are.
    source = page.replace("<head>", f"<head>{_BASE}", 1).replace("&", "&amp;").replace("'", "&#39;")
    return (
        f'<div style="display: grid">\n<div style="{_SAME_PLACE}; padding: 0 1em">\n{words}\n</div>\n'
        f'<iframe title="{title}" sandbox="{_SANDBOX}" allow="clipboard-write" height="{HEIGHT}"'
        f" style=\"{_SAME_PLACE}; width: 100%; height: {HEIGHT}px; border: 0; background: Canvas\" srcdoc='{source}'>"
        "</iframe>\n</div>"
    )


def _write_paragraphs(report: Report, escaped: Callable[[str], str], strong: str) -> Iterator[str]:
    """Yield the title of each trace, formatted by `strong`, and the paragraphs of its verdict; `escaped` escapes text."""
    report = drop_source_folders(report)
    yield strong.format("traceq report")
    yield from map(escaped, _write_first(report))
    for trace in report.traces[:_MOST_TRACES]:
        yield strong.format(escaped(_write_title(trace)))
        yield from map(escaped, _write_verdict(trace, report))
    yield from map(escaped, _write_closing(report))


def _write_title(trace: TraceReport) -> str:
    """Return the heading of a trace: its number, rank and file name."""
    rank = "" if trace.trace.rank is None else f", rank {trace.trace.rank}"
    return f"Trace {trace.trace.trace_id}{rank}: {shortened(printable(trace.trace.file), _NAME_LIMIT)}"


def _write_first(report: Report) -> Iterator[str]:
    """Yield the verdict on the whole of several traces, or on none, as plain text; of one trace its own is enough."""
    if len(report.traces) != 1:
        yield to_plain_text((verdict_in_a_line(write_headline(report).verdict),))


def _write_verdict(trace: TraceReport, report: Report) -> Iterator[str]:
    """Yield paragraphs on a trace as plain text: warnings of its import, and its verdict; of an only trace, the report's."""
    yield from (to_plain_text(warning.spans) for warning in list_warnings(trace.notes))
    is_only = len(report.traces) == 1
    said = write_headline(report).verdict if is_only else write_verdict(trace, name_source(report))
    yield to_plain_text((verdict_in_a_line(said),))


def _write_closing(report: Report) -> Iterator[str]:
    """Yield sentences on traces that are not listed and on how to see the whole report."""
    if not report.traces:
        return
    left = len(report.traces) - _MOST_TRACES
    if left > 0:
        yield f"... and {left} more traces: .traces lists them."
    yield "The whole report: .to_text(), .to_markdown(), .save('report.html')."
