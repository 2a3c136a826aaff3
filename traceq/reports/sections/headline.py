"""The one verdict of a report, of job and traces the one that wins most; and the trace to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from shlex import quote

import msgspec
from msgspec.structs import replace

from traceq.common.text import shorten_sources
from traceq.diagnosis.finding import Finding
from traceq.reports.document import Literal, Paragraph, Spans, Title, Verdict
from traceq.reports.model import Job, Report, TraceReport
from traceq.reports.savings import bounded_share_text, saving_text, step_ns
from traceq.reports.sections.job_ranks import find_usual_rank
from traceq.reports.sections.jobs import find_job, holds_up, summarize_job, win_of_job, write_verdict_of_job
from traceq.reports.sections.snapshot import highest_peak, is_snapshot
from traceq.reports.sections.snapshots import find_first_failure, judge_failures
from traceq.reports.sections.triage import refuse_to_judge
from traceq.reports.sections.verdict import SOURCE, end_with_command, find_fault_of_file, write_verdict

# A finding that saves at least this share on the usual rank as well does not make a rank late.
_AS_ON_OTHERS = 0.5
_COMMUNICATION = ("communication", "idle_communication")
_FILL: Spans = ("Fill it: ", Literal("traceq ingest TRACE... -o traces.duckdb"))


class Headline(msgspec.Struct, frozen=True):
    """The verdict that a report begins with; `trace` is the one it judges, None for a job or several traces."""

    verdict: Verdict
    trace: TraceReport | None = None


def write_headline(report: Report) -> Headline:
    """Return the verdict that a report begins with: of the job and its traces the one that wins most of a step."""
    if not report.traces:
        return Headline(Verdict(("The database has no trace.",), "cannot tell", lines=(_FILL,)))
    if len(report.traces) > 1 and all(map(is_snapshot, report.traces)) and (said := judge_failures(report.traces)):
        return Headline(said)
    source = name_source(report)
    job = find_judged_job(report)
    best = _find_best_trace(report, job)
    of_trace = _say_which(write_verdict(best, source), best, report)
    if job is None:
        return Headline(of_trace, best)
    of_job = end_with_command(judge_job(report, job), source)
    is_problem = of_job.outcome == "problem"
    is_unknown = of_job.outcome == "cannot tell" and of_trace.outcome == "healthy"
    win = win_of_job(job, max(map(_win_of_communication, list_asked(report))))
    has_deed = of_trace.outcome in ("problem", "look into")
    if is_unknown or (is_problem and (win >= win_of_trace(best) or not has_deed)):
        return Headline(replace(of_job, lines=(*of_job.lines, *_list_first_finding(best))))
    if is_problem:
        of_trace = replace(of_trace, lines=(*of_trace.lines, ("The job: ", *of_job.spans)))
    return Headline(of_trace, best)


def name_source(report: Report) -> str:
    """Return the report's source as commands name it, quoted for a shell; a placeholder if it is not known."""
    return quote(report.source) if report.source else SOURCE


def drop_source_folders(report: Report) -> Report:
    """Return the report for a page that is passed on: commands name its source without its folders."""
    (source,) = shorten_sources([report.source])
    return replace(report, source=source)


def find_judged_job(report: Report) -> Job | None:
    """Return the job of several ranks that the report is about; None without one, or if it is about one rank of it."""
    job = find_job(report.jobs)
    if job is None or len(report.traces) > 1:
        return job
    return job if {member.trace_id for member in job.members} == {report.traces[0].trace.trace_id} else None


def judge_job(report: Report, job: Job) -> Verdict:
    """Return the verdict on the job, with what to do on the rank that is waited for most."""
    by_id = {trace.trace.trace_id: trace for trace in report.traces}
    first = by_id.get(job.stragglers[0].trace_id) if job.stragglers and len(by_id) > 1 else None
    deed = _choose_deed(first, by_id.get(find_usual_rank(job).trace_id)) if first is not None else ""
    faulty = [(each.trace.rank, fault) for each in report.traces if (fault := find_fault_of_file(each))]
    return write_verdict_of_job(job, deed, [f"the file of rank {rank} is {fault}" for rank, fault in faulty])


def describe_verdict(verdict: Verdict) -> Paragraph:
    """Return a verdict that does not stand first as a paragraph."""
    spans = list(verdict.spans)
    for line in verdict.lines:
        spans += [" " if spans[-1].endswith(".") else ". ", *line]
    return Paragraph(tuple(spans))


def win_of_trace(report: TraceReport) -> float:
    """Return the share (0..1) of a step that the trace's first finding saves; 0 if it has none, or is not judged."""
    if not report.findings or is_snapshot(report) or find_fault_of_file(report) or refuse_to_judge(report) is not None:
        return 0.0
    first = report.findings[0]
    return first.saving_ns / step_ns(first) if step_ns(first) else 0.0


def _win_of_communication(report: TraceReport) -> float:
    """Return the share (0..1) of a step that the trace's findings save of which more than half of the time is communication."""
    if not win_of_trace(report):
        return 0.0
    win = 0.0
    for finding in report.findings:
        owned = finding.owned_by_category
        communication = sum(owned.get(category, 0.0) for category in _COMMUNICATION)
        if communication > 0.5 * sum(owned.values()):
            win += finding.saving_ns / step_ns(finding)
    return win


def find_critical_trace(report: Report) -> tuple[TraceReport, str]:
    """Return the trace to look at first, and a sentence why.

    For a job, it is the rank that others wait for or that has more to do; for memory snapshots, the one that failed first or
    has the highest peak; else the trace that wins most of a step, or without findings the one with the longest step.
    """
    traces = list_asked(report)
    job = find_job(report.jobs)
    by_id = {trace.trace.trace_id: trace for trace in traces}
    if job is not None and job.stragglers and job.stragglers[0].trace_id in by_id:
        return by_id[job.stragglers[0].trace_id], summarize_job(job)
    if all(map(is_snapshot, traces)):
        if (failed := find_first_failure(traces)) is not None:
            return failed
        highest = _find_highest_peak(traces)
        return highest, f"{name_trace(highest)} has the highest peak."
    traces = [each for each in traces if not is_snapshot(each)]
    by_rank = {trace.trace.rank: trace for trace in traces if trace.trace.rank is not None}
    waits: Counter[int] = Counter()
    for trace in traces:
        for finding in trace.findings:
            late = _late_rank(finding)
            if late in by_rank and late is not None:
                waits[late] += round(finding.saving_ns)
    if waits:
        late, _ = max(waits.items(), key=lambda each: (each[1], -each[0]))
        return by_rank[late], f"The other ranks wait for rank {late}: its own time is what to look at."
    imbalance = [(trace, each) for trace in traces for each in trace.observations if each.rule == "rank-imbalance"]
    if imbalance:
        trace, remark = imbalance[0]
        return trace, f"{remark.title}: {remark.text}"
    best = _find_most_to_win(traces)
    return best, f"{name_trace(best)} has the {'most to win' if win_of_trace(best) else 'longest step'}."


def list_asked(report: Report) -> Sequence[TraceReport]:
    """Return the traces that were asked all rules, or all if none was."""
    return [trace for trace in report.traces if trace.rules_asked] or report.traces


def name_trace(report: TraceReport) -> str:
    """Return "Rank N", or "Trace N" without a rank."""
    facts = report.trace
    return f"Trace {facts.trace_id}" if facts.rank is None else f"Rank {facts.rank}"


def _find_best_trace(report: Report, job: Job | None) -> TraceReport:
    """Return the trace whose verdict wins most; where late ranks hold up the job, the usual rank, which waits for nothing else.

    Of memory snapshots it is the one with the highest peak.
    """
    traces = list_asked(report)
    if all(map(is_snapshot, traces)):
        return _find_highest_peak(traces)
    if job is not None and job.dur_ns is not None and holds_up(job):
        usual = find_usual_rank(job).trace_id
        traces = [trace for trace in traces if trace.trace.trace_id == usual] or traces
    return _find_most_to_win([trace for trace in traces if not is_snapshot(trace)])


def _find_most_to_win(traces: Sequence[TraceReport]) -> TraceReport:
    """Return the trace that wins most of a step; if none wins anything, one that cannot tell, else the longest step."""

    def rank_trace(trace: TraceReport) -> tuple[float, bool, float, int]:
        win = win_of_trace(trace)
        is_unknown = not win and write_verdict(trace).outcome == "cannot tell"
        return win, is_unknown, trace.steps.mean_ns or 0.0, -trace.trace.trace_id

    return max(traces, key=rank_trace)


def _find_highest_peak(traces: Sequence[TraceReport]) -> TraceReport:
    return max(traces, key=lambda trace: (highest_peak(trace), -trace.trace.trace_id))


def _say_which(verdict: Verdict, trace: TraceReport, report: Report) -> Verdict:
    """Return the verdict with the trace's name before its first line, if the report has several traces."""
    if len(report.traces) == 1:
        return verdict
    name = name_trace(trace).lower()
    first, *others = verdict.lines or ((),)
    return replace(verdict, lines=((f"On {name}: ", *first) if first else (f"Judged on {name}",), *others))


def _list_first_finding(trace: TraceReport) -> Sequence[Spans]:
    """Return a line on the trace's first finding; none without findings, or if the trace is not judged."""
    if not win_of_trace(trace):
        return ()
    first = trace.findings[0]
    words = f", saves {saving_text(first)} ({bounded_share_text(first)})"
    return ((f"{name_trace(trace)} by itself: ", Title(first.title), words),)


def _choose_deed(late: TraceReport, usual_rank: TraceReport | None) -> str:
    """Return the advice of the first finding that the late rank has and the usual rank has not to at least half; else empty."""
    others = {found.rule: found.saving_ns for found in usual_rank.findings} if usual_rank is not None else {}
    its_own = [found.deed for found in late.findings if others.get(found.rule, 0.0) < _AS_ON_OTHERS * found.saving_ns]
    return its_own[0] if its_own else ""


def _late_rank(finding: Finding) -> int | None:
    """Return the rank that a finding of the rule late-rank is about; None for other findings."""
    if finding.rule != "late-rank" or not finding.instances.rows:
        return None
    at = finding.instances.columns.index("late_rank")
    ranks = Counter(row[at] for row in finding.instances.rows)
    return int(str(ranks.most_common(1)[0][0]))
