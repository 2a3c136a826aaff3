"""Answers about a report: what was opened, the report itself, one finding, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from traceq.common.text import printable, shortened
from traceq.common.units import cell, duration, some
from traceq.diagnosis.choose import Chosen, choose, number_findings
from traceq.diagnosis.finding import Evidence, Finding
from traceq.diagnosis.packs import is_of_extra
from traceq.errors import StoreError
from traceq.reports.document import Verdict, verdict_in_a_line
from traceq.reports.mcp.budget import AgentAnswer, fit_answer
from traceq.reports.model import HostStack, Report, TraceReport
from traceq.reports.renderers.to_llm import LIMIT, summarize_finding, to_llm
from traceq.reports.savings import saving_bounds, saving_share_text, step_ns
from traceq.reports.sections.header import header_line
from traceq.reports.sections.headline import find_critical_trace, name_source, write_headline
from traceq.reports.sections.outcomes import frequent_reasons
from traceq.reports.sections.verdict import write_verdict

_NAME, _TITLE, _TEXT = 80, 200, 1_500
_ROWS, _COLUMNS = 3, 8
_MOST_TRACES, _MOST_FINDINGS, _MOST_REASONS = 20, 10, 8
_FRAMES = 8
_NOT_ASKED = "no labelled trace has confirmed this rule: `traceq report SOURCE --rules extra` runs it"
_IN_TEXT = "the text has it; part='sql' gives the SQL alone"


def describe_database(report: Report, name: str, path: str, limit: int) -> AgentAnswer:
    """Answer with a database's name for later calls, its traces, the verdict, and a line for each finding."""
    return fit_answer(_describe_database(report, name, path), limit)


def _describe_database(report: Report, name: str, path: str) -> Iterator[AgentAnswer]:
    for traces, findings in ((_MOST_TRACES, _MOST_FINDINGS), (8, 5), (3, 3), (1, 1)):
        data: dict[str, Any] = {"id": name, "path": shortened(path, 2 * _TITLE), **_verdict_data(report)}
        data["traces"] = [_trace_data(each) for each in report.traces[:traces]]
        shown = _first_trace(report)
        lines = [f"{name}: {printable(shortened(path, 2 * _TITLE))}, {some(len(report.traces), 'trace')}"]
        lines += [f"trace {each.trace.trace_id}: {_header_text(each)}" for each in report.traces[:traces]]
        if len(report.traces) > traces:
            lines.append(f"and {some(len(report.traces) - traces, 'more trace')}")
        if shown is not None:
            lines += ["", *_verdict_lines(write_headline(report).verdict)]
            lines += [summarize_finding(*each) for each in number_findings(shown.findings[:findings])]
            lines += _list_reasons(shown) if not shown.findings else ()
            data["findings"] = [_finding_summary(*each) for each in number_findings(shown.findings[:findings])]
        yield AgentAnswer("\n".join(lines) + "\n", data)


def answer_report(report: Report, name: str, path: str, limit: int) -> AgentAnswer:
    """Answer with the report as `--format llm` prints it, and with the verdict and findings as data."""
    shown = _first_trace(report)
    findings = () if shown is None else shown.findings
    data = {
        "id": name,
        **_verdict_data(report),
        "findings": [_finding_summary(*each) for each in number_findings(findings)],
    }
    # The text never holds more bytes than its limit; escaped, they may be a few more characters.
    few = {**data, "findings": data["findings"][:3]}
    least = AgentAnswer("", few).size
    text = to_llm(report, path, min(LIMIT, max(2_048, limit - least - limit // 10)))
    return fit_answer((AgentAnswer(text, data), AgentAnswer(text, few), AgentAnswer(text)), limit)


def answer_finding(report: Report, name: str, trace: int | None, part: str, limit: int) -> AgentAnswer:
    """Answer with one finding, its evidence and SQL, or why there is none; `name` is F1, its id or its rule.

    `part` is "all", or "sql" for its queries alone. `trace` is a trace_id, None for the trace to look at first. Raises
    StoreError where no finding and no rule has the name.
    """
    shown = _find_trace(report, trace)
    ruled_out = _answer_without_finding(shown, name, name_source(report))
    if ruled_out is not None:
        return fit_answer([ruled_out], limit)
    chosen = choose(name, {shown.trace.trace_id: shown.findings})
    if part == "sql":
        return fit_answer(
            _list_queries(chosen.finding), limit, "traceq report SOURCE --finding F1 --sql prints it in full"
        )
    return fit_answer(_describe_finding(shown, chosen), limit)


def _find_trace(report: Report, trace: int | None) -> TraceReport:
    if trace is None:
        shown = _first_trace(report)
        if shown is None:
            raise StoreError("the database has no trace")
        return shown
    for each in report.traces:
        if each.trace.trace_id == trace:
            return each
    known = ", ".join(str(each.trace.trace_id) for each in report.traces[:_MOST_TRACES])
    raise StoreError(f"there is no trace {trace}; there are {known}")


def _first_trace(report: Report) -> TraceReport | None:
    """Return the trace that the verdict is about, or else the one to look at first; None without traces."""
    if not report.traces:
        return None
    return write_headline(report).trace or find_critical_trace(report)[0]


def _answer_without_finding(report: TraceReport, name: str, source: str) -> AgentAnswer | None:
    """Return the answer for a rule that found nothing or cannot tell, or for F1 in a trace without findings.

    None if there may be a finding of that name. Commands name the trace's file or database `source`.
    """
    told = write_verdict(report, source)
    if not report.rules_asked:
        words = "\n".join(_verdict_lines(told))
        return _answer_no_finding(report, words, told.outcome, "".join(told.spans))
    if report.extra_left_out and is_of_extra(name):
        return _answer_no_finding(report, f"Not asked: {_NOT_ASKED}", "cannot tell", _NOT_ASKED)
    for each in report.not_applicable:
        if name.casefold() == each.rule:
            return _answer_no_finding(report, f"Cannot tell: {each.title}: {each.reason}", "cannot tell", each.reason)
    for clean in report.clean:
        if name.casefold() == clean.rule:
            return _answer_no_finding(report, f"Not found: {clean.title}: {clean.reason}", "healthy", clean.reason)
    if report.findings or not (name.casefold().startswith("f") and name[1:].isdecimal()):
        return None
    words = "\n".join([*_verdict_lines(told), *_list_reasons(report)])
    return _answer_no_finding(report, words, told.outcome, "".join(told.spans))


def _answer_no_finding(report: TraceReport, words: str, outcome: str, reason: str) -> AgentAnswer:
    data = {"trace": report.trace.trace_id, "finding": None, "outcome": outcome, "reason": shortened(reason, _TEXT)}
    return AgentAnswer(_cut_lines(words) + "\n", data)


def _cut_lines(text: str) -> str:
    """Return the text with each line made printable and cut to the longest length allowed."""
    return "\n".join(shortened(printable(line), _TEXT) for line in text.split("\n"))


def _list_reasons(report: TraceReport) -> list[str]:
    """Return a line for each frequent reason why rules cannot tell, and one for each rule that failed."""
    reasons = frequent_reasons(report)[:_MOST_REASONS]
    lines = [f"Cannot tell ({some(len(rules), 'rule')}, {', '.join(rules[:3])}): {reason}" for reason, rules in reasons]
    return lines + [f"Failed {each.rule}: {shortened(each.error, _TITLE)}" for each in report.failed[:_MOST_REASONS]]


def _describe_finding(report: TraceReport, chosen: Chosen) -> Iterator[AgentAnswer]:
    """Yield answers on the finding from the longest to the shortest; title, saving, fix and SQL always stay."""
    found = chosen.finding
    data = _finding_data(report, chosen)
    facts = _finding_lines(report, chosen)
    stack = report.stacks.get(found.finding_id)
    around = _stack_lines(stack)
    if stack is not None and stack.line is not None:
        # What names a line of the program stays.
        facts, around = [*facts, *around], []
    rows = [f"Evidence ({_ROWS} of {some(len(found.instances.rows), 'row')}):", *_evidence_rows(found.instances)]
    evidence = rows if found.instances.rows else []
    claim = _sql_lines("how much it claims", found.summary.query)
    query = found.instances.query
    own = _sql_lines("the evidence", query)
    yield _join_answer(
        (*facts, *around, *evidence, *own, *claim), {**data, "sql": query, "claim_sql": found.summary.query}
    )
    # As data the queries would be the same text again: there is not always room for that, nor for the stack.
    yield _join_answer((*facts, *around, *evidence, *own, *claim), {**data, "sql": query})
    del data["stack"]
    yield _join_answer((*facts, *around, *evidence, *own, *claim), {**data, "sql": query})
    yield _join_answer((*facts, *evidence, *own, *claim), {**data, "sql": query})
    yield _join_answer((*facts, *evidence, *own), {**data, "sql": query})
    data["sql_note"] = _IN_TEXT
    yield _join_answer((*facts, *evidence, *own, *claim), data)
    yield _join_answer((*facts, *evidence, *own), data)
    brief = {"trace": data["trace"], "outcome": "problem", **_finding_summary(*chosen), "sql_note": _IN_TEXT}
    yield _join_answer((*facts, *own), brief)
    yield _join_answer((*facts, f"SQL ({len(query):,} characters): part='sql' gives it alone."), brief)


def _join_answer(lines: Sequence[str], data: Mapping[str, Any]) -> AgentAnswer:
    return AgentAnswer("\n".join(lines) + "\n", data)


def _list_queries(found: Finding) -> Iterator[AgentAnswer]:
    """Yield answers with the SQL texts of the finding: of evidence and claim, then of evidence alone."""
    own = _sql_lines("the evidence", found.instances.query)
    for lines in ((*own, *_sql_lines("how much it claims", found.summary.query)), own):
        yield AgentAnswer("\n".join(lines) + "\n")


def _sql_lines(what: str, query: str) -> list[str]:
    return [f"SQL of {what}:", query]


def _finding_lines(report: TraceReport, chosen: Chosen) -> list[str]:
    found = chosen.finding
    step = duration(step_ns(found))
    likely = (
        "no likely value, because the replay is too far off"
        if found.only_bounds
        else f"{duration(found.saving_ns)} ({saving_share_text(found)}), {step} -> {duration(found.expected_step_ns)}"
    )
    lines = [
        f"# {chosen.place} {found.title}",
        f"trace {report.trace.trace_id}; id {found.finding_id}; {found.confidence} confidence: {found.confidence_reason}",
        f"Saves per {report.unit}: {likely}; bounds {saving_bounds(found)}",
        f"Fix: {found.fix}",
        f"Does not apply if: {found.wrong_if}",
    ]
    if found.parts:
        lines.append("Also found by: " + ", ".join(part.rule for part in found.parts[:_COLUMNS]))
    return [shortened(printable(line), _TEXT) for line in lines]


def _stack_lines(stack: HostStack | None) -> list[str]:
    """Return a line with the frames of the host at the worst occurrence, and one with the program's own; none without a stack."""
    if stack is None:
        return []
    when = ", when its graph was captured" if stack.is_captured else ""
    more = f" < {len(stack.frames) - _FRAMES} more" if len(stack.frames) > _FRAMES else ""
    frames = " < ".join(_cut_frame(frame) for frame in stack.frames[:_FRAMES])
    lines = [f"Call stack of the worst occurrence{when}, innermost first: {frames}{more}"]
    return lines if stack.line is None else [*lines, f"Line of the program: {_cut_frame(stack.line)}"]


def _cut_frame(frame: str) -> str:
    return shortened(printable(frame), _NAME)


def _stack_data(stack: HostStack | None) -> dict[str, Any] | None:
    if stack is None:
        return None
    frames = [shortened(frame, _NAME) for frame in stack.frames[:_FRAMES]]
    line = None if stack.line is None else shortened(stack.line, _NAME)
    return {"frames": frames, "line": line, "is_captured": stack.is_captured}


def _evidence_rows(evidence: Evidence) -> list[str]:
    """Return text lines: the names of the evidence's columns, then the cells of each of its first rows."""
    columns = evidence.columns[:_COLUMNS]
    rows = [
        " | ".join(_format_value(column, value) for column, value in zip(columns, row, strict=False))
        for row in evidence.rows[:_ROWS]
    ]
    return [" | ".join(columns), *rows]


def _format_value(column: str, value: float | str | None) -> str:
    return "-" if value is None else shortened(printable(cell(column, value)), _NAME)


def _finding_data(report: TraceReport, chosen: Chosen) -> dict[str, Any]:
    found = chosen.finding
    columns = found.instances.columns[:_COLUMNS]
    return {
        "trace": report.trace.trace_id,
        **_finding_summary(*chosen),
        "outcome": "problem",
        "step_ns": round(step_ns(found)),
        "expected_step_ns": round(found.expected_step_ns),
        "deed": shortened(found.deed, 2 * _TITLE),
        "fix": shortened(found.fix, _TEXT),
        "wrong_if": shortened(found.wrong_if, 2 * _TITLE),
        "stack": _stack_data(report.stacks.get(found.finding_id)),
        "evidence": {
            "columns": list(columns),
            "rows": [
                [shortened(each, _NAME) if isinstance(each, str) else each for each in row[: len(columns)]]
                for row in found.instances.rows[:_ROWS]
            ],
        },
    }


def _finding_summary(place: str, found: Finding) -> dict[str, Any]:
    step = step_ns(found)
    return {
        "finding": place,
        "rule": found.rule,
        "finding_id": shortened(found.finding_id, _TITLE),
        "title": shortened(found.title, _TITLE),
        "saving_ns": None if found.only_bounds else round(found.saving_ns),
        "saving_low_ns": round(found.saving_low_ns),
        "saving_high_ns": round(found.saving_high_ns),
        "saving_share": round(found.saving_ns / step, 4) if step and not found.only_bounds else None,
        "confidence": found.confidence,
    }


def _trace_data(report: TraceReport) -> dict[str, Any]:
    facts = report.trace
    return {
        "trace": facts.trace_id,
        "rank": facts.rank,
        "file": shortened(facts.file, _TITLE),
        "sha256": facts.sha256,
        "profiler": shortened(facts.producer or facts.format, _NAME),
        "gpus": [shortened(each.name or "unknown", _NAME) for each in report.devices if each.slices][:_COLUMNS],
        "steps": report.steps.counted,
        "per": report.unit,
        "step_ns": None if report.steps.mean_ns is None else round(report.steps.mean_ns),
    }


def _verdict_data(report: Report) -> dict[str, Any]:
    """Return the verdict as data: trace_id, outcome, and a text on what to do first or why the trace cannot tell."""
    said = write_headline(report).verdict
    shown = _first_trace(report)
    trace = {} if shown is None else {"trace": shown.trace.trace_id}
    return {**trace, "outcome": said.outcome, "verdict": shortened(verdict_in_a_line(said), 2 * _TITLE)}


def _verdict_lines(told: Verdict) -> list[str]:
    beside = f" ({told.beside})" if told.beside else ""
    first = f"# {''.join(told.spans)}{beside} [{told.outcome}]"
    return [shortened(printable(line), 2 * _TITLE) for line in (first, *("".join(spans) for spans in told.lines))]


def _header_text(report: TraceReport) -> str:
    return shortened(printable("".join(header_line(report))), 2 * _TITLE)
