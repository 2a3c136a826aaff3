"""Compare two memory snapshots: what the peak is made of, before and after."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from traceq.app import notebook
from traceq.app.compare import TOP
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, check_writes, is_trace, open_source
from traceq.app.view import View
from traceq.common.text import printable
from traceq.database.connect import is_database
from traceq.dataset.manifest import is_dataset, open_existing
from traceq.errors import WrongUse
from traceq.formats.capabilities import format_of
from traceq.reports.comparison.memory import (
    MemoryComparison,
    MemorySide,
    compose_memory,
    find_memory_change,
    memory_verdict,
    read_memory_side,
)
from traceq.reports.document import Block
from traceq.reports.queries import read_rows
from traceq.reports.renderers.json_text import json_text, pick


class MemoryComparisonView(View[MemoryComparison]):
    """A comparison of two memory snapshots, with at most `top` lines of the program.

    `content` is the comparison as plain data, in bytes.
    """

    def __init__(self, content: MemoryComparison, *, top: int = TOP) -> None:
        super().__init__(content)
        self.top = top

    @property
    def verdict(self) -> str:
        """A sentence with both peaks, their difference and what made most of it."""
        return "".join(memory_verdict(self.content))

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_memory(self.content, self.top)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs; sizes in bytes."""
        return json_text({"schema_version": 1, **pick(self.content, *_KEYS)})

    def _repr_html_(self) -> str:
        words = f"<p><strong>traceq compare</strong></p>\n<p>{escape(printable(self.verdict))}</p>"
        return notebook.frame_page(self.to_html(), words, "traceq compare")


_KEYS = ("base", "new", "delta_bytes", "categories", "owners", "segments_only_base", "segments_only_new")


def compare_memory(base: Source, new: Source, read: ReadOptions = AS_FOUND, *, top: int = TOP) -> MemoryComparisonView:
    """Compare two memory snapshots: their peaks, and the categories and owners of the memory in them.

    Raises WrongUse for sources other than files of torch.cuda.memory._dump_snapshot() and databases of a single one.
    """
    if not (is_snapshot(base) and is_snapshot(new)):
        raise WrongUse("A memory snapshot can be compared only with another memory snapshot.")
    check_writes(read.writes, [base, new])
    return MemoryComparisonView(find_memory_change(_read_side(base, read), _read_side(new, read)), top=top)


def is_snapshot(source: Source) -> bool:
    """Return whether the source is a PyTorch memory snapshot, or a database of snapshots only."""
    path = Path(source)
    if is_dataset(source):
        # only datasets of one trace can be: looking into others may take long
        if len(open_existing(source)[1].pieces) != 1:
            return False
    elif not path.is_file():
        return False
    if is_dataset(source) or is_database(path):
        with open_source(source, "compared") as connection:
            formats = [row["format"] for row in read_rows(connection, "trace")]
        return bool(formats) and not any(format_of(name).has_times for name in formats)
    from traceq.importers.memory_snapshot import sniff

    return is_trace(source) and sniff(path)


def _read_side(source: Source, read: ReadOptions) -> MemorySide:
    """Return one side of a comparison of memory from the only snapshot in `source`.

    Raises WrongUse for several snapshots, and for one without memory in use and without history.
    """
    with open_source(source, "compared", read) as connection:
        traces = read_rows(connection, "trace")
        if len(traces) != 1:
            raise WrongUse(f"{source} holds {len(traces)} memory snapshots: compare files with one each.")
        side = read_memory_side(connection, traces[0]["trace_id"], traces[0]["path"])
    if side is None:
        raise WrongUse(f"{source}: nothing is in use in this snapshot, and it has no history.")
    return side
