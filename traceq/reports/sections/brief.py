"""The report on one screen: header, verdict, ledger, what to fix, what else there is, and what to type next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from traceq.analysis.categories import is_idle
from traceq.common.text import shortened
from traceq.common.units import count, duration, share, some
from traceq.reports.document import Block, Commands, Facts, Name, Paragraph, Reference, Title, Warn, make_table
from traceq.reports.model import Job, Note, Report, TraceReport
from traceq.reports.savings import saving_text
from traceq.reports.sections.axes import list_axes_of_job
from traceq.reports.sections.experts import list_loads_of_job
from traceq.reports.sections.findings import rank_findings
from traceq.reports.sections.header import write_header
from traceq.reports.sections.headline import (
    describe_verdict,
    find_critical_trace,
    find_judged_job,
    judge_job,
    name_source,
    name_trace,
    write_headline,
)
from traceq.reports.sections.job_findings import list_job_findings
from traceq.reports.sections.job_parts import list_late_parts
from traceq.reports.sections.job_path import list_path_of_job
from traceq.reports.sections.job_ranks import find_usual_rank, list_collectives_of_job, list_ranks_of_job
from traceq.reports.sections.job_ruled_out import list_ruled_out
from traceq.reports.sections.jobs import (
    describe_rank_in_job,
    find_job,
    holds_up,
    list_present_ranks,
    show_example,
    split_path_of_job,
)
from traceq.reports.sections.notes import list_warnings
from traceq.reports.sections.outcomes import count_extra_left_out, list_extra_findings
from traceq.reports.sections.recorded import summarize_recorded
from traceq.reports.sections.requests import summarize_requests
from traceq.reports.sections.run import summarize_run
from traceq.reports.sections.snapshot import is_snapshot, summarize_snapshot
from traceq.reports.sections.snapshots import describe_snapshots, find_first_failure
from traceq.reports.sections.triage import refuse_to_judge
from traceq.reports.sections.verdict import end_with_command, find_fault_of_file, write_verdict
from traceq.reports.sections.where_time_goes import show_where_time_goes

_MOST_WARNINGS = 2
# Notes of what the user gave beside the trace.
_GIVEN = ("monitor_log_left_out", "request_log_not_placed", "graph_capture")
_WARNING_LENGTH = 190
_MOST_REMARKS = 4
_MOST_RANKS = 16
# Findings of a trace that are listed below its job in short.
_MOST_BELOW_JOB = 3
# Of the rows of a job: kinds of collectives at most, and ranks at least, which get what is left.
_MOST_KINDS = 3
_LEAST_RANKS = 3
# GPUs of one trace that are shown beside each other even where some of them are late.
_FEW_DEVICES = 4


class ScreenRoom(NamedTuple):
    """The room of a first screen: findings of the trace and of its job, axes, and what an even job's verdict says already.

    `rows` is of a job's findings, kinds of collectives and ranks together, `ruled_out` of sentences on causes that are
    ruled out, `on_every_rank` of the findings of the usual rank.
    """

    findings: int = 8
    job_findings: int = 4
    axes: int = 4
    even_parts: bool = True
    even_ranks: bool = True
    rows: int = 10
    ruled_out: int = 2
    on_every_rank: int = 2


# From the longest screen to the shortest. With the first, that of a trace is at most 60 lines.
ROOMS = (
    ScreenRoom(),
    ScreenRoom(3),
    ScreenRoom(3, even_ranks=False),
    ScreenRoom(3, even_parts=False, even_ranks=False),
    ScreenRoom(1, 2, 3, even_parts=False, even_ranks=False),
    ScreenRoom(1, 2, 0, even_parts=False, even_ranks=False),
    ScreenRoom(1, 2, 0, even_parts=False, even_ranks=False, rows=7, ruled_out=1, on_every_rank=1),
    ScreenRoom(1, 2, 0, even_parts=False, even_ranks=False, rows=5, ruled_out=0, on_every_rank=1),
    ScreenRoom(1, 2, 0, even_parts=False, even_ranks=False, rows=5, ruled_out=0, on_every_rank=0),
)


def first_screen(report: Report, source: str | None = None, room: ScreenRoom = ROOMS[0]) -> Iterator[Block]:
    """Yield the first screen of a report: of one trace, or a line for each of several and then the trace to look at first.

    Commands name the file or database `source`.
    """
    most = room.findings
    headline = write_headline(report)
    if not report.traces:
        yield headline.verdict
        return
    job = find_job(report.jobs)
    called = quote(source) if source else name_source(report)
    critical = report.traces[0] if len(report.traces) == 1 else find_critical_trace(report)[0]
    of_several = job is not None and {each.trace_id for each in job.members} != {critical.trace.trace_id}
    chosen = f" --trace {critical.trace.trace_id}" if len(report.traces) > 1 or of_several else ""
    is_on_top = len(report.traces) > 1 or find_judged_job(report) is not None
    if is_on_top:
        yield headline.verdict
    if job is None:
        if len(report.traces) > 1:
            yield from list_traces(report, _MOST_RANKS)
    elif len(report.traces) == 1 and of_several:
        yield from _place_in_job(job, critical)
    else:
        if is_in_short := len(report.traces) == 1 and headline.trace is not None and not _is_enough(report, job):
            most = min(most, _MOST_BELOW_JOB)
        is_enough = _is_enough(report, job)
        on_every_rank = tuple(_on_every_rank(report, job, room.on_every_rank)) if is_enough else ()
        yield from describe_job(
            report,
            job,
            is_first=headline.trace is None,
            is_in_short=is_in_short,
            lists_collectives=not on_every_rank,
            room=room,
        )
        if is_enough:
            yield from on_every_rank
            yield _next_commands_of_job(critical, called, several=len(report.traces) > 1)
            return
    shown: Block | None = None if is_on_top else headline.verdict
    if is_on_top and headline.trace is not critical:
        shown = describe_verdict(write_verdict(critical, called))
    yield from _describe_trace(critical, most, shown)
    if is_snapshot(critical):
        yield from summarize_snapshot(critical, called, _snapshot_pair(report, source, called))
    else:
        yield _next_commands(critical, called, chosen)


def _place_in_job(job: Job, report: TraceReport) -> Iterator[Block]:
    """Yield what the trace's rank has to do with the times of others of its job; nothing if that is not known."""
    if told := describe_rank_in_job(job, report):
        yield Paragraph((told,))


def _snapshot_pair(report: Report, source: str | None, called: str) -> str:
    """Return two memory snapshots as arguments of a command, quoted; empty if the report has several and a file is gone.

    For a single snapshot, the first argument is the placeholder BASE.
    """
    if len(report.traces) == 1:
        return f"BASE {called}"
    files = [Path(source or "") / each.trace.file for each in report.traces[:2]]
    return " ".join(quote(str(each)) for each in files) if all(each.is_file() for each in files) else ""


def _is_enough(report: Report, job: Job) -> bool:
    """Return whether the screen ends after the job, as the screen of a single rank would add nothing or mislead."""
    if len(report.traces) > 1:
        return holds_up(job)
    return len(job.members) > _FEW_DEVICES and (holds_up(job) or not report.traces[0].findings)


def describe_job(
    report: Report,
    job: Job,
    opened: Collection[int] = (),
    *,
    is_first: bool = False,
    is_in_short: bool = False,
    strip: bool = True,
    in_full: bool = False,
    lists_collectives: bool = True,
    room: ScreenRoom = ROOMS[0],
) -> Iterator[Block]:
    """Yield the blocks on a job: its verdict unless `is_first` (the report begins with it), findings, ranks and collectives.

    `opened` are the trace_ids with a section of their own. `strip` adds to each rank a line of characters on its
    lateness, `in_full` the fixes and queries of findings. `is_in_short` gives the verdict only. Otherwise
    rows are as many as a screen has `room` for, and collectives are listed only with `lists_collectives`.
    """
    present = list_present_ranks(job)
    verdict = describe_verdict(end_with_command(judge_job(report, job), name_source(report)))
    if is_in_short:
        yield Paragraph((*present.spans, " ", *verdict.spans))
        return
    yield present
    if not is_first:
        yield verdict
    is_late = holds_up(job)
    if in_full or is_late or room.even_parts:
        yield from split_path_of_job(job)
    if in_full:
        yield from list_path_of_job(job)
        yield from list_job_findings(job, in_full=True)
        yield from show_example(job)
        yield from list_ruled_out(job)
    else:
        yield from list_job_findings(job, in_full=False, most=room.job_findings)
        yield from show_example(job)
        yield from list_ruled_out(job, room.ruled_out)
    if job.dur_ns is None:
        if len(report.traces) > 1:
            yield from list_traces(report, _MOST_RANKS)
        return
    if in_full:
        yield from list_ranks_of_job(job, opened, strip=strip)
        yield from list_late_parts(job)
        yield from list_axes_of_job(job)
        yield from list_loads_of_job(job)
        yield from list_collectives_of_job(job)
    else:
        # by axis where there are several; else by kind
        lists_collectives = lists_collectives and room.axes > 0
        axes = tuple(list_axes_of_job(job, room.axes, is_in_full=False)) if lists_collectives else ()
        kinds = min(len(job.collectives), _MOST_KINDS, room.axes) if lists_collectives and not axes else 0
        lines = min(len(job.axes), room.axes) if axes else kinds
        rows = room.rows - lines - min(len(job.findings), room.job_findings)
        if is_late or room.even_ranks:
            yield from list_ranks_of_job(job, opened, strip=strip, most=max(rows, _LEAST_RANKS))
        yield from axes
        if kinds:
            yield from list_collectives_of_job(job, kinds)


def _on_every_rank(report: Report, job: Job, most: int) -> Iterator[Block]:
    """Yield a table of the usual rank's first `most` findings, which probably hold for all ranks of its stage; or nothing."""
    trace_id = find_usual_rank(job).trace_id
    shown = next((each for each in report.traces if each.trace.trace_id == trace_id and each.findings), None)
    if shown is not None and most:
        like = "the ranks of its stage" if len({each.stage for each in job.members}) > 1 else "every rank"
        yield Paragraph((f"On the typical rank, {find_usual_rank(job).rank}, and likewise on {like}:",))
        yield rank_findings(shown, most)


def _describe_trace(report: TraceReport, most: int, verdict: Block | None) -> Iterator[Block]:
    """Yield one trace for the first screen: header, two warnings, `verdict`, where time goes, findings, and what is left out.

    None for a verdict that stands above.
    """
    yield write_header(report)
    warned = list(list_warnings(_sort_notes(report.notes)))
    yield from (Warn((shortened("".join(each.spans), _WARNING_LENGTH),)) for each in warned[:_MOST_WARNINGS])
    if verdict is not None:
        yield verdict
    if is_snapshot(report):
        return
    yield from summarize_run(report)
    yield from summarize_requests(report)
    yield from summarize_recorded(report)
    # the time of a fragment is nobody's step
    if not report.ledger or refuse_to_judge(report) is None:
        yield from show_where_time_goes(report)
    if report.findings:
        yield rank_findings(report, most)
    yield from list_extra_findings(report)
    yield from _count_unshown(report, most, len(warned[_MOST_WARNINGS:]))


def _sort_notes(notes: Sequence[Note]) -> list[Note]:
    """Return the import notes, with the first problem of a file that the user gave beside the trace moved to the front.

    Else notes on lost data, which are more frequent, would push it off the first screen.
    """
    first = [each for each in notes if each.code in _GIVEN and each.severity != "info"][:1]
    return [*first, *(each for each in notes if each not in first)]


def _count_unshown(report: TraceReport, most: int, warnings_left: int) -> Iterator[Block]:
    """Yield two rows: the numbers of findings, rules and warnings that this screen leaves out, and the titles of remarks.

    `most` is the number of findings shown, `warnings_left` the number of warnings not shown.
    """
    left = len(report.findings[most:]) + report.findings_left_out
    told = [
        some(left, "more finding") if left else "",
        f"{some(len(report.small), 'finding')} below 1 %" if report.small else "",
        some(len({each.step for each in report.outliers}), "unusually long step") if report.outliers else "",
        f"{some(len(report.not_applicable), 'rule')} cannot tell" if report.not_applicable else "",
        count_extra_left_out(report),
        f"{some(len(report.failed), 'check')} failed" if report.failed else "",
        some(warnings_left, "more warning") if warnings_left else "",
    ]
    words = " · ".join(filter(None, told))
    # Start-up stands in the verdict already.
    remarks = [each for each in report.observations if not (each.rule == "start-up" and report.run_ns)]
    titles = [f"{each.title}{' (extra)' if each.is_extra else ''}" for each in remarks[:_MOST_REMARKS]]
    if len(remarks) > _MOST_REMARKS:
        titles.append(f"{len(remarks) - _MOST_REMARKS} more")
    rows = (("Also", words), ("Notes", " · ".join(titles)))
    if words or titles:
        yield Facts(tuple((label, (text,)) for label, text in rows if text))


def _next_commands(report: TraceReport, source: str, chosen: str) -> Commands:
    """Return the block of commands to type next for a trace; `chosen` is the option that selects it among several."""
    of = f"{source}{chosen}"
    if not report.findings:
        return Commands(
            "Next",
            (
                ("all sections", f"traceq report {of} --full"),
                ("the page, with timelines", f"traceq report {source} -o report.html"),
                ("what this capture is missing", f"traceq doctor {source}"),
            ),
        )
    return Commands(
        "Next",
        (
            ("evidence for each finding", f"traceq report {of} -v"),
            ("one finding, with its SQL", f"traceq report {of} --finding F1 --sql"),
            ("the page, with timelines", f"traceq report {source} -o report.html"),
            ("F1 for ui.perfetto.dev", f"traceq export {of} --finding F1 -o F1.json"),
            ("after the fix", f"traceq verify F1 --before {source} --after NEW_TRACE"),
        ),
    )


def _next_commands_of_job(critical: TraceReport, source: str, *, several: bool) -> Commands:
    """Return the block of commands to type next for a job; `several` if the report holds several traces."""
    rank = "" if critical.trace.rank is None else f" --rank {critical.trace.rank}"
    of = f"{source}{rank or f' --trace {critical.trace.trace_id}'}"
    of_ranks = (
        ("the late rank on its own", f"traceq report {of}"),
        ("the late ranks and a typical one", f"traceq report {source} --full"),
    )
    return Commands(
        "Next",
        (
            *(of_ranks if several else (("all sections", f"traceq report {source} --full"),)),
            ("the page, with charts", f"traceq report {source} -o report.html"),
            ("all ranks for ui.perfetto.dev", f"traceq export {source} -o job.json"),
        ),
    )


def list_traces(report: Report, most: int) -> Iterator[Block]:
    """Yield a table of at most `most` traces, the critical one among them, and a paragraph on which to look at first."""
    every = report.traces
    if all(map(is_snapshot, every)):
        yield from describe_snapshots(every, most)
        if find_first_failure(every) is None:
            yield Paragraph((find_critical_trace(report)[1],))
        return
    critical, reason = find_critical_trace(report)
    of_trace: dict[str, Callable[[TraceReport], str]] = {
        "compute": lambda trace: _share_on_busiest(trace, "compute"),
        "comm.": lambda trace: _share_on_busiest(trace, "communication"),
        "idle": lambda trace: _share_on_busiest(trace, "idle"),
    }
    ranks = [trace.trace.rank for trace in every]
    is_job = None not in ranks and len(set(ranks)) == len(ranks)
    ordered = sorted(every, key=lambda trace: trace.trace.rank or 0) if is_job else list(every)
    shown = ordered[:most]
    if critical not in shown:
        shown = [*shown[:-1], critical]
    yield Paragraph((f"{some(len(every), 'rank' if is_job else 'trace')}, with the steps of each:",))
    name: dict[str, Callable[[TraceReport], str]] = {} if is_job else {"file": lambda trace: Name(trace.trace.file)}
    columns: dict[str, Callable[[TraceReport], str]] = {
        "": lambda trace: ">" if trace is critical else "",
        "trace": lambda trace: Reference(f"t{trace.trace.trace_id}"),
        **({"rank": lambda trace: str(trace.trace.rank)} if is_job else {}),
        **name,
        "step": lambda trace: duration(trace.steps.mean_ns),
        **of_trace,
        "saves": lambda trace: saving_text(trace.findings[0]) if trace.findings else "-",
        "fix first": _fix_first,
    }
    yield make_table(shown, columns, text=(0, 1, 2, len(columns) - 1) if name else (0, 1, len(columns) - 1))
    left = len(every) - len(shown)
    more = f" {count(left)} more are not listed." if left else ""
    yield Paragraph((f"{reason}{more} Look at {name_trace(critical).lower()} first.".strip(),))


def _fix_first(report: TraceReport) -> str:
    """Return the title of the trace's first finding, that its file is incomplete, "not asked", or a dash."""
    if fault := find_fault_of_file(report):
        return f"cannot tell: file {fault}"
    if report.findings:
        return Title(report.findings[0].title)
    return "-" if report.rules_asked else "not asked"


def _share_on_busiest(report: TraceReport, category: str) -> str:
    """Return as text the share of a category on the GPU with most of it; a dash without a ledger.

    "idle" is all of its idle time, on the GPU that idles least.
    """
    holds = is_idle if category == "idle" else category.__eq__
    shares = [sum(part.step_share for part in each.parts if holds(part.category)) for each in report.ledger]
    return share(min(shares) if category == "idle" else max(shares)) if shares else "-"
