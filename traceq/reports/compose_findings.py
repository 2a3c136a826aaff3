"""The words about findings, and about rules that found nothing or cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from traceq.reports.document import Block, Facts, Heading, Items, Name, Paragraph, Query, Spans, Table, Warn
from traceq.reports.units import cell, duration, share

if TYPE_CHECKING:
    from traceq.findings import Clean, Finding, NotApplicable
    from traceq.reports.report import DeviceLedger, TraceReport

# Below this share of the step a finding stands in the table only.
_WORTH_DETAILS = 0.005


def headline(report: TraceReport) -> Iterator[Block]:
    """The answer in one paragraph."""
    unit = _unit(report)
    steps = report.steps
    if not report.ledger:
        reason = report.not_applicable[0].reason if report.not_applicable else "no GPU activity in this trace"
        yield Warn((f"The GPU ledger is not applicable: {reason}.",))
    if steps.source is None:
        return
    if unit == "trace":
        text = f"The trace lasts {duration(steps.p50)}."
    else:
        # Savings are shares of the mean: the sum of all steps is what a run takes.
        text = f"A step takes {duration(steps.mean)} (mean of {steps.counted}, median {duration(steps.p50)})."
    text += _computing(report.ledger)
    if report.findings:
        first = report.findings[0]
        saving = f"up to {duration(first.saving_ns)} per {unit} ({_step_share(first)})"
        text += f" Most to win: {first.title}, {saving}."
    yield Paragraph((text,))


def _computing(ledger: Sequence[DeviceLedger]) -> str:
    shares = [sum(part.share for part in device.parts if part.category == "compute") for device in ledger]
    if not shares:
        return ""
    if len(shares) == 1:
        return f" GPU {ledger[0].device} computes {share(shares[0])} of the time."
    return f" {len(shares)} GPUs compute {share(min(shares))} to {share(max(shares))} of the time."


def findings(report: TraceReport) -> Iterator[Block]:
    """The ranked table and what there is to say about each finding in it."""
    if not report.findings:
        return
    unit = _unit(report)
    yield Heading(3, ("Findings, by time that could be won back",))
    yield Paragraph((_how_to_read(report, unit),))
    yield Table(
        ("", "finding", "GPU", f"per {unit}, up to", "share", "confidence"),
        tuple(
            (
                f"F{number}",
                each.title,
                str(each.where.device),
                duration(each.saving_ns),
                _step_share(each),
                each.confidence,
            )
            for number, each in enumerate(report.findings, 1)
        ),
        text_columns=(0, 1, 2),
    )
    if report.findings_left_out:
        yield Paragraph((f"{report.findings_left_out} smaller not shown; --top shows more.",))
    detailed = [
        (number, each)
        for number, each in enumerate(report.findings, 1)
        if each.saving_ns >= _WORTH_DETAILS * _step_ns(each)
    ]
    if len(detailed) < len(report.findings):
        yield Paragraph((f"Details follow for what is at least {share(_WORTH_DETAILS)} of the {unit}.",))
    for number, each in detailed:
        yield from _finding(number, each, unit)


def _how_to_read(report: TraceReport, unit: str) -> str:
    text = (
        "Exposed is what runs while no compute kernel does."
        f" Each saving is an upper bound per {unit}, its lower bound is 0. Findings on one GPU never share a"
        " nanosecond."
    )
    if len({each.where.device for each in report.findings}) > 1:
        text += " Findings on different GPUs can cover the same time: do not add them."
    if len(report.ledger) > 1:
        text += (
            " Of several GPUs, exposed time is that of the GPU with most of it, idle time that of the GPU with least:"
            " a step cannot get shorter than its busiest GPU."
        )
    return text


def _finding(number: int, finding: Finding, unit: str) -> Iterator[Block]:
    yield Heading(4, (f"F{number}. {finding.title}",))
    yield Facts(
        (
            ("saving", (_saving(finding, unit),)),
            ("where", _where(finding)),
            ("confidence", (f"{finding.confidence}. {finding.confidence_reason}",)),
            ("try", (finding.fix,)),
            ("id", (Name(finding.finding_id),)),
        )
    )
    evidence = finding.evidence
    yield Table(
        tuple(_header(column) for column in evidence.columns),
        tuple(tuple(map(cell, evidence.columns, row)) for row in evidence.rows),
        text_columns=(),
    )
    yield Query(finding.query)


def _saving(finding: Finding, unit: str) -> str:
    step = _step_ns(finding)
    text = (
        f"up to {duration(finding.saving_ns)} per {unit} ({_step_share(finding)}):"
        f" {duration(step)} would become {duration(finding.expected_step_ns)}"
    )
    if finding.expected_step_ns > 0:
        text += f", at most {step / finding.expected_step_ns:.3g} times as fast"
    return text


def _where(finding: Finding) -> Spans:
    where = finding.where
    spans: Spans = (f"GPU {where.device}",)
    if where.device_name:
        spans += (", ", Name(where.device_name))
    return spans if where.rank is None else (*spans, f", rank {where.rank}")


def _header(column: str) -> str:
    return column.removesuffix("_ns").replace("_", " ")


def _step_ns(finding: Finding) -> float:
    return finding.expected_step_ns + finding.saving_ns


def _step_share(finding: Finding) -> str:
    step = _step_ns(finding)
    return share(finding.saving_ns / step if step else None)


def _unit(report: TraceReport) -> str:
    return "trace" if report.steps.is_whole_trace else "step"


def outcomes(report: TraceReport) -> Iterator[Block]:
    """The rules that found nothing, cannot tell, or failed: silence must not read as "no problem"."""
    if report.clean:
        yield Heading(3, ("Looked for and not found",))
        yield Items(_by_reason(report.clean))
    if report.not_applicable:
        yield Heading(3, ("Cannot tell",))
        yield Items(_by_reason(report.not_applicable))
    if report.failed:
        yield Heading(3, ("Failed",))
        yield Warn(("These checks broke; that says nothing about the trace:",))
        yield Items(tuple((f"{each.rule}: ", each.error) for each in report.failed))


def _by_reason(outcomes: Sequence[Clean | NotApplicable]) -> tuple[Spans, ...]:
    rules: dict[str, list[str]] = {}
    for each in outcomes:
        rules.setdefault(each.reason, []).append(each.rule)
    return tuple((f"{', '.join(names)}: {reason}",) for reason, names in rules.items())
