"""The words about a memory snapshot: its peak, who holds it, and what the allocator keeps beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import count, duration, durations_alike, maybe, mebibytes, share, size, sizes_alike, some
from traceq.diagnosis.finding import Observation
from traceq.formats.capabilities import format_of
from traceq.reports.charts.memory import fill_parts
from traceq.reports.document import (
    Block,
    Commands,
    Curve,
    Facts,
    Heading,
    Literal,
    Name,
    Outcome,
    Paragraph,
    Query,
    Spans,
    Table,
    Verdict,
    make_table,
    split_code,
)
from traceq.reports.model import TraceReport
from traceq.reports.sections.pictures import draw_pictures
from traceq.reports.topics.memory import Fragmentation, Memory, MemoryHolder, SnapshotPeak

# A line of the program is named as the owner of the peak if it holds at least so much of it.
_WORTH_NAMING = 0.1
_MOST_HOLDERS = 6
_CANNOT_TELL = "cannot tell"
_NO_STACK = "(no stack)"
# Of a peak of which more has no known category nobody can say that it is as it should be.
_MUCH_UNKNOWN = 0.25
_RECORD_FROM_START: Spans = (
    "Record from before the model is built, with stacks: ",
    Literal('torch.cuda.memory._record_memory_history(stacks="python")'),
)


def is_snapshot(report: TraceReport) -> bool:
    """Return whether the trace is a memory snapshot, whose format has no times."""
    return not format_of(report.trace.format).has_times


def highest_peak(report: TraceReport) -> int:
    """Return the most bytes in use at once, on the device where this is highest; 0 if nothing was ever in use."""
    return max((each.peak_bytes for each in report.topics.memory.snapshot), default=0)


def find_out_of_memory(report: TraceReport) -> Observation | None:
    """Return the report's first observation of the rule out-of-memory; None if it has none."""
    return next((each for each in report.observations if each.rule == "out-of-memory"), None)


def history_words(memory: Memory) -> str:
    """Return text on the snapshot's history: how long it is by its own clock, or else how many events it has."""
    longest = max((each.history_ns or 0 for each in memory.snapshot), default=0)
    if longest:
        return f"history of {duration(longest)}"
    events = sum(each.events for each in memory.snapshot)
    return f"history of {some(events, 'event')}" if events else "no history"


def peak_line(memory: Memory) -> Spans:
    """Return a sentence without a period on the snapshot's first device: peak of bytes in use, when, and who holds most."""
    peak = memory.snapshot[0]
    when = ""
    if peak.after_ns is not None:
        when = f" after {duration(peak.after_ns)}"
    elif peak.number is not None:
        when = f" after event {count(peak.number + 1)} of {count(peak.events)}"
    return (f"Peak: {size(peak.peak_bytes)} in use on GPU {peak.device}{when}; ", *_name_holder(peak, memory))


def _name_holder(peak: SnapshotPeak, memory: Memory) -> Spans:
    owned = [each for each in memory.holders if each.device == peak.device and each.owner]
    if not owned:
        return ("no stack shows what holds it",)
    first = owned[0]
    part = _format_share(first.bytes, peak.peak_bytes)
    if first.bytes >= _WORTH_NAMING * peak.peak_bytes:
        return (Name(first.owner), f" holds {size(first.bytes)} ({part})")
    return (f"{some(peak.owners, 'line')} of the program hold it, none of them more than {size(first.bytes)} ({part})",)


def _format_share(part: int, peak: int) -> str:
    return share(part / peak) if peak else "-"


def verdict_of_snapshot(report: TraceReport) -> Verdict:
    """Return the verdict on a memory snapshot: that memory ran out, or else its peak and who holds most.

    Its lines are bytes by category and what was reserved, or on a failure what was missing and what to do.
    """
    memory = report.topics.memory
    if not memory.snapshot:
        return Verdict(
            ("The snapshot has neither memory in use nor a history.",), "cannot tell", lines=(_RECORD_FROM_START,)
        )
    if report.failed:
        first = report.failed[0]
        all_of_them = ("All that failed: ", Literal("traceq report TRACE --full"))
        return Verdict(peak_line(memory), "cannot tell", lines=((f"{first.rule}: {first.error}",), all_of_them))
    if failed := find_out_of_memory(report):
        short, *held = _explain_failure(memory)
        return Verdict((failed.title,), "problem", lines=(short, split_code(failed.deed), *held))
    found: Sequence[Spans] = [(f"{each.title}: ", *split_code(each.deed)) for each in report.observations[:1]]
    outcome: Outcome = "look into" if found else "healthy"
    if not found and _unknown_share(memory) > _MUCH_UNKNOWN:
        outcome, found = "cannot tell", (_RECORD_FROM_START,)
    lines = (_split_by_category(memory), _describe_reserved(memory.snapshot[0]))
    ordered = (*lines, *found) if outcome == "cannot tell" else (*lines[:1], *found, *lines[1:])
    return Verdict(peak_line(memory), outcome, lines=tuple(line for line in ordered if line))


def _unknown_share(memory: Memory) -> float:
    """Return the share (0..1) of the first device's peak for which no category is known."""
    peak = memory.snapshot[0]
    unknown = sum(each.bytes for each in memory.categories if each.device == peak.device and not each.category)
    return unknown / peak.peak_bytes if peak.peak_bytes else 0.0


def _explain_failure(memory: Memory) -> Iterator[Spans]:
    """Yield a line on how many bytes were missing and how many lay idle; then, if known, a line on who held most."""
    failure = memory.failures[0]
    short = (
        "The device had enough memory"
        if failure.short_bytes == 0
        else f"Short by {maybe(mebibytes, failure.short_bytes)}"
    )
    most = "" if failure.is_exact else "at most "
    idle = ""
    if failure.idle_bytes is not None:
        idle = f"; {most}{mebibytes(failure.idle_bytes)} unused in segments"
    if failure.largest_free_bytes:
        idle += f"; the largest free block had {most}{mebibytes(failure.largest_free_bytes)}"
    yield (f"{short}{idle}",)
    held = [each for each in memory.failure_holders if each.device == failure.device]
    if held:
        part = f"{mebibytes(held[0].bytes)} of {mebibytes(failure.used_bytes)}"
        yield (
            "Most is held by ",
            Name(held[0].owner) if held[0].owner else "allocations without a known stack",
            f": {part}",
        )


def _split_by_category(memory: Memory) -> Spans:
    """Return a line with bytes and share of each category at the peak of the first device; empty if none is known."""
    peak = memory.snapshot[0]
    parts = [
        f"{each.category or _CANNOT_TELL} {size(each.bytes)} ({_format_share(each.bytes, peak.peak_bytes)})"
        for each in memory.categories
        if each.device == peak.device
    ]
    return (", ".join(parts),) if parts else ()


def _describe_reserved(peak: SnapshotPeak) -> Spans:
    if peak.most_reserved_bytes is None:
        return ("How much was reserved is not known, because segments and events in the file contradict each other",)
    text = f"{size(peak.most_reserved_bytes)} reserved at most"
    if peak.failures and peak.failed_bytes is not None:
        text += f"; {some(peak.failures, 'allocation')} failed, of up to {size(peak.failed_bytes)}"
    return (text,)


def summarize_snapshot(report: TraceReport, source: str, pair: str) -> Iterator[Block]:
    """Yield the first screen below a snapshot's verdict: a table of the largest holders, observations, commands to run next.

    Commands name the file or database `source`; `pair` are two snapshots as arguments of `traceq compare`, "" for none.
    """
    memory = report.topics.memory
    told = find_out_of_memory(report)
    if told is not None and memory.failure_holders:
        yield _holders_at_failure(memory, memory.failures[0].device, _MOST_HOLDERS)
    elif memory.holders:
        yield _holders_at_peak(memory, _MOST_HOLDERS)
    for each in report.observations:
        yield Paragraph((each.title, ". ", *split_code(each.text)))
        yield Facts((("try", split_code(each.fix)),))
    if report.not_applicable:
        yield Facts((("Also", (f"{some(len(report.not_applicable), 'rule')} cannot tell",)),))
    yield Commands(
        "Next",
        (
            ("all sections", f"traceq report {source} --full"),
            *((("against another snapshot", f"traceq compare {pair}"),) if pair else ()),
            (
                "everything that holds it",
                f"traceq sql {source} 'from {'memory_failure_holder' if told else 'memory_holder'}'",
            ),
        ),
    )


def describe_snapshot(report: TraceReport) -> Iterator[Block]:
    """Yield the section on a memory snapshot: failures, peaks, course of memory, categories, holders, fragmentation, with SQL.

    Nothing for other traces.
    """
    memory = report.topics.memory
    if not memory.snapshot:
        return
    yield Heading(3, ("What holds the memory",))
    if memory.failures:
        yield from _describe_failures(report)
    yield Paragraph((*peak_line(memory), "."))
    yield from (Paragraph((f"{words}.",)) for words in _list_doubts(memory.snapshot))
    yield _peak_table(memory.snapshot)
    yield Query(report.queries["memory_snapshot"])
    if memory.course:
        device = memory.snapshot[0].device
        highest = tuple(map(float, fill_parts(device, memory.course)[0]))
        yield Curve(highest, f"in use on GPU {device} over the history, 0 to {size(int(max(highest)))}")
        yield Query(report.queries["memory_course"])
    if not is_snapshot(report):
        yield from draw_pictures(report, "snapshot")
    yield Paragraph(("At the peak, by category:",))
    of_category = sizes_alike(each.bytes for each in memory.categories)
    peaks = {each.device: each.peak_bytes for each in memory.snapshot}
    yield make_table(
        memory.categories,
        {
            "GPU": lambda each: str(each.device),
            "category": lambda each: each.category or _CANNOT_TELL,
            "allocations": lambda each: count(each.allocations),
            "in use": lambda each: of_category(each.bytes),
            "share": lambda each: _format_share(each.bytes, peaks[each.device]),
        },
        text=(0, 1),
    )
    yield Query(report.queries["memory_categories"])
    yield Paragraph(("By line of the program:",))
    yield _holders_at_peak(memory, len(memory.holders))
    yield Query(report.queries["memory_holders"])
    if memory.fragmentation:
        yield Paragraph(("What the allocator held when the snapshot was taken:",))
        yield _fragmentation_table(memory.fragmentation)
        yield Query(report.queries["memory_fragmentation"])


def _describe_failures(report: TraceReport) -> Iterator[Block]:
    """Yield a table of the last failed allocation on each device, and a table of who held memory on the first device then."""
    memory = report.topics.memory
    asked, free, short, reserved, used, idle, largest = (
        sizes_alike(getattr(each, f"{name}_bytes") for each in memory.failures)
        for name in ("asked", "free", "short", "reserved", "used", "idle", "largest_free")
    )
    after = durations_alike(each.after_ns for each in memory.failures)
    yield Paragraph(("Where memory ran out, the last time on each GPU:",))
    yield make_table(
        memory.failures,
        {
            "GPU": lambda each: str(each.device),
            "asked for by": lambda each: Name(each.owner) if each.owner else _NO_STACK,
            "after": lambda each: after(each.after_ns),
            "asked for": lambda each: asked(each.asked_bytes),
            "free": lambda each: free(each.free_bytes),
            "short by": lambda each: short(each.short_bytes),
            "reserved": lambda each: reserved(each.reserved_bytes),
            "in use": lambda each: used(each.used_bytes),
            "idle": lambda each: idle(each.idle_bytes),
            "largest free": lambda each: largest(each.largest_free_bytes),
        },
        text=(0, 1),
    )
    yield Query(report.queries["memory_failures"])
    if memory.failure_holders:
        yield _holders_at_failure(memory, memory.failures[0].device, len(memory.failure_holders))
        yield Query(report.queries["memory_failure_holders"])


def _peak_table(peaks: Sequence[SnapshotPeak]) -> Table:
    peak, then, most, end, reserved = (
        sizes_alike(getattr(each, name) for each in peaks)
        for name in ("peak_bytes", "reserved_bytes", "most_reserved_bytes", "bytes_at_end", "reserved_at_end")
    )
    after = durations_alike(each.after_ns for each in peaks)
    return make_table(
        peaks,
        {
            "GPU": lambda each: str(each.device),
            "peak": lambda each: peak(each.peak_bytes),
            "after": lambda each: after(each.after_ns),
            "reserved then": lambda each: then(each.reserved_bytes),
            "most reserved": lambda each: most(each.most_reserved_bytes),
            "in use at the end": lambda each: end(each.bytes_at_end),
            "reserved at the end": lambda each: reserved(each.reserved_at_end),
        },
    )


def _list_doubts(peaks: Sequence[SnapshotPeak]) -> Iterator[str]:
    """Yield a sentence without a period for each gap in the history: older allocations, lost ones, contradictions."""
    for peak in peaks:
        where = f"GPU {peak.device}: " if len(peaks) > 1 else ""
        if peak.older:
            yield (
                f"{where}{some(peak.older, 'allocation')} ({size(peak.older_bytes)}) are older than the "
                "history, so it is not known when they were made"
            )
        if peak.lost:
            yield (
                f"{where}{some(peak.lost, 'allocation')} ({size(peak.lost_bytes)}) are neither released in the "
                "history nor present at its end: it is incomplete, and the peak may be lower"
            )
        if peak.most_reserved_bytes is None:
            yield (
                f"{where}segments and events contradict each other, so it is not known how much was reserved at "
                "what time"
            )


def _holders_at_peak(memory: Memory, most: int) -> Table:
    """Return a table of the `most` largest holders at the peak of the snapshot's first device."""
    first = memory.snapshot[0]
    shown = [each for each in memory.holders if each.device == first.device][:most]
    return _holder_table(shown, "held at the peak by", first.peak_bytes)


def _holders_at_failure(memory: Memory, device: int, most: int) -> Table:
    """Return a table of the `most` largest holders at the moment when memory ran out on the device."""
    used = next(each.used_bytes for each in memory.failures if each.device == device)
    shown = [each for each in memory.failure_holders if each.device == device][:most]
    return _holder_table(shown, "held when memory ran out by", used)


def _holder_table(shown: Sequence[MemoryHolder], title: str, whole: int) -> Table:
    held = sizes_alike(each.bytes for each in shown)
    columns: dict[str, Callable[[MemoryHolder], str]] = {
        title: lambda each: Name(each.owner) if each.owner else _NO_STACK,
        "what": lambda each: each.category or _CANNOT_TELL,
    }
    if any(each.phase for each in shown):
        columns["asked for in"] = lambda each: each.phase or "-"
    texts = tuple(range(len(columns)))
    columns |= {
        "allocations": lambda each: count(each.allocations),
        "in use": lambda each: held(each.bytes),
        "share": lambda each: _format_share(each.bytes, whole),
    }
    return make_table(shown, columns, text=texts)


def _fragmentation_table(rows: Sequence[Fragmentation]) -> Table:
    reserved, active, rounding, free, split, largest = (
        sizes_alike(getattr(each, f"{name}_bytes") for each in rows)
        for name in ("reserved", "active", "rounding", "free_segments", "split_inactive", "largest_free")
    )
    return make_table(
        rows,
        {
            "GPU": lambda each: str(each.device),
            "pool": lambda each: each.pool or "-",
            "segments": lambda each: f"{count(each.segments)} {each.kind or ''}".strip(),
            "reserved": lambda each: reserved(each.reserved_bytes),
            "in use": lambda each: active(each.active_bytes),
            "rounding": lambda each: rounding(each.rounding_bytes),
            "free segments": lambda each: free(each.free_segments_bytes),
            "free in used ones": lambda each: split(each.split_inactive_bytes),
            "largest free": lambda each: largest(each.largest_free_bytes),
        },
        text=(0, 1, 2),
    )
