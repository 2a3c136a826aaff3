"""The words about what importing met: warnings of lost data, and all notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.text import shortened
from traceq.common.units import count
from traceq.reports.document import Block, Heading, Items, Paragraph, Query, Warn
from traceq.reports.model import Note, TraceReport

_NOTE_LIMIT = 600


def list_warnings(notes: Sequence[Note]) -> Iterator[Warn]:
    """Yield a warning for each note on lost data or an incomplete capture."""
    for note in notes:
        if note.severity != "info":
            kind = "Incomplete capture" if note.severity == "error" else "Data lost on import"
            yield Warn((f"{kind}: ", _format_note(note)))


def describe_notes(report: TraceReport) -> Iterator[Block]:
    """Yield the section of all notes on the import."""
    yield Heading(3, ("Import notes",), is_minor=True)
    if not report.notes:
        yield Paragraph(("None: everything in the file was read.",))
    else:
        yield Items(tuple((f"{note.severity}: ", _format_note(note)) for note in report.notes))
    yield Query(report.queries["notes"])


def _format_note(note: Note) -> str:
    return shortened(f"{note.text} ({note.code}, {count(note.count)}x)", _NOTE_LIMIT)
