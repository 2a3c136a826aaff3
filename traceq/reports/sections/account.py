"""The account in full: every line of the ledger of 5 % of a step and more, with its verdict."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import duration, share
from traceq.diagnosis.account.line import Line
from traceq.reports.document import Block, Heading, Items, Name, Paragraph, Reference, make_table, split_code
from traceq.reports.model import TraceReport
from traceq.reports.sections.verdict import name_line

_SMALL = "small"


def describe_account(report: TraceReport) -> Iterator[Block]:
    """List each line of the account with its time, its verdict and why; small ones in one more."""
    if not report.account:
        return
    numbers = {each.finding_id: number for number, each in enumerate(report.findings, 1)}
    lines = [each for each in report.account if each.verdict != _SMALL]
    small = [each for each in report.account if each.verdict == _SMALL and each.is_critical]
    has_others = any(not each.is_critical for each in report.account)
    yield Heading(3, ("The account",), anchor="account")
    yield Paragraph((f"Where the time of a {report.unit} goes, and what can be said of it:",))
    yield make_table(
        lines,
        {
            **({"GPU": lambda each: "" if each.device is None else str(each.device)} if has_others else {}),
            "line": lambda each: Name(name_line(each)),
            "time": lambda each: duration(each.dur_ns),
            "share": lambda each: share(each.step_share),
            "verdict": lambda each: each.verdict,
            "finding": lambda each: _link_finding(each, numbers),
        },
        text=(1, 4, 5) if has_others else (0, 3, 4),
    )
    untold = [each for each in lines if each.finding_id is None and each.is_critical]
    if untold:
        yield Items(tuple((Name(name_line(each)), f": {each.reason}. ", *split_code(each.remedy)) for each in untold))
    if small:
        part = sum(each.step_share for each in small)
        yield Paragraph((f"Lines of less than 5 % of the {report.unit}: {share(part)} together.",))


def _link_finding(line: Line, numbers: dict[str, int]) -> str:
    number = numbers.get(line.finding_id or "")
    return Reference(f"F{number}") if number else ""
