"""Draw up the account of each device: what findings own of each category of the ledger, and a verdict on the rest."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from traceq.analysis.categories import IDLE
from traceq.common.text import first_clause
from traceq.database.query import ask
from traceq.database.sql import run
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.account.rest import (
    critical_parts,
    new_line,
    parts_by_other_device,
    rest_lines,
    winnable_by_category,
)
from traceq.diagnosis.cap import cap_saving
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.query import Workspace
from traceq.diagnosis.subject import Subject

# The time in which findings own less than this of the step stands in the rest of its category.
_LEAST_OWNED = 0.01


def account_lines(subject: Subject, findings: Sequence[Finding], claims: Mapping[int, str]) -> tuple[Line, ...]:
    """Return the account of the critical device: lines, the longest first, that add up to each category of its ledger.

    `claims` maps the number of each claim, in the order of allocation, to the id of its finding or part. Without a GPU
    the categories are those of the training thread's ledger. Empty without steps.
    """
    if not subject.step_ns:
        return ()
    lines = _avoidable_lines(subject, findings, claims)
    left = {
        category: total - sum(line.dur_ns for line in lines if line.category == category)
        for category, total in subject.ledger.items()
    }
    winnable = {} if subject.device is None else winnable_by_category(subject)
    lines += rest_lines(subject, left, winnable, critical_parts(subject, left))
    return tuple(sorted(lines, key=_longest_first))


def lines_of_other_devices(subject: Subject, critical: Sequence[Line]) -> tuple[Line, ...]:
    """Return the account's lines of all devices but the critical one, by device, the longest first.

    `critical` are the lines of the critical device. Findings own of a category on other devices the same share as
    there: their fixes are of the program. Only the critical device's lines have savings. Empty without steps or GPU.
    """
    if not subject.step_ns or subject.device is None:
        return ()
    shared: list[tuple[Subject, list[Line], dict[str, float]]] = []
    for device, ledger in sorted(subject.ledgers.items()):
        if device in (subject.device, -1):
            continue
        of_step = {
            category: ns / subject.steps
            for category, ns in ledger.items()
            if ns and (subject.judges_idle or category not in IDLE)
        }
        workspace = Workspace(subject.connection, subject.trace_id, device, subject.workspace.scaled)
        other = replace(subject, device=device, ledger=of_step, workspace=workspace)
        shared.append((other, *_lines_like(other, critical, subject.ledger)))
    parts = parts_by_other_device(subject, {other.workspace.device: left for other, _, left in shared})
    found: list[Line] = []
    for other, lines, left in shared:
        rest = rest_lines(other, left, {}, parts[other.workspace.device])
        found += sorted([*lines, *(replace(line, is_critical=False) for line in rest)], key=_longest_first)
    return tuple(found)


def _lines_like(
    subject: Subject, critical: Sequence[Line], ledger: Mapping[str, float]
) -> tuple[list[Line], dict[str, float]]:
    """Return the avoidable lines of the subject's device, and by category the time that they leave, ns per counted step.

    Findings own the same share of each category as on the critical device, whose lines are `critical` and whose ledger
    is `ledger`.
    """
    lines: list[Line] = []
    left = dict(subject.ledger)
    for line in critical:
        total = subject.ledger.get(line.category, 0.0)
        dur_ns = total * line.dur_ns / ledger[line.category]
        if line.finding_id is not None and dur_ns > 0:
            left[line.category] -= dur_ns
            owned = new_line(subject, line.category, line.part, dur_ns, "avoidable")
            lines.append(
                replace(owned, finding_id=line.finding_id, reason=line.reason, remedy=line.remedy, is_critical=False)
            )
    return lines, left


def _longest_first(line: Line) -> tuple[float, str, str]:
    """Return a key that sorts lines by time, the longest first, then by category and part."""
    return -line.dur_ns, line.category, line.part or ""


class _AccountedCause(msgspec.Struct, frozen=True):
    """A finding, or a part of one, that owns time; `finding_id` is the finding's. Savings are in ns per counted step."""

    finding_id: str
    title: str
    deed: str
    low: float
    likely: float
    high: float


def _causes_by_id(findings: Sequence[Finding]) -> dict[str, _AccountedCause]:
    """Return findings and their parts, by their ids, as owners of time.

    Of a part only the likely saving is known: its low is 0, its high the likely one.
    """
    causes = {
        part.finding_id: _AccountedCause(
            finding.finding_id, part.title, first_clause(part.fix), 0.0, part.saving_ns, part.saving_ns
        )
        for finding in findings
        for part in finding.parts
    }
    return causes | {
        finding.finding_id: _AccountedCause(
            finding.finding_id,
            finding.title,
            finding.deed,
            finding.saving_low_ns,
            finding.saving_ns,
            finding.saving_high_ns,
        )
        for finding in findings
    }


def _avoidable_lines(subject: Subject, findings: Sequence[Finding], claims: Mapping[int, str]) -> list[Line]:
    """Return the avoidable lines: for each finding or part and category, the time that it owns and can win.

    Times under 1 % of a step stay with the category. The temp table owned_piece keeps only the pieces of these lines.
    """
    causes = _causes_by_id(findings)
    owned: dict[str, dict[str, float]] = defaultdict(dict)
    query = """
        select claim, cause, sum(owned::decimal(18, 3))::double as owned
        from owned_piece
        group by claim, cause
        order by claim, cause
    """
    pieces = [(row["claim"], row["cause"], row["owned"] / subject.steps) for row in ask(subject.connection, query)]
    for claim, category, ns in pieces:
        if claims.get(claim) in causes:
            times = owned[claims[claim]]
            times[category] = times.get(category, 0.0) + ns
    lines: list[Line] = []
    kept: dict[tuple[str, str], float] = {}
    for category, total in subject.ledger.items():
        times = {
            name: by[category] * _winnable_share(causes[name], by) for name, by in owned.items() if by.get(category)
        }
        times = {name: ns for name, ns in times.items() if ns >= _LEAST_OWNED * subject.step_ns}
        scale = min(1.0, total / sum(times.values())) if any(times.values()) else 1.0
        for name, ns in times.items():
            kept[name, category] = ns * scale / owned[name][category]
            lines.append(_line_of(subject, category, ns * scale, causes[name], owned[name]))
    parts = [
        {"claim": claim, "cause": category, "part": kept.get((claims.get(claim, ""), category), 0.0)}
        for claim, category, _ in pieces
    ]
    if parts:
        run(subject.connection, "diagnosis/account/keep_owned.sql", kept=json.dumps(parts))
    return lines


def _winnable_share(cause: _AccountedCause, owned: Mapping[str, float]) -> float:
    """Return the share (0..1) of its owned time that a cause wins at most; `owned` is that time by category, ns per step."""
    whole = sum(owned.values())
    return min(1.0, cause.high / whole) if whole else 0.0


def _line_of(
    subject: Subject, category: str, dur_ns: float, cause: _AccountedCause, owned: Mapping[str, float]
) -> Line:
    """Return the avoidable line for `dur_ns` of a category that the cause owns.

    Its savings are the cause's, in proportion to the category's share of `owned`, and at most `dur_ns`.
    """
    part = owned[category] / sum(owned.values())
    low, likely, high = cap_saving(cause.low * part, cause.likely * part, cause.high * part, dur_ns)
    return replace(
        new_line(subject, category, None, dur_ns, "avoidable"),
        finding_id=cause.finding_id,
        saving_low_ns=low,
        saving_ns=likely,
        saving_high_ns=high,
        reason=cause.title,
        remedy=cause.deed,
    )
