"""The verdict: what to do first, how long a step then takes, and in one line how to do it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from traceq.analysis.categories import BY_NAME, HOST_LABELS, is_idle
from traceq.common.text import shortened
from traceq.common.units import duration, share
from traceq.diagnosis.account.line import Line, largest_unknown, main_unknown, saves_little
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.subject import WORTH_LISTING
from traceq.reports.document import Literal, Name, Outcome, Spans, Verdict, split_code
from traceq.reports.model import TraceReport
from traceq.reports.savings import (
    bounded_share_text,
    saving_cost_text,
    saving_share_text,
    saving_text,
    speed_up_text,
    step_ns,
)
from traceq.reports.sections.snapshot import is_snapshot, verdict_of_snapshot
from traceq.reports.sections.triage import refuse_to_judge, tell_capture, tell_later_capture

# The report's source in commands, where it is not known.
SOURCE = "TRACE"
_PLACEHOLDER = re.compile(r"\b(?:TRACE|DB)\b")
# What to do where other ranks of a job stand for one.
NOT_ASKED: Spans = split_code("No rule ran on it: `traceq report DB --rank N` runs all of them on one rank.")
_LONGEST_NAME = 60
# Less of the capture than this is judged: the verdict says which share.
_NEARLY_ALL = 0.95
# A GPU that is busy for so much of the time has nothing to win by being fed better.
_BUSY_ENOUGH = 0.9
_UNKNOWN = ("idle_unattributed", "idle_launch_latency")
_OTHER_DEVICES = "Cannot tell what to fix: the work ran on devices that traceq does not analyse (see the notes)."
_NO_GPU = "Cannot tell what to fix: no GPU work was found, and on the host nothing that would save 1 %."
_ALL_SECTIONS: Spans = ("All that failed: ", Literal(f"traceq report {SOURCE} --full"))
# Captures of which the only window is all that there is.
_WHOLE = frozenset({"whole_run", "sampled"})
# Notes of a file of which a part is missing, and what that makes of it.
_INCOMPLETE = {"truncated": "cut", "table_damaged": "damaged"}
# Remarks that say why rules on idle time were not asked.
_NO_IDLE_TIME = ("sampled-capture",)


def write_verdict(report: TraceReport, source: str = SOURCE) -> Verdict:
    """Return the verdict on the trace: what to fix first, that nothing is worth fixing, or why that cannot be told.

    The last command of "cannot tell" is the one that would tell. Commands name the trace's file or database `source`, quoted for
    a shell.
    """
    if is_snapshot(report):
        said = verdict_of_snapshot(report)
    elif fault := find_fault_of_file(report):
        said = _judge_incomplete(report, fault)
    else:
        refused = refuse_to_judge(report)
        said = end_with_command(refused or _choose_statement(report), source)
        return said if refused else _add_start_up(said, report)
    return end_with_command(said, source)


def end_with_command(said: Verdict, source: str) -> Verdict:
    """Return the verdict with `source` for the placeholders TRACE and DB in its commands.

    One that cannot tell and has no command in its last line gets the command that lists what the capture lacks.
    """
    lines: tuple[Spans, ...] = said.lines
    if said.outcome == "cannot tell" and not any(isinstance(span, Literal) for spans in lines[-1:] for span in spans):
        lines = (*lines, ("What this capture lacks: ", Literal(f"traceq doctor {SOURCE}")))
    return replace(said, lines=tuple(tuple(_name_source(span, source) for span in spans) for spans in lines))


def _name_source(span: str, source: str) -> str:
    return Literal(_PLACEHOLDER.sub(lambda _: source, span)) if isinstance(span, Literal) else span


def _add_start_up(said: Verdict, report: TraceReport) -> Verdict:
    """Return the verdict with a last line on start-up, if the run spent much time on it; it stands first in a healthy one."""
    found = next((each for each in report.observations if each.rule == "start-up" and report.run_ns), None)
    if found is None or not report.run_ns:
        return said
    took = sum(phase.dur_ns for phase in report.phases_of_run if phase.phase == "start_up")
    words = f"{duration(took)} of {duration(report.run_ns)} ({share(took / report.run_ns)})"
    if said.outcome != "healthy":
        return replace(said, lines=(*said.lines, (f"{found.title}: {words}",)))
    lines = ((words,), split_code(found.deed), ("After that: ", *said.spans), *said.lines)
    return Verdict((f"Look into first: {found.title}",), "look into", lines=lines)


def _choose_statement(report: TraceReport) -> Verdict:
    """Return the verdict on the first finding, or on the largest unexplained time if the finding saves little or is missing.

    Without both: that nothing is worth fixing, or why that cannot be told.
    """
    # of a sample of the records no line is whole
    is_sample = any(each.rule in _NO_IDLE_TIME for each in report.observations)
    unknown = None if is_sample else largest_unknown(report.account)
    if report.findings:
        first = report.findings[0]
        if unknown is not None and saves_little(first):
            return _put_unknown_first(unknown, first, report)
        return _put_finding_first(first, report, unknown)
    unknown = None if is_sample else main_unknown(report.account)
    if unknown is not None and report.ledger and report.rules_asked and not report.failed:
        return _put_unknown_first(unknown, None, report)
    return _judge_without_findings(report)


def name_line(line: Line) -> str:
    """Return the name of a line of the account: its category in words, and after a comma its part, if it has one."""
    known = BY_NAME.get(line.category)
    words = known.label if known is not None else HOST_LABELS.get(line.category, line.category)
    return words if line.part is None else f"{words}, {shortened(line.part, _LONGEST_NAME)}"


def _put_unknown_first(line: Line, first: Finding | None, report: TraceReport) -> Verdict:
    """Return the verdict that nobody can tell what to fix first, because `line` of the account is unexplained.

    Its lines are the line's remedy and the finding `first`, if any.
    """
    name = name_line(line)
    words = f"{duration(line.dur_ns)} ({share(line.step_share)})"
    lines: list[Spans] = []
    if first is not None:
        lines.append(("Known so far: ", first.title, f", saves {saving_text(first)} ({bounded_share_text(first)})"))
    lines.append(split_code(line.remedy))
    return Verdict(
        ("Cannot tell what to fix first: ", Name(name), f" takes {words} of the {report.unit}: {line.reason}."),
        "cannot tell",
        lines=tuple(lines),
    )


def find_fault_of_file(report: TraceReport) -> str:
    """Return "cut" or "damaged" if the import's notes say that a part of the trace's file is missing, else ""."""
    codes = {each.code for each in report.notes}
    return next((fault for code, fault in _INCOMPLETE.items() if code in codes), "")


def _judge_incomplete(report: TraceReport, fault: str) -> Verdict:
    """Return the verdict that a file cannot be judged because it is cut or damaged (`fault`), with the first finding, if any."""
    lines: list[Spans] = []
    if report.findings:
        lines.append(("First finding in the part that was read: ", report.findings[0].title))
    lines.append(
        split_code(
            tell_capture("A job that is killed leaves half a file. Copy the file again, or record again", report)
        )
    )
    return Verdict((f"Cannot tell: the file is {fault}.",), "cannot tell", lines=tuple(lines))


def _judge_without_findings(report: TraceReport) -> Verdict:
    if not report.rules_asked:
        return Verdict(("Not analysed: other ranks of the job represent this one.",), "cannot tell", lines=(NOT_ASKED,))
    if report.failed:
        return Verdict(
            (f"Cannot tell what to fix first: {len(report.failed)} checks failed.",),
            "cannot tell",
            lines=((f"{report.failed[0].rule}: {report.failed[0].error}",), _ALL_SECTIONS),
        )
    if not report.ledger and not report.host_ledger:
        return _judge_without_ledger(report)
    if said := _judge_too_little(report):
        return said
    outcome, words = _explain_nothing(report)
    return Verdict((words,), outcome)


def _judge_too_little(report: TraceReport) -> Verdict | None:
    """Return the verdict on a capture of one step, or of a fragment of one, in which nothing is to fix; None for others."""
    if report.steps.counted > 1 or (report.triage is not None and report.triage.reason in _WHOLE):
        return None
    judged = "the window" if report.steps.is_window else "the one step"
    return Verdict(
        (f"Cannot tell whether there is something to fix: nothing was found in {judged} that was judged.",),
        "cannot tell",
        lines=(split_code(tell_later_capture("One step may be unlike the others. Capture several", report)),),
    )


def _judge_without_ledger(report: TraceReport) -> Verdict:
    if report.devices and not report.steps.counted:
        return Verdict(
            ("Cannot tell what to fix first: no step counts.",),
            "cannot tell",
            lines=(split_code(tell_later_capture("All steps belong to the warm-up. Capture more of them", report)),),
        )
    reason = report.not_applicable[0].reason if report.not_applicable else "no GPU activity in this trace"
    return Verdict(("Cannot tell what to fix first: there is no GPU ledger.",), "cannot tell", lines=((reason,),))


def _put_finding_first(first: Finding, report: TraceReport, unknown: Line | None) -> Verdict:
    # What is uncertain is to be looked into before anything is changed.
    is_sure = first.confidence != "low"
    return Verdict(
        ("Fix first: " if is_sure else "Look into first: ", first.title),
        "problem" if is_sure else "look into",
        beside=f"{first.confidence} confidence",
        lines=(
            _say_before_and_after(first, report),
            split_code(first.deed),
            *([_say_unknown(unknown, report)] if unknown is not None else []),
        ),
    )


def _say_unknown(line: Line, report: TraceReport) -> Spans:
    return ("Not known: ", Name(name_line(line)), f", {share(line.step_share)} of the {report.unit}: {line.reason}")


def _say_before_and_after(first: Finding, report: TraceReport) -> Spans:
    low, high = duration(first.saving_low_ns), duration(first.saving_high_ns)
    unit = "" if report.unit == "window" else f" per {report.unit}"
    if first.only_bounds:
        of_step = f"{duration(step_ns(first))}{unit}"
        if low == high:
            return (f"Saves {low} of {of_step}, from bounds only, because the replay is too far off",)
        return (f"Saves {low} to {high} of {of_step}; the replay is too far off to give a likely value",)
    words = f"{duration(step_ns(first))} -> {duration(first.expected_step_ns)}{unit}"
    if first.expected_step_ns > 0:
        words += f", {speed_up_text(step_ns(first), first.expected_step_ns)} as fast"
    worth = saving_cost_text(first, report.price)
    return (f"{words} (saves {saving_share_text(first)}{worth}: {low} to {high}{_share_of_run(report, first)})",)


def _share_of_run(report: TraceReport, finding: Finding) -> str:
    """Return text on the finding's saving as a share of the whole run.

    "" if the run's length is unknown or most of it is judged.
    """
    if report.run_ns is None or not judges_a_part(report):
        return ""
    return f"; {share(finding.saving_ns * report.steps.counted / report.run_ns)} of the run"


def judges_a_part(report: TraceReport) -> bool:
    """Return whether less than 95 % of the capture is judged; False if that is not known."""
    return report.judged_share is not None and report.judged_share < _NEARLY_ALL


def _explain_nothing(report: TraceReport) -> tuple[Outcome, str]:
    """Return (outcome, sentence) for a report without findings.

    "healthy" if a GPU is busy or none of its idle categories is worth saving, else "cannot tell" with the reason.
    """
    if not report.ledger:
        is_other = any(note.code.endswith("_not_measured") for note in report.notes)
        return "cannot tell", _OTHER_DEVICES if is_other else _NO_GPU
    for each in report.observations:
        if each.rule in _NO_IDLE_TIME:
            title = each.title[:1].lower() + each.title[1:]
            words = f"Cannot tell what to fix: {title}, so idle time is not judged, and nothing else would save 1 %."
            return "cannot tell", words
    # What the device computes, launched before the capture, is no idle time to win.
    idle = min(
        (
            [(part.step_share, part.category) for part in device.parts if is_idle(part.category)]
            for device in report.ledger
        ),
        key=lambda parts: sum(part_share for part_share, _ in parts),
        default=[],
    )
    total = sum(part_share for part_share, _ in idle)
    largest, cause = max(idle, default=(0.0, ""))
    if total <= 1 - _BUSY_ENOUGH or largest < WORTH_LISTING:
        return "healthy", f"Nothing to fix: no change that traceq knows would save 1 % of the {report.unit}."
    idles = f"Cannot tell what to fix: the GPU idles {share(total)} of the time"
    if cause in _UNKNOWN:
        return "cannot tell", f"{idles}, and this capture does not say why."
    return "cannot tell", f"{idles}, most of it for {BY_NAME[cause].words} ({share(largest)}), and no rule applies."
