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
from traceq.reports.document import Ledger, LedgerRow, Literal, Name, Spans, Title
from traceq.reports.fit import drop_until_fits
from traceq.reports.model import Report, TraceReport
from traceq.reports.savings import saving_bounds, step_share
from traceq.reports.sections.brief import critical_trace
from traceq.reports.sections.extra import extra_left_out
from traceq.reports.sections.header import header_line
from traceq.reports.sections.jobs import judged
from traceq.reports.sections.notes import warnings
from traceq.reports.sections.outcomes import frequent_reasons
from traceq.reports.sections.verdict import verdicts
from traceq.reports.sections.where_time_goes import where_time_goes

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


class Line(NamedTuple):
    """A line of the text. The greatest `rank` is left out first, None never; `kind` is what is counted when it is."""

    text: str
    rank: tuple[int, int] | None = None
    kind: str = ""


def to_llm(report: Report, source: str | None = None, limit: int = LIMIT) -> str:
    """The report in fewer than `limit` bytes, at least 2,048; `source` is what commands call the traces."""
    lines = list(_lines(report, _quoted(source)))
    sizes = [len(line.text.encode()) + 1 for line in lines]

    def fits(dropped: set[int]) -> bool:
        return sum(sizes) - sum(sizes[number] for number in dropped) < limit - _ROOM_FOR_COUNTS

    left_out = drop_until_fits([line.rank for line in lines], fits)
    shown = [line.text for number, line in enumerate(lines) if number not in left_out]
    gone = Counter(lines[number].kind for number in sorted(left_out) if lines[number].kind)
    if gone:
        shown.append(f"Not shown: {', '.join(some(number, kind) for kind, number in gone.items())}.")
    return "\n".join(shown) + "\n"


def _quoted(source: str | None) -> str:
    # A path that was cut would be another one.
    return quote(printable(source)) if source and len(source.encode()) <= _SOURCE else _SOURCE_NAME


def _lines(report: Report, source: str) -> Iterator[Line]:
    if not report.traces:
        yield Line("# traceq report: the database holds no trace")
        return
    if len(report.traces) == 1:
        yield from _job(report)
        yield from _trace(report.traces[0], source, "")
        return
    first, why = critical_trace(report)
    yield Line(f"{some(len(report.traces), 'trace')}. {_cut(why, _SENTENCE)}")
    yield from _job(report)
    yield from _trace(first, source, f" --trace {first.trace.trace_id}")
    yield Line("", (_OTHER_TRACE, 0))
    others = [trace for trace in report.traces if trace is not first]
    for number, trace in enumerate(others):
        yield from _other_trace(trace, number)


def _job(report: Report) -> Iterator[Line]:
    """The findings of the job that the traces are; what it waits for first."""
    job = judged(report.jobs)
    if job is None or not job.findings:
        return
    yield Line("Findings of the job (saving per step, alone):", (_JOB, 0))
    for number, each in enumerate(job.findings, 1):
        group = (_JOB if number == 1 else _FINDING if number <= _FIRST else _LESSER, number)
        saves = "" if each.saving_ns is None else f", {duration(each.saving_ns)}"
        because = f": {_cut(each.because, _TITLE)}" if each.because else ""
        yield Line(
            f"- {each.rule}, `{_cut(each.unit, _NAME)}`{saves}, {each.confidence} confidence{because}",
            group,
            "job finding",
        )
        if number == 1:
            yield Line(f"  do: {_cut(each.fix, _SENTENCE)}", (_JOB, number))


def _trace(report: TraceReport, source: str, chosen: str) -> Iterator[Line]:
    """All there is about a trace; `chosen` is how commands name it among several."""
    for number, each in enumerate(verdicts(report)):
        beside = f" ({each.beside})" if each.beside else ""
        yield Line(f"{'' if number else '# '}{_spans(each.spans, _TITLE)}{beside} [{each.outcome}]")
        yield from (Line(_spans(line, _SENTENCE)) for line in each.lines)
    yield Line("")
    facts = report.trace
    yield Line(f"Trace {facts.trace_id}: {_spans(header_line(report), _SENTENCE)} · sha256 {facts.sha256[:16]}")
    for number, warned in enumerate(list(warnings(report.notes))[:_WARNINGS]):
        yield Line(f"Warning: {_spans(warned.spans, _SENTENCE)}", (_LEDGER, number))
    yield from _ledger(report)
    yield from _findings(report)
    yield from _remarks(report)
    yield from _reasons(report)
    yield from _next(report, source, chosen)


def _ledger(report: TraceReport) -> Iterator[Line]:
    for block in where_time_goes(report):
        if isinstance(block, Ledger):
            parts = "; ".join(map(_part, block.rows))
            yield Line(f"{_spans(block.title, _TITLE)} - {block.total}: {parts}.", (_LEDGER, 0))


def _part(row: LedgerRow) -> str:
    said = "; ".join(filter(None, (" ".join(row.owners), row.verdict)))
    owners = f" ({said})" if said else ""
    return f"{_cut(row.label, _NAME)} {share(row.share)}, {row.text}{owners}"


def _findings(report: TraceReport) -> Iterator[Line]:
    yield from _confirmed(report)
    if report.extra_findings:
        yield Line("Extra findings, whose rules no labelled real trace has confirmed:", (_FINDING, _FIRST + 1))
    for number, (place, each) in enumerate(number_findings(report.extra_findings), 1):
        yield Line(finding_line(place, each), (_FINDING, _FIRST + 1 + number), "extra finding")
    if told := extra_left_out(report):
        yield Line(f"Not asked: {told}.", (_REMARK, 0))


def _confirmed(report: TraceReport) -> Iterator[Line]:
    if not report.findings:
        return
    yield Line("")
    yield Line(f"Findings (saving per {report.unit}; bounds; confidence):")
    for number, (place, each) in enumerate(number_findings(report.findings), 1):
        group = _FINDING if number <= _FIRST else _LESSER
        yield Line(finding_line(place, each), None if number == 1 else (group, number), "finding")
        if number == 1:
            # Its first sentence stands in the verdict.
            yield Line(f"  fix: {_cut(each.fix, 2 * _SENTENCE)}", (_FINDING, number))
        else:
            yield Line(f"  do: {_cut(each.deed, _SENTENCE)}", (group, number))
        yield Line(f"  wrong if: {_cut(each.wrong_if, _SENTENCE)}", (_DETAIL, number))
    left = [
        some(report.findings_left_out, "more finding") if report.findings_left_out else "",
        f"below 1 %: {_few(report.small)}" if report.small else "",
    ]
    if any(left):
        yield Line(f"Also {'; '.join(filter(None, left))}.", (_REMARK, 0))


def finding_line(place: str, finding: Finding) -> str:
    """A finding in a line: its place (F1), rule and title, what it saves, and how sure that is."""
    likely = "" if finding.only_bounds else f"{duration(finding.saving_ns)} ({step_share(finding)}); "
    sure = f"{saving_bounds(finding)}; {finding.confidence} confidence"
    return f"- {place} `{_cut(finding.finding_id, _NAME)}` {_cut(finding.title, _TITLE)}: {likely}{sure}"


def _remarks(report: TraceReport) -> Iterator[Line]:
    for number, each in enumerate(report.observations):
        yield Line(f"- remark `{_cut(each.rule, _NAME)}`: {_cut(each.title, _TITLE)}", (_REMARK, number), "remark")


def _reasons(report: TraceReport) -> Iterator[Line]:
    """Why rules cannot tell, and what brings that; those that broke."""
    for number, (reason, rules) in enumerate(frequent_reasons(report)):
        # Where nothing is found, these are the answer.
        group = _REASON if report.findings or number else _LEDGER
        yield Line(f"Cannot tell {_few(rules)}: {_cut(reason, _SENTENCE)}", (group, number), "reason")
    for number, each in enumerate(report.failed):
        yield Line(f"Failed {each.rule}: {_cut(each.error, _SENTENCE)}", (_REASON, number), "failed check")


def _few(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(_cut(each, _NAME) for each in names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _next(report: TraceReport, source: str, chosen: str) -> Iterator[Line]:
    yield Line("")
    if report.findings:
        yield Line(f"Next: evidence and SQL: `traceq report {source}{chosen} --finding F1 --sql`")
        yield Line(f"      before it is built: `traceq whatif {source}{chosen} --list`", (_REMARK, 0))
        yield Line(f"      after the fix: `traceq verify F1 --before {source} --after NEW_TRACE`")
    else:
        yield Line(f"Next: what is missing in the capture: `traceq doctor {source}`")
    yield Line("      tables for SQL: `traceq tables`; findings are in the table `finding`")


def _other_trace(report: TraceReport, number: int) -> Iterator[Line]:
    facts = report.trace
    rank = "" if facts.rank is None else f", rank {facts.rank}"
    *_, told = verdicts(report)
    words = f"{_spans(told.spans, _TITLE)} [{told.outcome}]"
    step = duration(report.steps.mean_ns)
    yield Line(
        f"Trace {facts.trace_id}{rank}, `{_cut(facts.file, _NAME)}`, {report.unit} {step}. {words}",
        (_OTHER_TRACE, 1 + number),
        "trace",
    )
    for count, (place, each) in enumerate(number_findings(report.findings), 1):
        yield Line(finding_line(place, each), (_DETAIL if count > 1 else _LESSER, 1_000 * number + count), "finding")


def _spans(spans: Spans, limit: int) -> str:
    """The spans in at most `limit` bytes and some backticks; names of the trace and code stand in these."""
    shown: list[str] = []
    for text in spans:
        is_name = isinstance(text, Name) and not isinstance(text, Title)
        cut = _cut(text, min(_NAME, limit) if is_name else limit)
        limit -= len(cut.encode())
        shown.append(f"`{cut}`" if is_name or isinstance(text, Literal) else cut)
        if limit <= 0:
            break
    return "".join(shown)


def _cut(text: str, limit: int) -> str:
    """`text` in one line of at most `limit` bytes: where it is longer, its start and a little of its end."""
    line = printable(text).encode()
    if len(line) <= limit:
        return line.decode()
    tail = limit // 4
    start = line[: limit - tail - len("…".encode())].decode(errors="ignore")
    return f"{start}…{line[len(line) - tail :].decode(errors='ignore')}"
