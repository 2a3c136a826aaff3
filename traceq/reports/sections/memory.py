"""The words about memory: its peak against what the GPU has, its course, and the calls that ask the driver for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import UNKNOWN, count, durations_alike, maybe, share, size, sizes_alike
from traceq.reports.charts.memory import fill_parts
from traceq.reports.document import BarRow, Block, Curve, Heading, Name, Paragraph, Query, Spans, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.sections.missing import capture_with
from traceq.reports.sections.pictures import draw_bars, draw_pictures
from traceq.reports.topics.memory import AllocatorCall, EventHolder, MemoryPeak

_LISTED = 4


def describe_memory(report: TraceReport) -> Iterator[Block]:
    """Yield the section on memory; nothing if the trace has neither samples nor allocator calls."""
    facts = report.topics.memory
    if not facts.peaks and not facts.calls:
        return
    yield Heading(3, ("Memory",))
    if facts.peaks:
        yield from _describe_peaks(report)
        yield from draw_pictures(report, "memory")
        yield from _describe_holders(report)
    else:
        yield Paragraph(("The amount of allocated memory was not recorded; ", *capture_with(report, "memory"), "."))
    if facts.calls:
        yield Paragraph((f"Calls to the driver in the {report.period}:",))
        yield _call_table(facts.calls)
        yield Query(report.queries["allocator_calls"])


def explain_no_memory(report: TraceReport) -> tuple[Spans, ...]:
    """Return a line on why there is no section on memory, as a tuple of one; empty if there is such a section."""
    facts = report.topics.memory
    if facts.peaks or facts.calls:
        return ()
    return (("Memory: not recorded; ", *capture_with(report, "memory"), "."),)


def _describe_peaks(report: TraceReport) -> Iterator[Block]:
    facts = report.topics.memory
    of_devices = [each for each in facts.peaks if each.memory == "device"]
    listed = sorted(of_devices, key=lambda each: -each.peak_bytes)[:_LISTED]
    if listed:
        yield Paragraph((_write_headline(listed[0], several=len(of_devices) > 1),))
    yield _peak_table([each for each in facts.peaks if each in listed or each.memory != "device"])
    bars = tuple(_capacity_bar(each) for each in listed if each.capacity_bytes)
    if bars:
        yield from draw_bars(bars)
    if len(of_devices) > len(listed):
        yield Paragraph((f"{len(of_devices) - len(listed)} GPUs with lower peaks are not shown.",))
    yield Query(report.queries["memory"])
    if listed and facts.timeline:
        yield from _draw_course(listed[0], report)


def _write_headline(peak: MemoryPeak, *, several: bool) -> str:
    where = f" on GPU {peak.device}" if several else ""
    least = "" if peak.is_total else "at least "
    text = f"Peak{where}: {least}{size(peak.peak_bytes)} allocated in step {peak.peak_step}"
    if peak.capacity_bytes:
        text += f", {share(peak.peak_bytes / peak.capacity_bytes)} of the GPU's {size(peak.capacity_bytes)}"
    if peak.peak_unused_bytes:
        text += f"; PyTorch's cache held up to {size(peak.peak_unused_bytes)} more at a step's peak"
    if not peak.is_total:
        text += "; memory that was allocated before the capture and never touched in it is not included"
    return f"{text}."


def _peak_table(rows: Sequence[MemoryPeak]) -> Table:
    peak, reserved, capacity = (
        sizes_alike(getattr(each, f"{name}_bytes") for each in rows) for name in ("peak", "reserved", "capacity")
    )
    growth = sizes_alike(abs(round(each.growth_per_step_bytes or 0)) for each in rows)
    return make_table(
        rows,
        {
            "memory": lambda each: each.memory,
            "GPU": lambda each: maybe(str, each.device),
            "peak": lambda each: peak(each.peak_bytes),
            "in step": lambda each: str(each.peak_step),
            "reserved": lambda each: reserved(each.reserved_bytes),
            "capacity": lambda each: capacity(each.capacity_bytes),
            "growth per step": lambda each: _format_growth(each.growth_per_step_bytes, growth),
            "growing steps": lambda each: f"{count(each.growing_steps)} of {count(each.steps)}" if each.steps else "-",
        },
    )


def _format_growth(amount: float | None, words: Callable[[int | None], str]) -> str:
    if amount is None:
        return "-"
    whole = round(amount)
    return f"-{words(-whole)}" if whole < 0 else words(whole)


def _capacity_bar(peak: MemoryPeak) -> BarRow:
    capacity = peak.capacity_bytes or peak.peak_bytes
    cached = max(min(peak.reserved_bytes or 0, capacity) - peak.peak_bytes, 0)
    parts = (
        ("allocated", float(peak.peak_bytes)),
        ("cached", float(cached)),
        ("free", float(max(capacity - peak.peak_bytes - cached, 0))),
    )
    return BarRow(f"GPU {peak.device}", parts, size(capacity))


def _draw_course(peak: MemoryPeak, report: TraceReport) -> Iterator[Block]:
    values = tuple(map(float, fill_parts(peak.device, report.topics.memory.timeline)[0]))
    if max(values) > min(values):
        yield Curve(
            values,
            f"allocated on GPU {peak.device} from the first counted step to the last, 0 to {size(int(max(values)))}",
        )
        yield Query(report.queries["memory_timeline"])


def _describe_holders(report: TraceReport) -> Iterator[Block]:
    """Yield who holds memory at the peak of the GPU with the highest one, of those with allocations of known operators.

    A sentence says how much was allocated before the capture; a table lists the operators that asked for the rest.
    """
    facts = report.topics.memory
    known = {holder.device for holder in facts.event_holders}
    peaks = [peak for peak in facts.peaks if peak.memory == "device" and peak.device in known]
    if not peaks:
        return
    peak = max(peaks, key=lambda peak: peak.peak_bytes)
    shown = [holder for holder in facts.event_holders if holder.device == peak.device]
    held = shown[0].all_bytes
    older = max(peak.peak_bytes - held, 0) if peak.is_total else 0
    before = f" ({size(older)} before it)" if older else ""
    yield Paragraph((f"{size(held)} of the peak on GPU {peak.device} were allocated during the capture{before}, by:",))
    yield _holder_table(shown, held + older)
    yield Query(report.queries["memory_event_holders"])


def _holder_table(rows: Sequence[EventHolder], whole: int) -> Table:
    held = sizes_alike(row.bytes for row in rows)
    columns: dict[str, Callable[[EventHolder], str]] = {"operator": lambda each: Name(each.operator or UNKNOWN)}
    if any(row.module for row in rows):
        columns["module"] = lambda each: Name(each.module or "-")
    if any(row.line for row in rows):
        columns["line"] = lambda each: Name(each.line or "-")
    texts = tuple(range(len(columns)))
    columns |= {
        "allocations": lambda each: count(each.allocations),
        "allocated": lambda each: held(each.bytes),
        "share": lambda each: share(each.bytes / whole),
    }
    return make_table(rows, columns, text=texts)


def _call_table(rows: Sequence[AllocatorCall]) -> Table:
    dur, longest = durations_alike(each.dur_ns for each in rows), durations_alike(each.longest_ns for each in rows)
    return make_table(
        rows,
        {
            "call": lambda each: Name(each.name),
            "what it does": lambda each: each.operation,
            "calls": lambda each: count(each.calls),
            "time": lambda each: dur(each.dur_ns),
            "longest": lambda each: longest(each.longest_ns),
        },
        text=(0, 1),
    )
