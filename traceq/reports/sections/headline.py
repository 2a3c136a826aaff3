"""The words that come first: what to fix, what it would win, and the findings in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import BY_NAME, IDLE
from traceq.common.units import duration, share
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.subject import WORTH_LISTING
from traceq.reports.document import Block, Paragraph, Reference, Spans, Table, Title, Verdict, Warn
from traceq.reports.model import DeviceLedger, TraceReport
from traceq.reports.savings import speed_up, step_ns, step_share
from traceq.reports.sections.pictures import pictures

_NAMED = 2
# Of the run: what is left is not worth a word.
_NEARLY_ALL = 0.95
# A GPU that is busy for so much of the time has nothing to win by being fed better.
_BUSY_ENOUGH = 0.9
_TO_WIN = frozenset(IDLE) - {"idle_earlier_work"}
_UNKNOWN = ("idle_unattributed", "idle_launch_latency")
# Remarks that say why rules on idle time were not asked.
_NO_IDLE_TIME = ("sampled-capture", "graph-recording")


def headline(report: TraceReport) -> Iterator[Block]:
    """The answer in a few lines: how long a step takes, and what to change first."""
    unit = report.unit
    steps = report.steps
    if not report.ledger and not report.host_ledger:
        reason = report.not_applicable[0].reason if report.not_applicable else "no GPU activity in this trace"
        yield Verdict(("Cannot tell what to fix first: there is no GPU ledger.",))
        yield Warn((f"The GPU ledger is not applicable: {reason}.",))
    if steps.source is None:
        return
    if unit == "window":
        text = f"The window that is judged lasts {duration(steps.p50)}" + _judged(report, ", ", "") + "."
    else:
        # Savings are shares of the mean: the sum of all steps is what a run takes.
        text = f"A step takes {duration(steps.mean)} (mean of {steps.counted}, median {duration(steps.p50)})."
        text += _judged(report, " Judged: ", ".")
    if not report.ledger:
        text += " No GPU activity is in this trace: what is judged is the time of the training thread."
    yield from _start_up(report)
    if report.findings:
        yield Verdict(_verdict(report.findings[0], report))
    elif (report.ledger or report.host_ledger) and not report.failed:
        yield Verdict((_nothing(report),))
    yield Paragraph((text + _computing(report.ledger) + _next(report.findings[1 : 1 + _NAMED], unit),))
    yield from pictures(report, "headline")
    if report.findings:
        yield _ranking(report.findings, unit)


def _nothing(report: TraceReport) -> str:
    """The words of a report without findings: that nothing can be won, where a GPU is busy or no idle cause is worth listing."""
    for told in report.observations:
        if told.rule in _NO_IDLE_TIME:
            return f"{told.title}: idle time is not judged, and nothing else would win 1 % of the {report.unit}."
    # What the device computes, launched before the capture, is no idle time to win.
    idle = min(
        (
            [(part.share, part.category) for part in device.parts if part.category in _TO_WIN]
            for device in report.ledger
        ),
        key=lambda parts: sum(each for each, _ in parts),
        default=[],
    )
    total = sum(each for each, _ in idle)
    largest, cause = max(idle, default=(0.0, ""))
    if total <= 1 - _BUSY_ENOUGH or largest < WORTH_LISTING:
        return f"Nothing found that would win 1 % of the {report.unit} or more."
    if cause in _UNKNOWN:
        return f"GPU idle {share(total)}, cause not in this capture."
    return (
        f"GPU idle {share(total)}, most of it {BY_NAME[cause].words} ({share(largest)}): no rule knows what to change."
    )


def _start_up(report: TraceReport) -> Iterator[Block]:
    """First, where most of the run is no step: that no finding about steps can win."""
    for told in report.observations:
        if told.rule == "start-up" and report.run_ns:
            took = sum(phase.dur for phase in report.phases_of_run if phase.phase == "start_up")
            words = f"{duration(took)} of {duration(report.run_ns)} ({share(took / report.run_ns)})"
            yield Verdict((told.title, f": {words}, which no saving below counts. {told.fix}"))


def _judged(report: TraceReport, before: str, after: str) -> str:
    """Which share of the run is judged, between two texts; nothing where it is nearly all or unknown."""
    judged = report.judged_share
    return "" if judged is None or judged >= _NEARLY_ALL else f"{before}{share(judged)} of the run{after}"


def _of_run(report: TraceReport, finding: Finding) -> str:
    """The saving as a share of the run, where the run is more than what is judged."""
    won = finding.saving_ns * report.steps.counted / report.run_ns if report.run_ns else None
    return "" if won is None or not _judged(report, "", "") else f", {share(won)} of the run"


def _verdict(first: Finding, report: TraceReport) -> Spans:
    what = "of the window" if report.unit == "window" else f"per {report.unit}"
    won = f"{duration(first.saving_ns)} {what} ({step_share(first)}{_of_run(report, first)}"
    if first.expected_step_ns > 0:
        won += f", {speed_up(step_ns(first), first.expected_step_ns)} as fast"
    # What is uncertain is to be looked into before anything is changed.
    what_first = "Look into first: " if first.confidence == "low" else "Fix first: "
    if first.only_bounds:
        low, high = duration(first.saving_low_ns), duration(first.saving_high_ns)
        return (what_first, first.title, f". It would win {low} to {high} {what} ({first.confidence} confidence).")
    return (what_first, first.title, f". It would likely win {won}; {first.confidence} confidence).")


def _next(others: Sequence[Finding], unit: str) -> str:
    if not others:
        return ""
    words = [f"{each.title} ({duration(each.saving_ns)} per {unit}, {step_share(each)})" for each in others]
    return f" Then: {'; '.join(words)}."


def _computing(ledger: Sequence[DeviceLedger]) -> str:
    shares = [sum(part.share for part in device.parts if part.category == "compute") for device in ledger]
    if not shares:
        return ""
    if len(shares) == 1:
        return f" GPU {ledger[0].device} computes {share(shares[0])} of the time."
    return f" {len(shares)} GPUs compute {share(min(shares))} to {share(max(shares))} of the time."


def _ranking(found: Sequence[Finding], unit: str) -> Table:
    rows = []
    left = step_ns(found[0])
    for number, each in enumerate(found, 1):
        left -= each.saving_ns
        faster = speed_up(step_ns(found[0]), left)
        title = Title(each.title)
        rows.append(
            (Reference(f"F{number}"), title, duration(each.saving_ns), step_share(each), faster, each.confidence)
        )
    header = ("", "finding", f"per {unit}", "share", "with all above", "confidence")
    return Table(header, tuple(rows), text_columns=(0, 1, 5))
