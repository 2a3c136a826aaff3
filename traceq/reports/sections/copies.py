"""The words about copies: what they took, what hid them, how they were issued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import count, duration, format_bandwidth, maybe, size
from traceq.reports.document import (
    BarRow,
    Block,
    Heading,
    Items,
    Literal,
    Paragraph,
    Query,
    Spans,
    Table,
    make_table,
)
from traceq.reports.model import TraceReport
from traceq.reports.sections.missing import how_to_record
from traceq.reports.sections.pictures import draw_bars, draw_pictures
from traceq.reports.topics.copies import Copies, CopyGroup, CopyTotal, PeerCopy, UnifiedMemory

_LISTED = 8
_DIRECTIONS = {"copy_h2d": "h2d (host to device)", "copy_d2h": "d2h (device to host)", "copy_other": "other"}
_IN_WORDS = {
    "copy_h2d": "copies to the device",
    "copy_d2h": "copies to the host",
    "copy_other": "copies from GPU to GPU or of unified memory",
}

# Notes on copies that the driver ran as kernels.
_AS_KERNELS = ("copies_as_kernels", "memsets_as_kernels")


def describe_copies(report: TraceReport) -> Iterator[Block]:
    """Yield the section on copies; nothing if none ran."""
    facts = report.topics.copies
    if not facts.totals:
        return
    listed = sorted(facts.totals, key=lambda each: -each.exposed_ns)[:_LISTED]
    shown = [each for each in facts.totals if each in listed]
    yield Heading(3, ("Copies",))
    yield Paragraph((_write_headline(listed[0], report),))
    if len(shown) > 1:
        yield _total_table(shown)
    if any(each.exposed_ns < each.busy_ns for each in shown):
        yield from draw_bars([_make_bar(each, several=len(report.ledger) > 1) for each in shown])
    if len(facts.totals) > len(shown):
        yield Paragraph((f"{len(facts.totals) - len(shown)} with less exposed time are not shown.",))
    yield from draw_pictures(report, "copies")
    yield Query(report.queries["copies"])
    if facts.groups:
        yield _group_table(facts.groups)
        yield from _count_returning(facts.groups)
        yield Query(report.queries["copy_groups"])
    if facts.peers:
        yield _peer_table(facts.peers)
        yield from (_name_slow_pair(pair) for pair in facts.peers if pair.is_slow)
        yield Query(report.queries["peer_copies"])
    remarks = tuple(_describe_unified_memory(facts, report))
    if remarks:
        yield Items(remarks)
        yield Query(report.queries["unified_memory"])


def explain_no_copies(report: TraceReport) -> tuple[Spans, ...]:
    """Return a line on why there is no section on copies, as a tuple of one; empty if there is such a section or no GPU."""
    if report.topics.copies.totals or not report.ledger:
        return ()
    as_kernels = [f"{count(each.count)} {each.text}" for each in report.notes if each.code in _AS_KERNELS]
    if as_kernels:
        return ((f"Copies: none ran by an engine in the {report.period}; {'; '.join(as_kernels)}.",),)
    return ((f"Copies: none ran in the {report.period}.",),)


def _write_headline(worst: CopyTotal, report: TraceReport) -> str:
    """Return sentences on the device and direction with most exposed copies: number, size, time, and what hides them."""
    where = f" on GPU {worst.device}" if len(report.ledger) > 1 else ""
    behind = f"{duration(worst.overlapped_ns)} of it" if worst.overlapped_ns else "none of it"
    # Copies launched before the counted steps can elapse in them.
    amounts = [f"{count(worst.copies)} in all"] if worst.copies else []
    amounts += [size(worst.bytes)] if worst.copies and worst.bytes is not None else []
    which = f"{_IN_WORDS[worst.category]} ({', '.join(amounts)})" if amounts else _IN_WORDS[worst.category]
    text = (
        f"Most exposed{where}: {which}. They take"
        f" {duration(worst.busy_ns)}, {behind} behind compute, {duration(worst.exposed_ns)} exposed"
    )
    if not report.steps.is_window:
        text += f" ({duration(worst.exposed_ns / report.steps.counted)} per step)"
    if worst.could_overlap_ns and not report.steps.is_window:
        text += f"; at most {duration(worst.could_overlap_ns)} of that could overlap later compute in the same step"
    return f"{text}."


def _total_table(totals: Sequence[CopyTotal]) -> Table:
    return make_table(
        totals,
        {
            "GPU": lambda each: str(each.device),
            "direction": lambda each: _direction_in_words(each.category),
            "copies": lambda each: count(each.copies),
            "size": lambda each: maybe(size, each.bytes),
            "time": lambda each: duration(each.busy_ns),
            "behind compute": lambda each: duration(each.overlapped_ns),
            "behind other": lambda each: duration(each.hidden_ns),
            "exposed": lambda each: duration(each.exposed_ns),
        },
        text=(1,),
    )


def _direction_in_words(category: str) -> str:
    """Return the direction of a copy; a database of others may have categories of its own."""
    return _DIRECTIONS.get(category, category)


def _make_bar(total: CopyTotal, *, several: bool) -> BarRow:
    """Return the copies of a device and direction as a bar: behind compute, behind other work, exposed."""
    return BarRow(
        f"GPU {total.device} {_direction_in_words(total.category)}" if several else _direction_in_words(total.category),
        (
            ("behind compute", total.overlapped_ns),
            ("behind other work", total.hidden_ns),
            ("exposed", total.exposed_ns),
        ),
        duration(total.busy_ns),
    )


def _count_returning(groups: Sequence[CopyGroup]) -> Iterator[Block]:
    """Yield a sentence on the number of copies that may bring back what was copied to the host before; nothing for 0."""
    number = sum(each.returning for each in groups)
    if number:
        yield Paragraph(
            (
                (
                    f"{count(number)} of them may, by their size, bring back what another copy in the same step took "
                    "to the host."
                ),
            )
        )


def _peer_table(pairs: Sequence[PeerCopy]) -> Table:
    """Return a table of copies between GPUs by pair and size: how fast they are, and what their link carries at the most."""
    return make_table(
        pairs,
        {
            "from": lambda pair: f"GPU {pair.src_device}",
            "to": lambda pair: f"GPU {pair.dst_device}",
            "size of each": lambda pair: pair.size_class,
            "copies": lambda pair: count(pair.copies),
            "size": lambda pair: size(pair.bytes),
            "time": lambda pair: duration(pair.dur_ns),
            "bandwidth": lambda pair: format_bandwidth(pair.gb_per_s),
            "best": lambda pair: format_bandwidth(pair.best_gb_per_s),
            "link": lambda pair: (
                "cannot tell"
                if pair.link is None
                else f"{pair.link}{maybe(lambda rate: f', {format_bandwidth(rate)}', pair.link_gb_per_s)}"
            ),
        },
        text=(0, 1, 2, 8),
    )


def _name_slow_pair(pair: PeerCopy) -> Paragraph:
    """Return a sentence on a pair of GPUs whose copies are half as fast as those of other pairs, and what to check."""
    others = f"where other pairs reach {maybe(format_bandwidth, pair.other_gb_per_s)}"
    words = f"GPU {pair.src_device} to GPU {pair.dst_device}: {format_bandwidth(pair.gb_per_s)} for copies of"
    return Paragraph((f"{words} {pair.size_class}, {others}. Check what joins them: ", Literal("nvidia-smi topo -m")))


def _describe_unified_memory(facts: Copies, report: TraceReport) -> Iterator[Spans]:
    """Yield sentences on migrations of unified memory per GPU, and on page faults; nothing without unified memory."""
    for each in facts.unified_memory[:_LISTED]:
        if each.device is not None and each.migrations_h2d + each.migrations_d2h:
            yield (_count_migrations(each),)
    if not facts.unified_memory:
        return
    gpu = [each.gpu_faults for each in facts.unified_memory if each.gpu_faults is not None]
    cpu = [each.cpu_faults for each in facts.unified_memory if each.cpu_faults is not None]
    if gpu or cpu:
        faults = f"{_count_faults(gpu, 'GPUs')}, {_count_faults(cpu, 'the CPU')}"
        yield (f"Page faults: {faults}.",)
    else:
        yield ("Page faults: not recorded", *how_to_record(report, "page_faults", "; capture with "), ".")


def _count_migrations(each: UnifiedMemory) -> str:
    return (
        f"Unified memory of GPU {each.device}: {count(each.migrations_h2d)} migrations to it"
        f" ({maybe(size, each.bytes_h2d)}, {duration(each.h2d_ns)}), {count(each.migrations_d2h)} back"
        f" ({maybe(size, each.bytes_d2h)}, {duration(each.d2h_ns)})."
    )


def _count_faults(numbers: Sequence[int], where: str) -> str:
    return f"{count(sum(numbers))} of {where}" if numbers else f"those on {where} were not recorded"


def _group_table(groups: Sequence[CopyGroup]) -> Table:
    return make_table(
        groups,
        {
            "kind": lambda each: each.category.removeprefix("copy_"),
            "where": lambda each: each.position or "-",
            "size of each": lambda each: each.size_class or "-",
            "copies": lambda each: count(each.copies),
            "pageable": lambda each: maybe(count, each.pageable),
            "blocking": lambda each: maybe(count, each.blocking),
            "time": lambda each: duration(each.dur_ns),
            "exposed": lambda each: duration(each.exposed_ns),
            "bandwidth": lambda each: maybe(format_bandwidth, each.gb_per_s),
            "best": lambda each: maybe(format_bandwidth, each.best_gb_per_s),
        },
        text=(0, 1, 2),
    )
