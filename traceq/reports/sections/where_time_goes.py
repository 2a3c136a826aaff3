"""The time of a step: a bar for each category and the findings that own its time; and the account line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from traceq.analysis.categories import HOST_LABELS, OF_HOST, is_idle, label
from traceq.common.units import duration, share, some
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.finding import Finding
from traceq.reports.document import (
    BarRow,
    Bars,
    Block,
    Fold,
    Heading,
    Items,
    Ledger,
    LedgerRow,
    Name,
    Paragraph,
    Reference,
    Table,
    make_table,
    split_code,
)
from traceq.reports.model import DeviceLedger, TraceReport
from traceq.reports.sections.snapshot import is_snapshot
from traceq.reports.sections.verdict import name_line

# Categories that get a bar; what is left is one more.
_BARS = 6
_LEAST = 0.01
# A finding is named beside a category of which it owns so much.
_OWNS = 0.1
_OTHER = "other"


def show_where_time_goes(report: TraceReport) -> Iterator[Block]:
    """Yield the ledger of the judged GPU, then bars for all GPUs if there are several.

    Without a GPU ledger, yield the training thread's ledger if there is one; nothing for a memory snapshot.
    """
    if not report.ledger:
        # of a memory snapshot marks of the program are all there is: nothing tells what took their time
        if report.host_ledger and not is_snapshot(report):
            yield _host_ledger(report)
        return
    first, *others = sorted(report.ledger, key=lambda device: device.device != _judged_device(report))
    yield _device_ledger(first, report)
    if others:
        yield Bars(tuple(_make_bar(device) for device in sorted(report.ledger, key=lambda each: each.device)))


def _judged_device(report: TraceReport) -> int | None:
    if report.findings:
        return report.findings[0].where.device
    return report.step_ledgers[0].device if report.step_ledgers else None


def _device_ledger(device: DeviceLedger, report: TraceReport) -> Ledger:
    name = (", ", Name(device.name)) if device.name and len(report.ledger) > 1 else ()
    parts = [(part.category, label(part.category), part.step_share, part.per_step_ns) for part in device.parts]
    return Ledger(
        (f"Where a {report.unit} goes, GPU {device.device}", *name),
        _write_total(report),
        _make_rows(parts, report.findings, report.account),
    )


def _host_ledger(report: TraceReport) -> Ledger:
    total = sum(part.dur_ns for part in report.host_ledger) or 1
    counted = report.steps.counted or 1
    parts = [
        (part.category, _host_label(part.category, part.phase), part.dur_ns / total, part.dur_ns / counted)
        for part in report.host_ledger
    ]
    title = (f"Where a {report.unit} goes, training thread (no GPU activity in this trace)",)
    rows = _make_rows(parts, report.findings, report.account)
    return Ledger(title, _write_total(report), tuple(replace(row, kind=f"{OF_HOST}{row.category}") for row in rows))


def _host_label(category: str, phase: str) -> str:
    words = HOST_LABELS.get(category, category)
    return words if phase in ("other", category) else f"{words}, {phase}"


def _write_total(report: TraceReport) -> str:
    steps = report.steps
    if steps.is_window:
        return duration(steps.p50_ns)
    # The mean: savings are shares of it, and the sum of all steps is what a run takes.
    told = f"{duration(steps.mean_ns)} per step"
    return (
        told
        if steps.counted == 1
        else f"{told} (mean of {some(steps.counted, 'step')}, median {duration(steps.p50_ns)})"
    )


def _make_rows(
    parts: Sequence[tuple[str, str, float, float]], findings: Sequence[Finding], account: Sequence[Line]
) -> tuple[LedgerRow, ...]:
    shown = [part for part in parts[:_BARS] if part[2] >= _LEAST] or list(parts[:1])
    rest = parts[len(shown) :]
    rows = [
        LedgerRow(
            words,
            category,
            part,
            duration(per_step),
            _find_owners(category, per_step, findings),
            _find_verdict(category, account),
        )
        for category, words, part, per_step in shown
    ]
    if rest:
        left = sum(per_step for *_, per_step in rest)
        rows.append(LedgerRow(_OTHER, _OTHER, sum(part for _, _, part, _ in rest), duration(left)))
    return tuple(rows)


def _find_owners(category: str, per_step: float, findings: Sequence[Finding]) -> tuple[Reference, ...]:
    return tuple(
        Reference(f"F{number}")
        for number, finding in enumerate(findings, 1)
        if finding.owned_by_category.get(category, 0.0) >= _OWNS * per_step > 0
    )


def _find_verdict(category: str, account: Sequence[Line]) -> str:
    """Return the verdict of the longest line of the account in a category, of those on the critical device without a finding.

    "" if there is no such line, or if it is small.
    """
    left = [each for each in account if each.is_critical and each.category == category and each.finding_id is None]
    longest = max(left, key=lambda each: each.dur_ns, default=None)
    return longest.verdict if longest is not None and longest.verdict != "small" else ""


def split_step(device: DeviceLedger) -> tuple[float, float, float]:
    """Return the shares of a GPU's step in which it computes, does other work, and idles."""
    busy = sum(part.step_share for part in device.parts if part.category == "compute")
    idle = sum(part.step_share for part in device.parts if is_idle(part.category))
    return busy, max(0.0, 1 - busy - idle), idle


def _make_bar(device: DeviceLedger) -> BarRow:
    """Return a GPU's bar of three parts (compute, other work, idle), each a share of the step, with its label and text."""
    busy, other, idle = split_step(device)
    parts = (("compute", busy), ("other work", other), ("idle", idle))
    return BarRow(f"GPU {device.device}", parts, f"compute {share(busy)}, idle {share(idle)}")


_SMALL = "small"


def describe_account(report: TraceReport) -> Iterator[Block]:
    """Yield the account section: a table with time, share, verdict and finding of each line, and why lines are unexplained.

    Small lines are summed in one sentence; nothing without an account.
    """
    if not report.account:
        return
    numbers = {finding.finding_id: number for number, finding in enumerate(report.findings, 1)}
    lines = [line for line in report.account if line.verdict != _SMALL]
    critical = [line for line in lines if line.is_critical]
    others = [line for line in lines if not line.is_critical]
    small = [line for line in report.account if line.verdict == _SMALL and line.is_critical]
    yield Heading(3, ("The account",), anchor="account")
    on = f" on GPU {critical[0].device}" if critical and others else ""
    yield Paragraph((f"Where the time of a {report.unit}{on} goes, and what can be said of it:",))
    if critical:
        yield _make_account_table(critical, numbers)
    untold = [line for line in critical if line.finding_id is None]
    if untold:
        yield Items(tuple((Name(name_line(line)), f": {line.reason}. ", *split_code(line.remedy)) for line in untold))
    if small:
        part = sum(line.step_share for line in small)
        yield Paragraph((f"Lines below 5 % of the {report.unit} add up to {share(part)}.",))
    if others:
        number = len({line.device for line in others})
        yield Fold((f"The same for {some(number, 'other GPU')}",), (_make_account_table(others, numbers),))


def _make_account_table(lines: Sequence[Line], numbers: Mapping[str, int]) -> Table:
    """Return the table of the account's lines, with a column for the GPU where they are not of the judged one."""
    by_gpu = (
        {}
        if all(line.is_critical for line in lines)
        else {"GPU": lambda line: "" if line.device is None else str(line.device)}
    )
    return make_table(
        lines,
        {
            **by_gpu,
            "line": lambda line: Name(name_line(line)),
            "time": lambda line: duration(line.dur_ns),
            "share": lambda line: share(line.step_share),
            "verdict": lambda line: line.verdict,
            "finding": lambda line: _link_finding(line, numbers),
        },
        text=(1, 4, 5) if by_gpu else (0, 3, 4),
    )


def _link_finding(line: Line, numbers: Mapping[str, int]) -> str:
    number = numbers.get(line.finding_id or "")
    return Reference(f"F{number}") if number else ""
