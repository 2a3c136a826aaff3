"""The report for a language model: compact Markdown of fewer than 4,096 bytes, whatever the traces hold.

Of several traces the one to look at first is told in full, of the others the verdict and the first findings. What does
not fit is left out, the least important first, and counted. Texts of a trace are cut, in one line, and in backticks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import NamedTuple

from traceq.common.text import printable
from traceq.common.units import duration, share, some
from traceq.diagnosis.choose import number_findings
from traceq.diagnosis.finding import Finding
from traceq.reports.document import Ledger, LedgerRow, Literal, Name, Spans, Title, Verdict
from traceq.reports.fit import drop_until_fits
from traceq.reports.model import Report, TraceReport
from traceq.reports.savings import saving_bounds, saving_share_text
from traceq.reports.sections.header import header_line
from traceq.reports.sections.headline import find_critical_trace, write_headline
from traceq.reports.sections.jobs import find_job
from traceq.reports.sections.notes import list_warnings
from traceq.reports.sections.outcomes import count_extra_left_out, frequent_reasons
from traceq.reports.sections.verdict import write_verdict
from traceq.reports.sections.where_time_goes import show_where_time_goes

# Bytes of UTF-8; the text is shorter.
LIMIT = 4_096
_ROOM_FOR_COUNTS = 120

# Bytes of one text.
_NAME, _TITLE, _SENTENCE, _SOURCE = 80, 140, 260, 200
_LISTED = 4
_FIRST = 3
_WARNINGS = 2

_SOURCE_NAME = "TRACE"

# What is left out last to first; what has no rank never is.
_JOB, _LEDGER, _FINDING, _OTHER_TRACE, _REASON, _REMARK, _LESSER, _DETAIL = range(8)


class LlmLine(NamedTuple):
    """A line of the text for language models, with its `rank` for dropping: the greatest first, lines with None never.

    Dropped lines are counted by `kind`; those without a kind are not counted.
    """

    text: str
    rank: tuple[int, int] | None = None
    kind: str = ""


def to_llm(report: Report, source: str | None = None, limit: int = LIMIT) -> str:
    """Return the report as Markdown text of fewer than `limit` bytes (at least 2,048), with the least important lines dropped.

    Commands in it name the traces' file or database `source`.
    """
    lines = list(_write_lines(report, _quote_source(source)))
    sizes = [len(line.text.encode()) + 1 for line in lines]

    def fits(dropped: set[int]) -> bool:
        return sum(sizes) - sum(sizes[number] for number in dropped) < limit - _ROOM_FOR_COUNTS

    left_out = drop_until_fits([line.rank for line in lines], fits)
    shown = [line.text for number, line in enumerate(lines) if number not in left_out]
    gone = Counter(lines[number].kind for number in sorted(left_out) if lines[number].kind)
    if gone:
        shown.append(f"Not shown: {', '.join(some(number, kind) for kind, number in gone.items())}.")
    return "\n".join(shown) + "\n"


def _quote_source(source: str | None) -> str:
    # A path that was cut would be another one.
    return quote(printable(source)) if source and len(source.encode()) <= _SOURCE else _SOURCE_NAME


def _write_lines(report: Report, source: str) -> Iterator[LlmLine]:
    headline = write_headline(report)
    yield from _write_verdict(headline.verdict, "# ")
    if not report.traces:
        return
    yield LlmLine("")
    several = len(report.traces) > 1
    first, why = find_critical_trace(report) if several else (report.traces[0], "")
    if headline.trace is not None:
        first, why = headline.trace, why if headline.trace is first else ""
    if several:
        yield LlmLine(_cut_text(f"{some(len(report.traces), 'trace')}. {why}".strip(), _SENTENCE))
    yield from _describe_job(report)
    if headline.trace is not first:
        yield from _write_verdict(write_verdict(first, source), f"Trace {first.trace.trace_id}: ")
    yield from _describe_trace(first, source, f" --trace {first.trace.trace_id}" if several else "")
    if not several:
        return
    yield LlmLine("", (_OTHER_TRACE, 0))
    others = [trace for trace in report.traces if trace is not first]
    for number, trace in enumerate(others):
        yield from _summarize_trace(trace, number)


def _write_verdict(verdict: Verdict, before: str) -> Iterator[LlmLine]:
    beside = f" ({verdict.beside})" if verdict.beside else ""
    yield LlmLine(f"{before}{_render_spans(verdict.spans, _TITLE)}{beside} [{verdict.outcome}]")
    yield from (LlmLine(_render_spans(line, _SENTENCE)) for line in verdict.lines)


def _describe_job(report: Report) -> Iterator[LlmLine]:
    """Yield lines on the findings of the job that the traces belong to; nothing without such findings."""
    job = find_job(report.jobs)
    if job is None or not job.findings:
        return
    yield LlmLine("Findings of the job (saving per step, alone):", (_JOB, 0))
    for number, each in enumerate(job.findings, 1):
        group = (_JOB if number == 1 else _FINDING if number <= _FIRST else _LESSER, number)
        saves = "" if each.saving_ns is None else f", {duration(each.saving_ns)}"
        because = f": {_cut_text(each.because, _TITLE)}" if each.because else ""
        yield LlmLine(
            f"- {each.rule}, `{_cut_text(each.unit, _NAME)}`{saves}, {each.confidence} confidence{because}",
            group,
            "job finding",
        )
        if number == 1:
            yield LlmLine(f"  do: {_cut_text(each.fix, _SENTENCE)}", (_JOB, number))


def _describe_trace(report: TraceReport, source: str, chosen: str) -> Iterator[LlmLine]:
    """Yield the lines on a trace below its verdict; `chosen` is the option that selects the trace in commands, or ""."""
    facts = report.trace
    yield LlmLine(
        f"Trace {facts.trace_id}: {_render_spans(header_line(report), _SENTENCE)} · sha256 {facts.sha256[:16]}"
    )
    for number, warned in enumerate(list(list_warnings(report.notes))[:_WARNINGS]):
        yield LlmLine(f"Warning: {_render_spans(warned.spans, _SENTENCE)}", (_LEDGER, number))
    yield from _describe_ledger(report)
    yield from _list_findings(report)
    yield from _list_remarks(report)
    yield from _list_reasons(report)
    yield from _next_commands(report, source, chosen)


def _describe_ledger(report: TraceReport) -> Iterator[LlmLine]:
    for block in show_where_time_goes(report):
        if isinstance(block, Ledger):
            parts = "; ".join(map(_describe_part, block.rows))
            yield LlmLine(f"{_render_spans(block.title, _TITLE)} - {block.total}: {parts}.", (_LEDGER, 0))


def _describe_part(row: LedgerRow) -> str:
    said = "; ".join(filter(None, (" ".join(row.owners), row.verdict)))
    owners = f" ({said})" if said else ""
    return f"{_cut_text(row.label, _NAME)} {share(row.share)}, {row.text}{owners}"


def _list_findings(report: TraceReport) -> Iterator[LlmLine]:
    yield from _list_confirmed(report)
    if report.extra_findings:
        yield LlmLine("Extra findings, from rules that no labelled real trace has confirmed:", (_FINDING, _FIRST + 1))
    for number, (place, each) in enumerate(number_findings(report.extra_findings), 1):
        yield LlmLine(summarize_finding(place, each), (_FINDING, _FIRST + 1 + number), "extra finding")
    if told := count_extra_left_out(report):
        yield LlmLine(f"Not asked: {told}.", (_REMARK, 0))


def _list_confirmed(report: TraceReport) -> Iterator[LlmLine]:
    if not report.findings:
        return
    yield LlmLine("")
    yield LlmLine(f"Findings (saving per {report.unit}; bounds; confidence):")
    for number, (place, each) in enumerate(number_findings(report.findings), 1):
        group = _FINDING if number <= _FIRST else _LESSER
        yield LlmLine(summarize_finding(place, each), None if number == 1 else (group, number), "finding")
        if number == 1:
            # Its first sentence stands in the verdict.
            yield LlmLine(f"  fix: {_cut_text(each.fix, 2 * _SENTENCE)}", (_FINDING, number))
        else:
            yield LlmLine(f"  do: {_cut_text(each.deed, _SENTENCE)}", (group, number))
        if (stack := report.stacks.get(each.finding_id)) is not None and stack.line is not None:
            yield LlmLine(f"  at: `{_cut_text(stack.line, _NAME)}`", (_DETAIL, number))
        yield LlmLine(f"  unless: {_cut_text(each.wrong_if, _SENTENCE)}", (_DETAIL, number))
    left = [
        some(report.findings_left_out, "more finding") if report.findings_left_out else "",
        f"below 1 %: {_list_few(report.small)}" if report.small else "",
    ]
    if any(left):
        yield LlmLine(f"Also {'; '.join(filter(None, left))}.", (_REMARK, 0))


def summarize_finding(place: str, finding: Finding) -> str:
    """Return a finding as one line of text: `place` (F1), id, title, saving and confidence."""
    likely = "" if finding.only_bounds else f"{duration(finding.saving_ns)} ({saving_share_text(finding)}); "
    sure = f"{saving_bounds(finding)}; {finding.confidence} confidence"
    return f"- {place} `{_cut_text(finding.finding_id, _NAME)}` {_cut_text(finding.title, _TITLE)}: {likely}{sure}"


def _list_remarks(report: TraceReport) -> Iterator[LlmLine]:
    for number, each in enumerate(report.observations):
        yield LlmLine(
            f"- remark `{_cut_text(each.rule, _NAME)}`: {_cut_text(each.title, _TITLE)}", (_REMARK, number), "remark"
        )


def _list_reasons(report: TraceReport) -> Iterator[LlmLine]:
    """Yield a line for each reason why rules cannot tell, the most frequent first, and for each rule that failed."""
    for number, (reason, rules) in enumerate(frequent_reasons(report)):
        # Where nothing is found, these are the answer.
        group = _REASON if report.findings or number else _LEDGER
        yield LlmLine(f"Cannot tell {_list_few(rules)}: {_cut_text(reason, _SENTENCE)}", (group, number), "reason")
    for number, each in enumerate(report.failed):
        yield LlmLine(f"Failed {each.rule}: {_cut_text(each.error, _SENTENCE)}", (_REASON, number), "failed check")


def _list_few(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(_cut_text(each, _NAME) for each in names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _next_commands(report: TraceReport, source: str, chosen: str) -> Iterator[LlmLine]:
    yield LlmLine("")
    if report.findings:
        yield LlmLine(f"Next: evidence and SQL: `traceq report {source}{chosen} --finding F1 --sql`")
        yield LlmLine(f"      before you change anything: `traceq whatif {source}{chosen} --list`", (_REMARK, 0))
        yield LlmLine(f"      after the fix: `traceq verify F1 --before {source} --after NEW_TRACE`")
    else:
        yield LlmLine(f"Next: what the capture is missing: `traceq doctor {source}`")
    yield LlmLine("      tables for SQL: `traceq tables`; findings are in the table `finding`")


def _summarize_trace(report: TraceReport, number: int) -> Iterator[LlmLine]:
    facts = report.trace
    rank = "" if facts.rank is None else f", rank {facts.rank}"
    told = write_verdict(report)
    words = f"{_render_spans(told.spans, _TITLE)} [{told.outcome}]"
    step = duration(report.steps.mean_ns)
    yield LlmLine(
        f"Trace {facts.trace_id}{rank}, `{_cut_text(facts.file, _NAME)}`, {report.unit} {step}. {words}",
        (_OTHER_TRACE, 1 + number),
        "trace",
    )
    for count, (place, each) in enumerate(number_findings(report.findings), 1):
        yield LlmLine(
            summarize_finding(place, each), (_DETAIL if count > 1 else _LESSER, 1_000 * number + count), "finding"
        )


def _render_spans(spans: Spans, limit: int) -> str:
    """Return the spans as text of at most `limit` bytes; names and code are in backticks, which do not count."""
    shown: list[str] = []
    for text in spans:
        is_name = isinstance(text, Name) and not isinstance(text, Title)
        cut = _cut_text(text, min(_NAME, limit) if is_name else limit)
        limit -= len(cut.encode())
        shown.append(f"`{cut}`" if is_name or isinstance(text, Literal) else cut)
        if limit <= 0:
            break
    return "".join(shown)


def _cut_text(text: str, limit: int) -> str:
    """Return `text` in one line of at most `limit` bytes; a longer one keeps its start and a little of its end."""
    line = printable(text).encode()
    if len(line) <= limit:
        return line.decode()
    tail = limit // 4
    start = line[: limit - tail - len("…".encode())].decode(errors="ignore")
    return f"{start}…{line[len(line) - tail :].decode(errors='ignore')}"
