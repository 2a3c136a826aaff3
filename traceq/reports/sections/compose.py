"""The words of the report: from a Report to a document of headings, tables and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from traceq.analysis.categories import BUSY, label
from traceq.common.units import count, duration, share, some
from traceq.diagnosis.choose import choose
from traceq.diagnosis.finding import Observation
from traceq.errors import StoreError
from traceq.reports.document import (
    Bar,
    Block,
    Flame,
    Fold,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Query,
    Table,
    Tracks,
    Warn,
    with_code,
)
from traceq.reports.model import DeviceLedger, Host, Job, LedgerPart, Report, TraceReport
from traceq.reports.sections.account import account
from traceq.reports.sections.brief import brief, critical_trace, job_screen, traces
from traceq.reports.sections.capture import capture, quality
from traceq.reports.sections.communication import communication, no_communication
from traceq.reports.sections.conditions import conditions
from traceq.reports.sections.copies import copies, no_copies
from traceq.reports.sections.critical_path import critical_path, no_critical_path
from traceq.reports.sections.data import data, no_data
from traceq.reports.sections.extra import extra_in_short
from traceq.reports.sections.findings import finding_in_full, finding_queries, findings, remark
from traceq.reports.sections.header import header
from traceq.reports.sections.idle import gaps, outliers, training_thread
from traceq.reports.sections.job_findings import findings_of_rule
from traceq.reports.sections.jobs import judged, of_rank
from traceq.reports.sections.kernels import kernels, no_kernels
from traceq.reports.sections.marks import marks
from traceq.reports.sections.memory import memory, no_memory
from traceq.reports.sections.missing import way
from traceq.reports.sections.notes import notes, warnings
from traceq.reports.sections.outcomes import outcomes
from traceq.reports.sections.pictures import pictures, pictures_of_job, ranks_picture
from traceq.reports.sections.ranking import ranking
from traceq.reports.sections.serving import serving
from traceq.reports.sections.snapshot import is_snapshot, snapshot
from traceq.reports.sections.steps import steps
from traceq.reports.sections.verdict import verdicts
from traceq.reports.sections.where_time_goes import where_time_goes

_MOST_IN_OVERVIEW = 500
_SECTION = 3
# Sections on less of the time than this may be shown folded.
_WORTH_OPENING = 0.01
# Sections on a topic, and the categories of the ledger that it is about.
_TOPICS: dict[Callable[[TraceReport], Iterator[Block]], tuple[str, ...]] = {
    copies: ("copy_h2d", "copy_d2h", "copy_other"),
    communication: ("communication", "idle_communication"),
    kernels: ("compute",),
    data: ("idle_data",),
    memory: ("idle_allocation",),
    snapshot: (),
}


def compose(report: Report, *, folds: bool = False, draws: bool = False, sql: bool = True) -> Iterator[Block]:
    """The whole report, trace by trace; for formats that can show blocks folded, and such that can show tracks."""
    blocks = _all(report, folds=folds, draws=draws)
    return blocks if sql else without_sql(blocks)


def evidence(report: Report, source: str | None, *, sql: bool) -> Iterator[Block]:
    """The first screen, then the evidence for each finding of the trace that it is about."""
    yield from brief(report, source)
    if report.traces:
        shown = critical_trace(report)[0] if len(report.traces) > 1 else report.traces[0]
        blocks = findings(shown, folds=False, draws=False)
        yield from blocks if sql else without_sql(blocks)
        if sql:
            yield from finding_queries(shown)


def one_finding(report: Report, name: str, *, sql: bool) -> Iterator[Block]:
    """All there is to say about a finding: F1, its id or its rule, about what a rule of jobs found, or a remark.

    Raises StoreError where there is none of that name.
    """
    of_job = [block for job in report.jobs for block in findings_of_rule(job, name.casefold())]
    if of_job:
        yield from of_job if sql else without_sql(of_job)
        return
    try:
        chosen = choose(name, {trace.trace.trace_id: trace.every_finding for trace in report.traces})
    except StoreError:
        told = [each for trace in report.traces for each in trace.observations if _is_called(each, name)]
        if not told:
            raise
        for each in told:
            yield from remark(each)
            if sql:
                yield Query(each.evidence.query)
        return
    trace = next(trace for trace in report.traces if chosen.finding in trace.every_finding)
    yield from finding_in_full(chosen.place, chosen.finding, trace, sql=sql)


def _is_called(observation: Observation, name: str) -> bool:
    return name.casefold() in (observation.finding_id.casefold(), observation.rule.casefold())


def without_sql(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks but for their queries, and what holds nothing else."""
    for block in blocks:
        if isinstance(block, Fold):
            kept = tuple(without_sql(block.blocks))
            if kept:
                yield Fold(block.title, kept)
        elif not isinstance(block, Query):
            yield block


def _all(report: Report, *, folds: bool, draws: bool) -> Iterator[Block]:
    yield Heading(1, ("traceq report",))
    if not report.traces:
        yield Warn(("The database holds no trace.",))
    several = len(report.traces) > 1
    opened = _opened(report)
    if several:
        yield from _overview(report, opened, draws=draws)
    elif (job := judged(report.jobs)) is not None:
        yield from _job_of_one(report, job, draws=draws)
    for trace in opened:
        yield from _trace(trace, several=several, folds=folds, draws=draws)


def _overview(report: Report, opened: Sequence[TraceReport], *, draws: bool) -> Iterator[Block]:
    yield Heading(2, (some(len(report.traces), "trace"),))
    job = judged(report.jobs)
    if job is None:
        yield from traces(report, _MOST_IN_OVERVIEW)
    else:
        yield from job_screen(report, job, {trace.trace.trace_id for trace in opened}, strip=not draws, in_full=True)
        yield from pictures_of_job(job)
    left = {each.trace.trace_id for each in report.traces} | {
        each.trace_id for one in report.jobs for each in one.members
    }
    left -= {each.trace.trace_id for each in opened}
    if left:
        told = (
            f"{count(len(left))} more ranks were not asked one by one; `traceq report DB --rank N` asks one all rules."
        )
        yield Paragraph(with_code(told))
    yield from ranks_picture(report)
    yield Query(report.query)


def _opened(report: Report) -> Sequence[TraceReport]:
    """The traces that have a section of their own: those that were asked all rules, where there are any."""
    return [each for each in report.traces if each.rules_asked] or report.traces


def _job_of_one(report: Report, job: Job, *, draws: bool) -> Iterator[Block]:
    """The job of which one trace is reported: all of it, where that trace holds it."""
    (trace,) = report.traces
    if {each.trace_id for each in job.members} == {trace.trace.trace_id}:
        yield Heading(2, ("The job",))
        yield from job_screen(report, job, strip=not draws, in_full=True)
        yield from pictures_of_job(job)
    elif told := of_rank(job, trace):
        yield Paragraph((told,))


def _trace(report: TraceReport, *, several: bool, folds: bool, draws: bool) -> Iterator[Block]:
    facts = report.trace
    number = f"Trace {facts.trace_id}: " if several else ""
    yield Heading(2, (number, Name(facts.file)), anchor=f"t{facts.trace_id}")
    yield header(report)
    yield from warnings(report.notes)
    yield from verdicts(report)
    if is_snapshot(report):
        yield from _snapshot(report, folds=folds, draws=draws)
        return
    yield from pictures(report, "headline")
    yield from where_time_goes(report)
    if report.findings:
        yield ranking(report)
    yield from extra_in_short(report)
    yield from account(report)
    yield from findings(report, folds=folds, draws=draws)
    yield from capture(report)
    yield from steps(report)
    yield from marks(report)
    yield from conditions(report)
    yield from serving(report)
    yield from _ledger(report)
    yield from critical_path(report)
    if draws:
        yield from _timelines(report)
    yield from gaps(report)
    yield from outliers(report)
    yield from training_thread(report)
    yield from _topics(report)
    if report.host:
        yield from _host(report.host, report.queries)
    yield from outcomes(report)
    yield from quality(report)
    yield from notes(report)
    if not folds:
        yield from finding_queries(report)


def _snapshot(report: TraceReport, *, folds: bool, draws: bool) -> Iterator[Block]:
    yield from findings(report, folds=folds, draws=draws)
    yield from snapshot(report)
    yield from capture(report)
    yield from outcomes(report)
    yield from notes(report)
    if not folds:
        yield from finding_queries(report)


def _timelines(report: TraceReport) -> Iterator[Block]:
    if report.over_time:
        yield Heading(3, ("Steps over time",), anchor="timelines")
        yield Tracks(report.over_time)
    if report.flame:
        yield Heading(3, ("Time by call path",), anchor="flame")
        yield Flame(report.flame)


def _topics(report: TraceReport) -> Iterator[Block]:
    """A section for each topic the trace says something of, and for the others a line each."""
    for section, categories in _TOPICS.items():
        of_time = max((_share(device, categories) for device in report.ledger), default=0.0)
        for block in section(report):
            if isinstance(block, Heading) and block.level == _SECTION:
                yield replace(block, is_minor=of_time < _WORTH_OPENING)
            else:
                yield block
    missing = [
        line
        for lines in (no_critical_path, no_copies, no_communication, no_kernels, no_data, no_memory)
        for line in lines(report)
    ]
    if missing and report.steps.source is not None:
        yield Heading(3, ("Not in the trace, or not recorded",), is_minor=True)
        yield Items(tuple(missing))


def _share(device: DeviceLedger, categories: tuple[str, ...]) -> float:
    return sum(part.step_share for part in device.parts if part.category in categories)


def _ledger(report: TraceReport) -> Iterator[Block]:
    if not report.ledger:
        return
    yield Heading(3, ("Where the time went",), anchor="ledger")
    yield Paragraph(
        (
            f"Per GPU every nanosecond of the {report.period} is in ",
            "one category: compute while any compute kernel runs, else communication, else copies, ",
            "else memset, else idle, by what the host was doing meanwhile.",
        )
    )
    for device in report.ledger:
        yield Heading(4, (f"GPU {device.device}: ", Name(device.name or "name not in the trace")))
        yield _ledger_table(device, report.steps.counted, report.unit)
        yield Bar(_in_order_of_precedence(device.parts))
    graphs = report.trace.gpu_slices.get("graph", 0)
    if graphs:
        yield Warn(
            (
                f"Graph launches that were traced as a whole: {count(graphs)}. They count as compute; ",
                "communication, copies and idle time within them are not visible.",
                *way(report, "graph_nodes", " Capture with ", "."),
            )
        )
    yield Query(report.queries["ledger"])


def _in_order_of_precedence(parts: Sequence[LedgerPart]) -> tuple[tuple[str, float], ...]:
    """(category, share) in the same order for every GPU, so that bars can be compared; idle time of any cause is one."""
    idle = sum(part.step_share for part in parts if part.category.startswith("idle"))
    busy = [part for part in parts if not part.category.startswith("idle")]
    shares = tuple((part.category, part.step_share) for part in sorted(busy, key=lambda part: _rank(part.category)))
    return (*shares, ("idle", idle)) if idle else shares


def _rank(category: str) -> int:
    return BUSY.index(category) if category in BUSY else len(BUSY)


def _ledger_table(device: DeviceLedger, counted: int, unit: str) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            label(part.category),
            duration(part.dur_ns),
            duration(part.per_step_ns),
            share(part.step_share),
            Literal(part.category),
        )
        for part in device.parts
    ]
    rows.append(("sum", duration(device.total), duration(device.total / counted), share(1.0), ""))
    if unit == "window":
        rows = [(words, time, part, name) for words, time, _, part, name in rows]
        return Table(("category", "time", "share", "in SQL"), tuple(rows), text_columns=(0, 3))
    return Table(("category", "all steps", "per step", "share", "in SQL"), tuple(rows), text_columns=(0, 4))


def _host(host: Host, queries: dict[str, str]) -> Iterator[Block]:
    yield Heading(3, ("What the host did",))
    yield Paragraph(("Times of all threads are added: they are not parts of a step.",))
    if host.annotations:
        times = [(row.name, row.count, row.dur_ns, row.longest_ns) for row in host.annotations]
        yield _host_table("outermost annotation", "time", times)
        yield Query(queries["host_annotations"])
    if host.operators:
        times = [(row.name, row.count, row.self_dur_ns, row.longest_ns) for row in host.operators]
        yield _host_table("operator", "self time", times)
        yield Query(queries["host_operators"])
    if not host.annotations and not host.operators:
        yield Paragraph(("The trace holds neither annotations nor operators.",))


def _host_table(what: str, time: str, rows: Sequence[tuple[str, int, int, int]]) -> Table:
    return Table(
        (what, "count", time, "longest"),
        tuple((Name(name), count(number), duration(dur), duration(longest)) for name, number, dur, longest in rows),
    )
