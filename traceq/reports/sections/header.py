"""The header: which file, which profiler, which GPU, what a time is per."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import duration, share, size, some
from traceq.formats.capabilities import format_of
from traceq.reports.document import Header, Name, Spans
from traceq.reports.model import DeviceLedger, TraceFacts, TraceReport
from traceq.reports.sections.capture import program_words, summarize_made_with
from traceq.reports.sections.snapshot import history_words
from traceq.reports.sections.triage import unit_of_capture
from traceq.reports.sections.verdict import judges_a_part
from traceq.reports.sections.where_time_goes import split_step

# Windows by the reason of the table triage.
_WINDOWS = {
    "cold": "one-off work, mostly first calls",
    "whole_run": "one-off work, from the start of the program",
    "no_unit": "a fragment of one pass",
    "sampled": "a sample of the records",
}

# So many GPUs have a row each for their time; more share one.
_FEW_GPUS = 2

# A recording this many times as long as what the file holds is told beside it.
_MUCH_LONGER = 2


def write_header(report: TraceReport) -> Header:
    """Return the report's header: rows for file, profiler, GPUs, rank and steps, then details (GPU time, program, capture)."""
    facts = report.trace
    rows: list[tuple[str, Spans]] = [("file", (Name(facts.file),)), ("profiler", _name_profiler(facts))]
    used = [device.name or "GPU without a name" for device in report.devices if device.slices]
    if used:
        number = f"{len(used)} x " if len(used) > 1 else ""
        rows.append(("GPU", (number, Name(" and ".join(dict.fromkeys(used))))))
    if facts.rank is not None:
        rows.append(("rank", (f"rank {facts.rank}{'' if facts.world_size is None else f' of {facts.world_size}'}",)))
    rows.append(("unit", _describe_unit(report)))
    return Header(tuple(rows), tuple(_list_details(report)))


def header_line(report: TraceReport) -> Spans:
    """Return the rows of the header without its details, joined by " · " into spans of one line."""
    first, *rest = (spans for _, spans in write_header(report).rows)
    return (*first, *(span for spans in rest for span in (" · ", *spans)))


def _name_profiler(facts: TraceFacts) -> Spans:
    return (Name(facts.producer or f"{facts.format}, unknown profiler"),)


def _list_details(report: TraceReport) -> Iterator[tuple[str, Spans]]:
    yield from _list_gpu_times(report.ledger)
    if report.program:
        yield "program", (program_words(report.program),)
    if report.made_with:
        yield "made with", (summarize_made_with(report.made_with),)
    if report.trace.producer_version:
        yield "profiler version", (Name(report.trace.producer_version),)
    yield "capture", (f"{duration(report.trace.dur_ns)}, {size(report.trace.size_bytes)}",)


def _list_gpu_times(ledger: Sequence[DeviceLedger]) -> Iterator[tuple[str, Spans]]:
    """Yield the shares of compute, other work and idle time of each GPU; for more than two in one row, the least and the most."""
    shares = [split_step(device) for device in ledger]
    if len(ledger) <= _FEW_GPUS:
        for device, (busy, other, idle) in zip(ledger, shares, strict=True):
            yield (
                f"GPU {device.device} time",
                (f"compute {share(busy)}, other work {share(other)}, idle {share(idle)}",),
            )
        return
    kinds = zip(("compute", "other work", "idle"), zip(*shares, strict=True), strict=True)
    yield f"time of {len(ledger)} GPUs", (", ".join(f"{kind} {_format_range(values)}" for kind, values in kinds),)


def _format_range(shares: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys((share(min(shares)), share(max(shares)))))


def _judged_part(report: TraceReport) -> str:
    """Return text on how much of the capture is judged, and on how long a much longer recording lasted.

    It begins with ", " or "; ", to follow other text; "" if neither is worth saying.
    """
    facts = report.trace
    part = f", {share(report.judged_share)} of the capture" if judges_a_part(report) else ""
    if facts.recorded_ns is None or facts.dur_ns is None or facts.recorded_ns < _MUCH_LONGER * facts.dur_ns:
        return part
    return f"{part}; the recording lasted {duration(facts.recorded_ns)}"


def _describe_unit(report: TraceReport) -> Spans:
    steps = report.steps
    if not format_of(report.trace.format).has_times and not steps.counted - steps.is_window:
        return (history_words(report.topics.memory),)
    if words := unit_of_capture(report):
        return (words,)
    reason = report.triage.reason if report.triage else ""
    if steps.source is None:
        return ("no steps",)
    part = _judged_part(report)
    if steps.is_window:
        return (f"{_WINDOWS.get(reason, 'no steps found')}: one window of {duration(steps.p50_ns)}{part}",)
    like = (" like ", Name(steps.example)) if steps.example else ()
    said = f", {_WINDOWS[reason]}" if reason in _WINDOWS else ""
    return (some(steps.counted, "step"), *like, said, part)
