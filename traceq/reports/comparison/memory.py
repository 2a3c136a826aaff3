"""Two memory snapshots beside each other: peaks, what they are made of and who holds them, as data and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from traceq.common.units import change_share, size, sizes_alike, some
from traceq.reports.charts.snapshot import draw_pair, make_history
from traceq.reports.document import (
    Block,
    Heading,
    Literal,
    Name,
    Outcome,
    Paragraph,
    Picture,
    Spans,
    Table,
    Verdict,
    make_table,
)
from traceq.reports.queries import read_rows
from traceq.reports.topics.memory import MemoryCategory, MemoryHolder, MemoryLayer, SnapshotPeak

if TYPE_CHECKING:
    import duckdb

_ALL = 1 << 31
_CANNOT_TELL = "cannot tell"
_NO_STACK = "(no stack)"


class MemorySide(msgspec.Struct, frozen=True):
    """A memory snapshot: bytes by category and by line of the program at its device's peak, and segments at the end.

    `holders` maps a line of the program to the bytes that it holds, `segments` an address to bytes. `layers` are the bytes of
    each category over the history.
    """

    file: str
    peak: SnapshotPeak
    categories: Mapping[str, int]
    holders: Mapping[str, int]
    segments: Mapping[int, int]
    layers: tuple[MemoryLayer, ...]


class MemoryChange(msgspec.Struct, frozen=True):
    """The bytes of a category, or of a line of the program, at the peak of the base and of the new snapshot."""

    name: str
    base_bytes: int
    new_bytes: int

    @property
    def delta_bytes(self) -> int:
        """The bytes at the new peak less the bytes at the base's peak; negative if they shrank."""
        return self.new_bytes - self.base_bytes


class MemoryComparison(msgspec.Struct, frozen=True):
    """The change between two memory snapshots, each at its own peak, by category and by owner (a line of the program).

    Both lists are sorted by size of the change, the largest first. `segments_only_*` are addresses of segments that only one
    side has by address and size; they mean something only for snapshots of one process.
    """

    base: MemorySide
    new: MemorySide
    categories: tuple[MemoryChange, ...]
    owners: tuple[MemoryChange, ...]
    segments_only_base: tuple[int, ...]
    segments_only_new: tuple[int, ...]

    @property
    def delta_bytes(self) -> int:
        """The peak of the new snapshot less the peak of the base, bytes; negative if it shrank."""
        return self.new.peak.peak_bytes - self.base.peak.peak_bytes


def read_memory_side(connection: duckdb.DuckDBPyConnection, trace_id: int, path: str) -> MemorySide | None:
    """Read a memory snapshot from the database, of the device with the highest peak; None if no memory was ever in use.

    `path` is the snapshot's file; only its name is kept.
    """
    asked = {
        name: read_rows(connection, f"snapshot_{name}", trace_id=trace_id, top=_ALL)
        for name in ("peak", "category", "holder", "segment", "layer")
    }
    if not asked["peak"]:
        return None
    peak = msgspec.convert(asked["peak"][0], SnapshotPeak)
    categories = msgspec.convert(asked["category"], list[MemoryCategory])
    holders = msgspec.convert(asked["holder"], list[MemoryHolder])
    return MemorySide(
        PurePath(path).name,
        peak,
        {
            category.category or _CANNOT_TELL: category.bytes
            for category in categories
            if category.device == peak.device
        },
        {holder.owner or _NO_STACK: holder.bytes for holder in holders if holder.device == peak.device},
        {row["address"]: row["bytes"] for row in asked["segment"] if row["device"] == peak.device},
        tuple(msgspec.convert([row for row in asked["layer"] if row["device"] == peak.device], list[MemoryLayer])),
    )


def find_memory_change(base: MemorySide, new: MemorySide) -> MemoryComparison:
    """Return the comparison of two memory snapshots by category, by line of the program and by segment."""
    before, after = set(base.segments.items()), set(new.segments.items())
    return MemoryComparison(
        base,
        new,
        _list_changes(base.categories, new.categories),
        _list_changes(base.holders, new.holders),
        tuple(sorted(address for address, _ in before - after)),
        tuple(sorted(address for address, _ in after - before)),
    )


def _list_changes(base: Mapping[str, int], new: Mapping[str, int]) -> tuple[MemoryChange, ...]:
    """Return the change of each name that either side has (0 bytes where it is missing), the largest change first."""
    changes = [MemoryChange(name, base.get(name, 0), new.get(name, 0)) for name in {**base, **new}]
    return tuple(sorted(changes, key=lambda each: (-abs(each.delta_bytes), -each.base_bytes, each.name)))


def compose_memory(comparison: MemoryComparison, top: int) -> Iterator[Block]:
    """Yield the report on two memory snapshots: verdict, both peaks, all categories, and the first `top` lines of the program."""
    yield Heading(1, ("traceq compare",))
    yield Verdict(memory_verdict(comparison), _judge_outcome(comparison), label="Against the base")
    yield from _draw_histories(comparison)
    yield _tabulate_sides(comparison)
    yield Paragraph(("At the peak, by what it is:",))
    yield _tabulate_changes("category", comparison.categories)
    yield Paragraph(("By line of the program:",))
    yield _tabulate_changes("line", comparison.owners[:top])
    left = len(comparison.owners) - top
    if left > 0:
        yield Paragraph(
            (
                f"{some(left, 'more line')}, {_format_signed(sum(each.delta_bytes for each in comparison.owners[top:]))}.",
            )
        )


def _draw_histories(comparison: MemoryComparison) -> Iterator[Block]:
    """Yield a chart of both histories on one scale; nothing unless both have a history."""
    base, new = (
        make_history(name, side.peak, side.layers)
        for name, side in (("base", comparison.base), ("new", comparison.new))
    )
    if base is None or new is None:
        return
    peaks = f"{size(base.peak.peak_bytes)} at most in the base, {size(new.peak.peak_bytes)} in the new one"
    words = f"Memory in use over both histories: {peaks}."
    yield Picture("memory-histories", words, partial(draw_pair, base, new))


def memory_verdict(comparison: MemoryComparison) -> Spans:
    """Return a sentence with both peaks, their difference, and the line of the program that changed most."""
    base, new = comparison.base.peak, comparison.new.peak
    delta = comparison.delta_bytes
    words = f"Peak: {size(base.peak_bytes)} -> {size(new.peak_bytes)}"
    if not delta:
        return (f"{words}, the same to the byte",)
    part = f", {change_share(delta / base.peak_bytes)}" if base.peak_bytes else ""
    words += f" ({_format_signed(delta)}{part})"
    if not comparison.owners:
        return (words,)
    first = comparison.owners[0]
    return (f"{words}; ", Name(first.name), f" changed most, {_format_signed(first.delta_bytes)}")


def _judge_outcome(comparison: MemoryComparison) -> Outcome:
    """Return "problem" if the peak has grown, otherwise "healthy"."""
    return "problem" if comparison.delta_bytes > 0 else "healthy"


def _tabulate_sides(comparison: MemoryComparison) -> Table:
    """Return a table of both snapshots: file, GPU, peak, most reserved, and what is in use and reserved at the end."""
    sides = {"base": comparison.base, "new": comparison.new}
    peak, most, end, reserved = (
        sizes_alike(getattr(side.peak, name) for side in sides.values())
        for name in ("peak_bytes", "most_reserved_bytes", "bytes_at_end", "reserved_at_end")
    )
    return make_table(
        tuple(sides.items()),
        {
            "": lambda each: Literal(each[0]),
            "file": lambda each: Name(each[1].file),
            "GPU": lambda each: str(each[1].peak.device),
            "peak": lambda each: peak(each[1].peak.peak_bytes),
            "most reserved": lambda each: most(each[1].peak.most_reserved_bytes),
            "in use at the end": lambda each: end(each[1].peak.bytes_at_end),
            "reserved at the end": lambda each: reserved(each[1].peak.reserved_at_end),
        },
        text=(0, 1, 2),
    )


def _tabulate_changes(what: str, changes: Sequence[MemoryChange]) -> Table:
    """Return a table of bytes on both sides and their difference; `what` is the title of the first column."""
    base, new = (
        sizes_alike(change.base_bytes for change in changes),
        sizes_alike(change.new_bytes for change in changes),
    )
    delta = sizes_alike(abs(change.delta_bytes) for change in changes)
    return make_table(
        changes,
        {
            what: lambda each: Name(each.name),
            "base": lambda each: base(each.base_bytes),
            "new": lambda each: new(each.new_bytes),
            "difference": lambda each: _format_signed(each.delta_bytes, delta),
        },
    )


def _format_signed(value: int, words: Callable[[int], str] = size) -> str:
    """Return the bytes as text with a sign, none for 0; `words` formats the absolute value."""
    return f"-{words(-value)}" if value < 0 else f"+{words(value)}" if value else words(0)
