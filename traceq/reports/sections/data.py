"""The words about waiting for input: how long, what of it costs the GPU, and what the time went into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import count, duration, maybe, share
from traceq.reports.document import BarRow, Block, Heading, Items, Name, Paragraph, Query, Spans, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.sections.missing import cite_plan, how_to_record
from traceq.reports.sections.pictures import draw_bars, draw_pictures
from traceq.reports.topics.data import DataStall, LoaderFetches

_PARTS = {
    "waiting": "waiting_ns",
    "reading": "reading_ns",
    "transforms": "transform_ns",
    "Python": "python_ns",
    "other calls": "calls_ns",
    "not seen": "unexplained_ns",
}
_KINDS = {"multi_process": "worker processes", "in_process": "in this process"}


def describe_input(report: TraceReport) -> Iterator[Block]:
    """Yield the section on waiting for input; nothing if no fetch and no exposed copy of input was seen."""
    stall = report.topics.data.stall
    if not stall.data_wait_ns and not stall.data_stall_ns:
        return
    yield Heading(3, ("Waiting for input",))
    yield Paragraph(_write_headline(stall, report))
    if stall.data_wait_ns:
        yield from draw_bars(tuple(_make_bars(stall)))
    yield from draw_pictures(report, "data")
    yield Query(report.queries["data"])
    remarks = tuple(_list_remarks(stall))
    if remarks:
        yield Items(remarks)
    if report.topics.data.loaders:
        yield _loader_table(report.topics.data.loaders)
        yield Query(report.queries["data_loaders"])


def explain_no_input(report: TraceReport) -> tuple[Spans, ...]:
    """Return a line on why there is no section on input, as a tuple of one; empty if there is such a section."""
    stall = report.topics.data.stall
    if stall.data_wait_ns or stall.data_stall_ns:
        return ()
    if stall.data_wait_ns is None:
        return (("Waiting for input: nothing in the trace marks fetching", *_how_to_mark(report), "."),)
    return ((f"Waiting for input: none in the {report.period}.",),)


def _write_headline(stall: DataStall, report: TraceReport) -> Spans:

    def per_unit(nanoseconds: int) -> str:
        return f"{duration(nanoseconds / stall.steps)} per {report.unit}"

    if stall.data_wait_ns is None:
        known = per_unit(stall.data_stall_ns or 0)
        return (
            f"Copies of input keep the GPU from computing for {known}. Nothing in the trace marks fetching",
            *_how_to_mark(report),
            ".",
        )
    text = f"The training thread fetches for {per_unit(stall.data_wait_ns)}"
    if stall.data_stall_ns is None:
        return (f"{text}; without GPU work in the trace, the cost of that is unknown.",)
    if not stall.data_stall_ns:
        return (f"{text}, and the GPU never waits for it.",)
    parts = [f"{duration((stall.idle_data_ns or 0) / stall.steps)} idle"]
    if stall.input_copy_ns is not None:
        parts.append(f"{duration(stall.input_copy_ns / stall.steps)} in exposed copies of input")
    return (f"{text}. Input costs the GPU {per_unit(stall.data_stall_ns)}: {', '.join(parts)}.",)


def _how_to_mark(report: TraceReport) -> Spans:
    """Return how to mark fetches in the program; empty if the profiler does not record marks of traceq.annotate."""
    marked = how_to_record(report, "loader_mark", "; mark the loader: ")
    return (*marked, *cite_plan("data")) if marked else ()


def _make_bars(stall: DataStall) -> Iterator[BarRow]:
    """Yield a bar of the fetching time, hidden or costing the GPU, and a bar of what the time was spent in, if known."""
    wait = stall.data_wait_ns or 0
    if stall.hidden_ns is not None:
        parts = (("hidden", float(stall.hidden_ns)), ("costs the GPU", float(max(wait - stall.hidden_ns, 0))))
        yield BarRow("fetching", parts, duration(wait))
    inside = tuple((label, float(getattr(stall, field) or 0)) for label, field in _PARTS.items())
    known = tuple(part for part in inside if part[1])
    if known:
        yield BarRow("spent in", known, duration(sum(amount for _, amount in known)))


def _list_remarks(stall: DataStall) -> Iterator[Spans]:
    if stall.first_fetch_ns:
        yield (f"First fetches of an iterator, including its start: {duration(stall.first_fetch_ns)}.",)
    if stall.workers:
        busy = "" if stall.worker_busy_share is None else f", busy {share(stall.worker_busy_share)} of the time"
        yield (f"Workers seen: {count(stall.workers)}{busy}.",)


def _loader_table(rows: Sequence[LoaderFetches]) -> Table:
    return make_table(
        rows,
        {
            "loader": lambda each: Name(each.loader),
            "works in": lambda each: _KINDS.get(each.loader_kind or "", "-"),
            "fetches": lambda each: count(each.fetches),
            "time": lambda each: duration(each.dur_ns),
            "median": lambda each: duration(each.median_ns),
            "longest": lambda each: duration(each.longest_ns),
            "GPU waits": lambda each: maybe(duration, each.stalled_ns),
        },
        text=(0, 1),
    )
