"""The words of the report: from a Report to a document of headings, tables and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from traceq.analysis.categories import BUSY, is_idle, label
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
    Verdict,
    Warn,
    split_code,
)
from traceq.reports.model import DeviceLedger, Host, Job, LedgerPart, Report, TraceReport
from traceq.reports.sections.brief import describe_job, first_screen, list_traces
from traceq.reports.sections.capture import describe_capture, describe_quality
from traceq.reports.sections.communication import describe_communication, explain_no_communication
from traceq.reports.sections.copies import describe_copies, explain_no_copies
from traceq.reports.sections.critical_path import describe_critical_path, explain_no_critical_path
from traceq.reports.sections.data import describe_input, explain_no_input
from traceq.reports.sections.findings import (
    describe_finding,
    describe_findings,
    describe_remark,
    list_finding_queries,
    rank_findings,
)
from traceq.reports.sections.header import write_header
from traceq.reports.sections.headline import (
    drop_source_folders,
    find_critical_trace,
    find_judged_job,
    list_asked,
    name_source,
    write_headline,
)
from traceq.reports.sections.idle import describe_gaps, describe_outliers, describe_training_thread
from traceq.reports.sections.job_findings import list_rule_findings
from traceq.reports.sections.jobs import describe_rank_in_job, find_job
from traceq.reports.sections.kernel_reports import describe_kernel_reports
from traceq.reports.sections.kernels import describe_kernels, explain_no_kernels
from traceq.reports.sections.memory import describe_memory, explain_no_memory
from traceq.reports.sections.missing import how_to_record
from traceq.reports.sections.modules import describe_modules
from traceq.reports.sections.notes import describe_notes, list_warnings
from traceq.reports.sections.outcomes import describe_outcomes, list_extra_findings
from traceq.reports.sections.pictures import (
    draw_activity,
    draw_job_over_time,
    draw_job_pictures,
    draw_pictures,
    draw_ranks,
    draw_snapshots,
)
from traceq.reports.sections.recorded import describe_recorded
from traceq.reports.sections.requests import describe_requests
from traceq.reports.sections.run import describe_run
from traceq.reports.sections.serving import describe_serving
from traceq.reports.sections.snapshot import describe_snapshot, is_snapshot
from traceq.reports.sections.steps import describe_conditions, describe_marks, describe_steps
from traceq.reports.sections.verdict import write_verdict
from traceq.reports.sections.where_time_goes import describe_account, show_where_time_goes

_MOST_IN_OVERVIEW = 500
_SECTION = 3
# Sections on less of the time than this may be shown folded.
_WORTH_OPENING = 0.01
# Sections on a topic, and the categories of the ledger that it is about.
_TOPICS: dict[Callable[[TraceReport], Iterator[Block]], tuple[str, ...]] = {
    describe_copies: ("copy_h2d", "copy_d2h", "copy_other"),
    describe_communication: ("communication", "idle_communication"),
    describe_kernels: ("compute",),
    describe_kernel_reports: ("compute",),
    describe_modules: ("compute",),
    describe_input: ("idle_data",),
    describe_memory: ("idle_allocation",),
    describe_snapshot: (),
}


def compose_report(report: Report, *, folds: bool = False, draws: bool = False, sql: bool = True) -> Iterator[Block]:
    """Yield the whole report: the job or an overview of several traces first, then a section for each trace.

    `folds` is for formats that fold blocks, which are passed on: their commands name the source without its folders. `draws`
    is for formats that draw timelines; without `sql` queries are left out.
    """
    if folds:
        report = drop_source_folders(report)
    blocks = _compose_report(report, folds=folds, draws=draws)
    return blocks if sql else drop_sql(blocks)


def compose_evidence(report: Report, source: str | None, *, sql: bool) -> Iterator[Block]:
    """Yield the first screen, then the findings of the trace to look at first with their evidence, and the queries if `sql`.

    Commands name the file or database `source`.
    """
    yield from first_screen(report, source)
    if report.traces:
        shown = find_critical_trace(report)[0] if len(report.traces) > 1 else report.traces[0]
        blocks = describe_findings(shown, folds=False, draws=False)
        yield from blocks if sql else drop_sql(blocks)
        if sql:
            yield from list_finding_queries(shown)


def compose_finding(report: Report, name: str, *, sql: bool) -> Iterator[Block]:
    """Yield in full what `name` names: a finding (F1, its id or its rule), a rule of jobs, or a remark.

    Raises StoreError if there is none of this name.
    """
    of_job = [block for job in report.jobs for block in list_rule_findings(job, name.casefold())]
    if of_job:
        yield from of_job if sql else drop_sql(of_job)
        return
    try:
        chosen = choose(name, {trace.trace.trace_id: trace.every_finding for trace in report.traces})
    except StoreError:
        told = [(each, trace) for trace in report.traces for each in trace.observations if _is_called(each, name)]
        if not told:
            raise
        for each, of_trace in told:
            yield from describe_remark(each, of_trace)
            if sql:
                yield from map(Query, (each.evidence.query, *each.queries))
        return
    trace = next(trace for trace in report.traces if chosen.finding in trace.every_finding)
    yield from describe_finding(chosen.place, chosen.finding, trace, sql=sql)


def _is_called(observation: Observation, name: str) -> bool:
    """Return whether `name` is the remark's id or rule, whatever the case."""
    return name.casefold() in (observation.finding_id.casefold(), observation.rule.casefold())


def drop_sql(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks without queries, and without folds that have nothing else."""
    for block in blocks:
        if isinstance(block, Fold):
            kept = tuple(drop_sql(block.blocks))
            if kept:
                yield Fold(block.title, kept)
        elif not isinstance(block, Query):
            yield block


def _compose_report(report: Report, *, folds: bool, draws: bool) -> Iterator[Block]:
    yield Heading(1, ("traceq report",))
    headline = write_headline(report)
    several = len(report.traces) > 1
    opened = list_asked(report)
    is_on_top = len(report.traces) != 1 or find_judged_job(report) is not None
    if is_on_top:
        yield headline.verdict
    if several:
        yield from _compose_overview(report, opened, is_job_first=headline.trace is None, draws=draws)
    elif (job := find_job(report.jobs)) is not None:
        yield from _compose_job(report, job, is_first=headline.trace is None, draws=draws)
    for trace in opened:
        is_told = is_on_top and not several and headline.trace is trace
        verdict = () if is_told else (write_verdict(trace, name_source(report)),)
        yield from _compose_trace(trace, verdict, several=several, folds=folds, draws=draws)


def _compose_overview(
    report: Report, opened: Sequence[TraceReport], *, is_job_first: bool, draws: bool
) -> Iterator[Block]:
    job = find_job(report.jobs)
    members = {member.trace_id for member in job.members} if job else set()
    there = len(members | {trace.trace.trace_id for trace in report.traces})
    read = len(report.traces)
    yield Heading(2, (some(there, "trace") if there == read else f"{count(read)} of {some(there, 'trace')}",))
    if job is None:
        yield from list_traces(report, _MOST_IN_OVERVIEW)
    else:
        shown = {trace.trace.trace_id for trace in opened}
        yield from describe_job(report, job, shown, is_first=is_job_first, strip=not draws, in_full=True)
        yield from draw_job_pictures(job)
        if draws:
            yield from draw_job_over_time(job)
    left = {each.trace.trace_id for each in report.traces} | {
        each.trace_id for one in report.jobs for each in one.members
    }
    left -= {each.trace.trace_id for each in opened}
    if left:
        told = (
            f"{count(len(left))} more ranks were not analysed one by one; `traceq report DB --rank N` runs all "
            "rules on one."
        )
        yield Paragraph(split_code(told))
    yield from draw_ranks(report)
    yield from draw_snapshots(report)
    yield Query(report.query)


def _compose_job(report: Report, job: Job, *, is_first: bool, draws: bool) -> Iterator[Block]:
    """Yield the job of the only trace: in full if all its ranks are in this trace, else a sentence on this rank.

    `is_first` is whether the report begins with the verdict on it.
    """
    (trace,) = report.traces
    if find_judged_job(report) is not None:
        yield Heading(2, ("The job",))
        yield from describe_job(report, job, is_first=is_first, strip=not draws, in_full=True)
        yield from draw_job_pictures(job)
        if draws:
            yield from draw_job_over_time(job)
    elif told := describe_rank_in_job(job, trace):
        yield Paragraph((told,))


def _compose_trace(
    report: TraceReport, verdict: Sequence[Verdict], *, several: bool, folds: bool, draws: bool
) -> Iterator[Block]:
    facts = report.trace
    number = f"Trace {facts.trace_id}: " if several else ""
    yield Heading(2, (number, Name(facts.file)), anchor=f"t{facts.trace_id}")
    yield write_header(report)
    yield from list_warnings(report.notes)
    yield from verdict
    if is_snapshot(report):
        if not several:
            yield from draw_pictures(report, "snapshot")
        yield from _compose_snapshot(report, folds=folds, draws=draws)
        return
    yield from draw_pictures(report, "headline")
    yield from show_where_time_goes(report)
    if report.findings:
        yield rank_findings(report)
    yield from list_extra_findings(report)
    yield from describe_account(report)
    yield from describe_findings(report, folds=folds, draws=draws)
    yield from describe_capture(report)
    yield from describe_steps(report)
    yield from describe_run(report)
    yield from describe_marks(report)
    yield from describe_conditions(report)
    yield from describe_recorded(report)
    yield from describe_serving(report)
    yield from describe_requests(report)
    yield from _describe_ledgers(report)
    yield from describe_critical_path(report)
    if draws:
        yield from _compose_timelines(report)
    yield from describe_gaps(report)
    yield from describe_outliers(report)
    yield from describe_training_thread(report)
    yield from _compose_topics(report)
    if report.host:
        yield from _describe_host(report.host, report.queries)
    yield from describe_outcomes(report)
    yield from describe_quality(report)
    yield from describe_notes(report)
    if not folds:
        yield from list_finding_queries(report)


def _compose_snapshot(report: TraceReport, *, folds: bool, draws: bool) -> Iterator[Block]:
    yield from describe_findings(report, folds=folds, draws=draws)
    yield from describe_snapshot(report)
    yield from describe_capture(report)
    yield from describe_outcomes(report)
    yield from describe_notes(report)
    if not folds:
        yield from list_finding_queries(report)


def _compose_timelines(report: TraceReport) -> Iterator[Block]:
    if report.activity:
        yield Heading(3, ("The GPU over the capture",), anchor="activity")
        yield draw_activity(report.trace.trace_id, report.activity)
    if report.over_time:
        yield Heading(3, ("Steps over time",), anchor="timelines")
        yield Tracks(report.over_time)
    if report.flame:
        yield Heading(3, ("Time by call path",), anchor="flame")
        yield Flame(report.flame)


def _compose_topics(report: TraceReport) -> Iterator[Block]:
    """Yield a section for each topic that the trace has data on, then a line for each other topic."""
    for section, categories in _TOPICS.items():
        of_time = max((_sum_shares(device, categories) for device in report.ledger), default=0.0)
        for block in section(report):
            if isinstance(block, Heading) and block.level == _SECTION:
                yield replace(block, is_minor=of_time < _WORTH_OPENING)
            else:
                yield block
    missing = [
        line
        for lines in (
            explain_no_critical_path,
            explain_no_copies,
            explain_no_communication,
            explain_no_kernels,
            explain_no_input,
            explain_no_memory,
        )
        for line in lines(report)
    ]
    if missing and report.steps.source is not None:
        yield Heading(3, ("Not in the trace, or not recorded",), is_minor=True)
        yield Items(tuple(missing))


def _sum_shares(device: DeviceLedger, categories: tuple[str, ...]) -> float:
    """Return the share (0..1) of the device's steps that the categories take together."""
    return sum(part.step_share for part in device.parts if part.category in categories)


def _describe_ledgers(report: TraceReport) -> Iterator[Block]:
    """Yield the section on where the time went: for each GPU a table and a bar of its categories; nothing without a GPU."""
    if not report.ledger:
        return
    yield Heading(3, ("Where the time went",), anchor="ledger")
    yield Paragraph(
        (
            f"On each GPU, every nanosecond of the {report.period} is in ",
            "one category: compute while any compute kernel runs, otherwise communication, copies or memset, ",
            "and otherwise idle, by what the host was doing at that time.",
        )
    )
    for device in report.ledger:
        yield Heading(4, (f"GPU {device.device}: ", Name(device.name or "name not in the trace")))
        yield _ledger_table(device, report.steps.counted, report.unit)
        yield Bar(_order_by_precedence(device.parts))
    graphs = report.trace.gpu_slices.get("graph", 0)
    if graphs:
        yield Warn(
            (
                f"Graph launches that were traced as a whole: {count(graphs)}. They count as compute; ",
                "communication, copies and idle time within them are not visible.",
                *how_to_record(report, "graph_nodes", " Capture with ", "."),
            )
        )
    yield Query(report.queries["ledger"])


def _order_by_precedence(parts: Sequence[LedgerPart]) -> tuple[tuple[str, float], ...]:
    """Return (category, share) in the same order for every GPU, so that bars compare; all idle time is one part."""
    idle = sum(part.step_share for part in parts if is_idle(part.category))
    busy = [part for part in parts if not is_idle(part.category)]
    shares = tuple(
        (part.category, part.step_share) for part in sorted(busy, key=lambda part: _precedence_of(part.category))
    )
    return (*shares, ("idle", idle)) if idle else shares


def _precedence_of(category: str) -> int:
    """Return the place of a busy category in the order in which the ledger assigns time; unknown ones come last."""
    return BUSY.index(category) if category in BUSY else len(BUSY)


def _ledger_table(device: DeviceLedger, counted: int, unit: str) -> Table:
    """Return a table of a GPU's categories: time in all steps, per step, share, and the name in SQL; a window has no steps."""
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


def _describe_host(host: Host, queries: dict[str, str]) -> Iterator[Block]:
    yield Heading(3, ("What the host did",))
    yield Paragraph(("Times of all threads are added up, so they are not parts of a step.",))
    if host.annotations:
        times = [(row.name, row.count, row.dur_ns, row.longest_ns) for row in host.annotations]
        yield _host_table("outermost annotation", "time", times)
        yield Query(queries["host_annotations"])
    if host.operators:
        times = [(row.name, row.count, row.self_dur_ns, row.longest_ns) for row in host.operators]
        yield _host_table("operator", "self time", times)
        yield Query(queries["host_operators"])
    if not host.annotations and not host.operators:
        yield Paragraph(("The trace has neither annotations nor operators.",))


def _host_table(what: str, time: str, rows: Sequence[tuple[str, int, int, int]]) -> Table:
    """Return a table of (name, count, ns, longest ns) rows; `what` and `time` are titles of columns."""
    return Table(
        (what, "count", time, "longest"),
        tuple((Name(name), count(number), duration(dur), duration(longest)) for name, number, dur, longest in rows),
    )
