"""The words about a memory snapshot: its peak, who holds it, and what the allocator keeps beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import count, duration, maybe, share, size, some
from traceq.formats.capabilities import format_of
from traceq.reports.charts.memory import course
from traceq.reports.document import (
    Block,
    Commands,
    Curve,
    Facts,
    Heading,
    Name,
    Outcome,
    Paragraph,
    Query,
    Reference,
    Spans,
    Table,
    Verdict,
    table,
    with_code,
)
from traceq.reports.model import TraceReport
from traceq.reports.topics import Fragmentation, Memory, MemoryHolder, SnapshotPeak

# A line of the program is named as the owner of the peak if it holds at least so much of it.
_WORTH_NAMING = 0.1
_MOST_HOLDERS = 6
_CANNOT_TELL = "cannot tell"


def is_snapshot(report: TraceReport) -> bool:
    """Whether the trace is a memory snapshot and nothing else: it tells who holds memory, and no times."""
    return not format_of(report.trace.format).has_times


def highest_peak(report: TraceReport) -> int:
    """Bytes in use at the peak of the device where that is highest; 0 where nothing was ever in use."""
    return max((each.peak_bytes for each in report.topics.memory.snapshot), default=0)


def peaks(reports: Sequence[TraceReport]) -> Table:
    """A line for each device of each snapshot: how much was in use and reserved, and by whom."""
    pairs = [(report, peak) for report in reports for peak in report.topics.memory.snapshot]
    return table(
        pairs,
        {
            "trace": lambda each: Reference(f"t{each[0].trace.trace_id}"),
            "file": lambda each: Name(each[0].trace.file),
            "GPU": lambda each: str(each[1].device),
            "peak": lambda each: size(each[1].peak_bytes),
            "most reserved": lambda each: maybe(size, each[1].most_reserved_bytes),
            "in use at the end": lambda each: size(each[1].bytes_at_end),
        },
        text=(0, 1, 2),
    )


def peak_line(memory: Memory) -> Spans:
    """When most memory is in use, on the device where that is most, and who holds it."""
    peak = memory.snapshot[0]
    when = "" if peak.after_ns is None else f" after {duration(peak.after_ns)}"
    return (f"Peak: {size(peak.peak_bytes)} in use on GPU {peak.device}{when}; ", *_held(peak, memory))


def _held(peak: SnapshotPeak, memory: Memory) -> Spans:
    owned = [each for each in memory.holders if each.device == peak.device and each.owner]
    if not owned:
        return ("no stack says who holds it",)
    first = owned[0]
    part = _part(first.bytes, peak.peak_bytes)
    if first.bytes >= _WORTH_NAMING * peak.peak_bytes:
        return (Name(first.owner), f" holds {size(first.bytes)} ({part})")
    return (f"{some(peak.owners, 'line')} of the program hold it, none more than {size(first.bytes)} ({part})",)


def _part(part: int, peak: int) -> str:
    return share(part / peak) if peak else "-"


def verdict_of_snapshot(report: TraceReport) -> Verdict:
    """The peak and who holds it; below it by category, and what was reserved."""
    memory = report.topics.memory
    if not memory.snapshot:
        return Verdict(("The snapshot holds neither memory in use nor a history.",), "cannot tell")
    if report.failed:
        lines: tuple[Spans, ...] = ((f"{report.failed[0].rule}: {report.failed[0].error}",),)
    else:
        lines = (_by_category(memory), _reserved(memory.snapshot[0]))
    outcome: Outcome = "problem" if report.observations else "healthy"
    return Verdict(peak_line(memory), outcome, lines=tuple(line for line in lines if line))


def _by_category(memory: Memory) -> Spans:
    peak = memory.snapshot[0]
    parts = [
        f"{each.category or _CANNOT_TELL} {size(each.bytes)} ({_part(each.bytes, peak.peak_bytes)})"
        for each in memory.categories
        if each.device == peak.device
    ]
    return (", ".join(parts),) if parts else ()


def _reserved(peak: SnapshotPeak) -> Spans:
    if peak.most_reserved_bytes is None:
        return ("What was reserved then cannot be told: segments and events of the file contradict each other",)
    text = f"{size(peak.most_reserved_bytes)} reserved at most"
    if peak.failures and peak.failed_bytes is not None:
        text += f"; {some(peak.failures, 'allocation')} failed, of up to {size(peak.failed_bytes)}"
    return (text,)


def brief_snapshot(report: TraceReport, source: str, pair: str) -> Iterator[Block]:
    """What stands on the first screen below the verdict; `pair` are two snapshots to compare, as words of a command."""
    memory = report.topics.memory
    if memory.holders:
        yield _holders(memory, _MOST_HOLDERS)
    for each in report.observations:
        yield Paragraph((each.title, ". ", *with_code(each.text)))
        yield Facts((("try", with_code(each.fix)),))
    if report.not_applicable:
        yield Facts((("Also", (f"{some(len(report.not_applicable), 'rule')} cannot tell",)),))
    yield Commands(
        "Next",
        (
            ("all sections", f"traceq report {source} --full"),
            *((("against another snapshot", f"traceq compare {pair}"),) if pair else ()),
            ("all who hold it", f"traceq sql {source} 'from memory_holder'"),
        ),
    )


def snapshot(report: TraceReport) -> Iterator[Block]:
    """The section; nothing without a memory snapshot."""
    memory = report.topics.memory
    if not memory.snapshot:
        return
    yield Heading(3, ("Who holds the memory",))
    yield Paragraph((*peak_line(memory), "."))
    yield from (Paragraph((f"{words}.",)) for words in _doubts(memory.snapshot))
    yield table(
        memory.snapshot,
        {
            "GPU": lambda each: str(each.device),
            "peak": lambda each: size(each.peak_bytes),
            "after": lambda each: maybe(duration, each.after_ns),
            "reserved then": lambda each: maybe(size, each.reserved_bytes),
            "most reserved": lambda each: maybe(size, each.most_reserved_bytes),
            "in use at the end": lambda each: size(each.bytes_at_end),
            "reserved at the end": lambda each: maybe(size, each.reserved_at_end),
        },
    )
    yield Query(report.queries["memory_snapshot"])
    if memory.course:
        device = memory.snapshot[0].device
        highest = tuple(map(float, course(device, memory.course)[0]))
        yield Curve(highest, f"in use on GPU {device} over the history, 0 to {size(int(max(highest)))}")
        yield Query(report.queries["memory_course"])
    yield Paragraph(("At the peak, by what it is:",))
    peaks = {each.device: each.peak_bytes for each in memory.snapshot}
    yield table(
        memory.categories,
        {
            "GPU": lambda each: str(each.device),
            "category": lambda each: each.category or _CANNOT_TELL,
            "allocations": lambda each: count(each.allocations),
            "in use": lambda each: size(each.bytes),
            "share": lambda each: _part(each.bytes, peaks[each.device]),
        },
        text=(0, 1),
    )
    yield Query(report.queries["memory_categories"])
    yield Paragraph(("By line of the program:",))
    yield _holders(memory, len(memory.holders))
    yield Query(report.queries["memory_holders"])
    if memory.fragmentation:
        yield Paragraph(("What the allocator held when the snapshot was taken:",))
        yield _fragmentation(memory.fragmentation)
        yield Query(report.queries["memory_fragmentation"])


def _doubts(peaks: Sequence[SnapshotPeak]) -> Iterator[str]:
    """What the history does not tell."""
    for peak in peaks:
        where = f"GPU {peak.device}: " if len(peaks) > 1 else ""
        if peak.older:
            yield (
                f"{where}{some(peak.older, 'allocation')} ({size(peak.older_bytes)}) are older than the history: when they"
                " were made is not known"
            )
        if peak.lost:
            yield (
                f"{where}{some(peak.lost, 'allocation')} ({size(peak.lost_bytes)}) were neither released in the history nor"
                " are there at its end: it is incomplete, and the peak may be lower"
            )
        if peak.most_reserved_bytes is None:
            yield f"{where}segments and events contradict each other: what was reserved when cannot be told"


def _holders(memory: Memory, most: int) -> Table:
    peaks = {each.device: each.peak_bytes for each in memory.snapshot}
    first = memory.snapshot[0].device
    shown: Sequence[MemoryHolder] = [each for each in memory.holders if each.device == first][:most]
    return table(
        shown,
        {
            "held at the peak by": lambda each: Name(each.owner) if each.owner else "(no stack)",
            "what": lambda each: each.category or _CANNOT_TELL,
            "asked for in": lambda each: each.phase or "-",
            "allocations": lambda each: count(each.allocations),
            "in use": lambda each: size(each.bytes),
            "share": lambda each: _part(each.bytes, peaks[each.device]),
        },
        text=(0, 1, 2),
    )


def _fragmentation(rows: Sequence[Fragmentation]) -> Table:
    return table(
        rows,
        {
            "GPU": lambda each: str(each.device),
            "pool": lambda each: each.pool or "-",
            "segments": lambda each: f"{count(each.segments)} {each.kind or ''}".strip(),
            "reserved": lambda each: size(each.reserved_bytes),
            "in use": lambda each: size(each.active_bytes),
            "rounding": lambda each: size(each.rounding_bytes),
            "free segments": lambda each: size(each.free_segments_bytes),
            "free in used ones": lambda each: size(each.split_inactive_bytes),
            "largest free": lambda each: size(each.largest_free_bytes),
        },
        text=(0, 1, 2),
    )
