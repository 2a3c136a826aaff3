"""The words about several memory snapshots: of the ranks of a job which ran out of memory, which first, and who differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from traceq.common.ranks import list_ranks
from traceq.common.units import count, duration, mebibytes, size, sizes_alike, some
from traceq.reports.document import Block, Name, Paragraph, Reference, Spans, Table, Verdict, make_table
from traceq.reports.model import TraceReport
from traceq.reports.sections.snapshot import highest_peak
from traceq.reports.topics.memory import MemoryFailure, SnapshotPeak

# Of a peak: ranks that differ by less are alike, as a line that holds less of it is not named.
_WORTH_NAMING = 0.1
# Clocks of machines that are synchronized differ by less.
_CLOCKS_DIFFER_NS = 1_000_000_000
_FEWEST_TO_COMPARE = 2

_Failed = tuple[TraceReport, MemoryFailure]
_Row = tuple[TraceReport, SnapshotPeak, MemoryFailure | None]


def is_job(reports: Sequence[TraceReport]) -> bool:
    """Return whether the snapshots are of different ranks, which their files' names tell."""
    ranks = [each.trace.rank for each in reports]
    return len(reports) > 1 and None not in ranks and len(set(ranks)) == len(ranks)


def find_first_failure(reports: Sequence[TraceReport]) -> tuple[TraceReport, str] | None:
    """Return the snapshot in which memory ran out first, and sentences on which ranks failed; None if memory ran out in none."""
    failed = _find_failures(reports)
    if not failed:
        return None
    told = [_count_failures(failed, reports), *([_tell_first(failed, reports)] if len(failed) > 1 else [])]
    return failed[0][0], f"{'. '.join(told)}."


def describe_snapshots(reports: Sequence[TraceReport], most: int) -> Iterator[Block]:
    """Yield a table of at most `most` snapshots, and a paragraph on the rank that differs."""
    failed = _find_failures(reports)
    one_job = is_job(reports)
    order = _by_rank if one_job else _by_peak
    ordered = sorted(reports, key=order)
    shown = ordered[:most]
    kind = "the snapshot of each" if one_job else "the peak of each"
    yield Paragraph((f"{some(len(ordered), 'rank' if one_job else 'memory snapshot')}, {kind}:",))
    yield _peak_table(shown, is_job=one_job)
    left = len(ordered) - len(shown)
    told = [f"{count(left)} more are not listed."] if left else []
    told += [each for each in (_describe_imbalance(reports) if one_job else "", _compare_shares(failed)) if each]
    if told:
        yield Paragraph((" ".join(told),))


def _by_rank(report: TraceReport) -> int:
    return report.trace.rank or 0


def _by_peak(report: TraceReport) -> tuple[int, int]:
    return -highest_peak(report), report.trace.trace_id


def _find_failures(reports: Sequence[TraceReport]) -> list[_Failed]:
    """Return (snapshot, failure) for each snapshot that ran out of memory, the earliest first.

    The failure is the one on the first device that failed.
    """
    found = [(each, each.topics.memory.failures[0]) for each in reports if each.topics.memory.failures]
    return sorted(found, key=lambda each: (each[1].ts is None, each[1].ts or 0, each[0].trace.trace_id))


def _name_trace(report: TraceReport) -> str:
    facts = report.trace
    return f"trace {facts.trace_id}" if facts.rank is None else f"rank {facts.rank}"


def judge_failures(reports: Sequence[TraceReport]) -> Verdict | None:
    """Return the verdict on several snapshots in some of which memory ran out: how many, and which first; else None."""
    failed = _find_failures(reports)
    if not failed:
        return None
    report, failure = failed[0]
    lines: list[Spans] = [(_tell_first(failed, reports),)] if len(failed) > 1 else []
    who: Spans = (Name(failure.owner), " asked") if failure.owner else ("asked",)
    free = "" if failure.free_bytes is None else f", {mebibytes(failure.free_bytes)} were free"
    lines.append((f"{_name_trace(report).capitalize()}: ", *who, f" for {mebibytes(failure.asked_bytes)}{free}"))
    return Verdict((_count_failures(failed, reports),), "problem", lines=tuple(lines))


def _count_failures(failed: Sequence[_Failed], reports: Sequence[TraceReport]) -> str:
    """Return a phrase on how many of the snapshots ran out of memory, with the ranks."""
    if not is_job(reports):
        return f"Out of memory in {len(failed)} of {some(len(reports), 'snapshot')}"
    which = f" ({list_ranks([each.trace.rank or 0 for each, _ in failed])})" if len(failed) < len(reports) else ""
    return f"Out of memory in {len(failed)} of {some(len(reports), 'rank')}{which}"


def _tell_first(failed: Sequence[_Failed], reports: Sequence[TraceReport]) -> str:
    """Return a phrase on which of the failures was first, or that this cannot be told by the clocks."""
    (first, at), (second, then) = failed[:2]
    if at.ts is None or then.ts is None:
        return "Events have no times, so it is not known which was first"
    gap = then.ts - at.ts
    if gap > 0 and (_on_one_machine(reports) or gap > _CLOCKS_DIFFER_NS):
        return f"{_name_trace(first).capitalize()} was first, {duration(gap)} before {_name_trace(second)}"
    return f"It is not known which was first: {_name_trace(first)} and {_name_trace(second)} are within {duration(gap)}"


def _on_one_machine(reports: Sequence[TraceReport]) -> bool:
    """Return whether the snapshots seem to come from one machine: no GPU number is in two of them."""
    devices = [peak.device for each in reports for peak in each.topics.memory.snapshot if peak.peak_bytes]
    return len(set(devices)) == len(devices)


def _peak_table(reports: Sequence[TraceReport], *, is_job: bool) -> Table:
    """Return a table with a row for each device of each snapshot: bytes in use, reserved, and missing at a failure."""
    pairs = [
        (report, peak, next((f for f in report.topics.memory.failures if f.device == peak.device), None))
        for report in reports
        for peak in report.topics.memory.snapshot
    ]
    most, reserved, end = (
        sizes_alike(getattr(peak, name) for _, peak, _ in pairs)
        for name in ("peak_bytes", "most_reserved_bytes", "bytes_at_end")
    )
    rank_or_file: dict[str, Callable[[_Row], str]] = {"file": lambda each: Name(each[0].trace.file)}
    columns: dict[str, Callable[[_Row], str]] = {
        "trace": lambda each: Reference(f"t{each[0].trace.trace_id}"),
        **({"rank": lambda each: str(each[0].trace.rank)} if is_job else rank_or_file),
        "GPU": lambda each: str(each[1].device),
        "peak": lambda each: most(each[1].peak_bytes),
        "most reserved": lambda each: reserved(each[1].most_reserved_bytes),
    }
    failures = [failure for *_, failure in pairs if failure is not None]
    if failures:
        for title, name in (("asked for", "asked_bytes"), ("free", "free_bytes"), ("idle", "idle_bytes")):
            columns[title] = _failure_column(name, failures)
    else:
        columns["in use at the end"] = lambda each: end(each[1].bytes_at_end)
    return make_table(pairs, columns, text=(0, 1, 2))


def _failure_column(name: str, failures: Sequence[MemoryFailure]) -> Callable[[_Row], str]:
    """Return the function from a row to the size in the field `name` of its failure; a dash without a failure."""
    words = sizes_alike(getattr(each, name) for each in failures)
    return lambda each: "-" if each[2] is None else words(getattr(each[2], name))


def _describe_imbalance(reports: Sequence[TraceReport]) -> str:
    """Return sentences on the rank whose peak differs most from the median, and on the category it differs in.

    Empty for too few ranks.
    """
    peaks = [highest_peak(each) for each in reports]
    usual = median(peaks)
    if len(reports) < _FEWEST_TO_COMPARE or not usual:
        return ""
    beyond, other = max(
        ((peak - usual, each) for peak, each in zip(peaks, reports, strict=True)),
        key=lambda each: (abs(each[0]), -_by_rank(each[1])),
    )
    if abs(beyond) < _WORTH_NAMING * usual:
        return f"All ranks peak within {size(round(abs(beyond)))} of {size(round(usual))}."
    more = "more" if beyond > 0 else "less"
    text = (
        f"{_name_trace(other).capitalize()} differs most: its peak is {size(highest_peak(other))},"
        f" {size(round(abs(beyond)))} {more} than on the median rank"
    )
    every = [_bytes_by_category(each) for each in reports]
    own = _bytes_by_category(other)
    differs = {
        name: (own.get(name, 0) - median(each.get(name, 0) for each in every)) * (1 if beyond > 0 else -1)
        for name in sorted({name for each in every for name in each})
    }
    name = max(differs, key=lambda each: differs[each], default="")
    if name and differs[name] >= abs(beyond) / 2:
        text += f", mostly {name}"
    return f"{text}."


def _bytes_by_category(report: TraceReport) -> dict[str, int]:
    """Return the bytes in use by category, at the peak of the device with the highest one."""
    memory = report.topics.memory
    device = memory.snapshot[0].device if memory.snapshot else None
    return {each.category or "of unknown kind": each.bytes for each in memory.categories if each.device == device}


def _compare_shares(failed: Sequence[_Failed]) -> str:
    """Return a sentence on the rank with the least memory (reserved and free) at its failure.

    Empty if all ranks had about as much.
    """
    seen = [
        (failure.reserved_bytes + failure.free_bytes, report)
        for report, failure in failed
        if failure.reserved_bytes is not None and failure.free_bytes is not None
    ]
    if len(seen) < _FEWEST_TO_COMPARE:
        return ""
    (least, poor), (most, rich) = (choose(seen, key=lambda each: each[0]) for choose in (min, max))
    if most - least < _WORTH_NAMING * most:
        return ""
    return (
        f"When memory ran out, {_name_trace(poor)} had {mebibytes(least)} (reserved and free) and "
        f"{_name_trace(rich)} {mebibytes(most)}: if the GPUs are of one size, other processes held "
        f"{mebibytes(most - least)} more on the GPU of {_name_trace(poor)}."
    )
