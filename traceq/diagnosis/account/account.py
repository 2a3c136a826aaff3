"""Draw up the account of each device: what findings own of each category of the ledger, and a verdict on the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from traceq.analysis.categories import IDLE
from traceq.common.text import first_clause
from traceq.common.units import share
from traceq.database.query import ask, literal
from traceq.database.sql import run, statement
from traceq.diagnosis.account.line import LEAST_SHARE, Line
from traceq.diagnosis.account.reasons import kernel_word, reason_and_remedy, remedy_above_limit
from traceq.diagnosis.cap import capped
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.query import Query, Workspace, printed, read
from traceq.diagnosis.subject import Subject

# A part that holds more than this of what findings leave of a category is a line of its own.
_MOST = 0.5
# A line at this share of a limit, or above it, is at its limit: libraries reach 0.7 to 0.9 of what makers publish.
_AT_LIMIT = 0.7
# Start and end of a kernel or copy take some us of either: of shorter ones a limit tells nothing.
_SHORTEST_NS = 20_000
# What is above _AT_LIMIT of a limit goes in part only: not every shape, layout or algorithm has a kernel that comes as near.
_LIKELY_OF_ABOVE = 0.5
# The time in which findings own less than this of the step stands in the rest of its category.
_LEAST_OWNED = 0.01
Told = Literal["near", "above", "unknown"]
_TOLD: tuple[Told, ...] = ("near", "above", "unknown")


@dataclass(frozen=True)
class Part:
    """Hold what findings leave of a category, or of a part of it; ns per counted step.

    `told`: whether it is the time that its work takes near a limit, what it takes above that, or its limit is unknown.
    `reached` is the least time that the work could take, by `limit`; None where that is not known.
    """

    told: Told
    part: str | None
    example: str | None
    rest: float
    reached: float | None = None
    limit: str | None = None


@dataclass(frozen=True)
class Winnable:
    """Hold shares (0..1) of a category's time: what the replay saves without it, and what of it is on the critical path."""

    likely: float
    high: float
    on_path: float

    @property
    def is_hidden(self) -> bool:
        """Whether other work takes as long beside nearly all of it."""
        return max(self.high, self.on_path) <= 1 - _AT_LIMIT


def account_lines(subject: Subject, findings: Sequence[Finding], claims: Mapping[int, str]) -> tuple[Line, ...]:
    """Return the lines of the critical device, the longest first.

    `claims`: the id of what each claim made, by its number in the order of allocation: of a finding, or of what became a part of
    one. Of a trace without a GPU the categories are those of the training thread's ledger. The lines of a category add up to it.
    """
    if not subject.step_ns:
        return ()
    lines = _avoidable_lines(subject, findings, claims)
    left = {
        category: total - sum(each.dur_ns for each in lines if each.category == category)
        for category, total in subject.ledger.items()
    }
    winnable = {} if subject.device is None else _winnable_by_category(subject)
    lines += _rest_lines(subject, left, winnable)
    return tuple(sorted(lines, key=_longest_first))


def lines_of_other_devices(subject: Subject, critical: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines of the devices beside the critical one, whose lines are `critical`, by device and then the longest first.

    What findings own of a category of the critical device they own of the same category of others in proportion: their fixes
    are of the program. Savings are those of the critical device and stand there only. Needs the workspace of the subject dropped.
    """
    if not subject.step_ns or subject.device is None:
        return ()
    found: list[Line] = []
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
        try:
            workspace.make_table("owned_piece", statement("diagnosis/account/nothing_owned.sql"), {})
            found += sorted(_lines_like(other, critical, subject.ledger), key=_longest_first)
        finally:
            workspace.drop()
    return tuple(found)


def _lines_like(subject: Subject, critical: Sequence[Line], ledger: Mapping[str, float]) -> Iterator[Line]:
    """Yield the lines of a device as findings own those of the critical one, whose ledger is `ledger`."""
    left = dict(subject.ledger)
    for line in critical:
        total = subject.ledger.get(line.category, 0.0)
        dur_ns = total * line.dur_ns / ledger[line.category]
        if line.finding_id is not None and dur_ns > 0:
            left[line.category] -= dur_ns
            owned = _new_line(subject, line.category, line.part, dur_ns, "avoidable")
            yield replace(owned, finding_id=line.finding_id, reason=line.reason, remedy=line.remedy, is_critical=False)
    for line in _rest_lines(subject, left, {}):
        yield replace(line, is_critical=False)


def _rest_lines(subject: Subject, left: Mapping[str, float], winnable: Mapping[str, Winnable]) -> Iterator[Line]:
    """Yield the lines of what findings leave of each category."""
    large = [category for category, ns in left.items() if ns >= LEAST_SHARE * subject.step_ns]
    parts = _rest_by_part(subject, large)
    for category, rest in left.items():
        # of idle time the replay says what its causes win; what is left has none that a rule knows
        by_replay = None if category in IDLE else winnable.get(category)
        yield from _of_rest(subject, category, rest, parts.get(category, []), by_replay)


def _longest_first(line: Line) -> tuple[float, str, str]:
    return -line.dur_ns, line.category, line.part or ""


@dataclass(frozen=True)
class _Cause:
    """Name what owns time: a finding, or what became a part of one. Savings are ns per counted step."""

    finding_id: str
    title: str
    deed: str
    low: float
    likely: float
    high: float


def _causes_by_id(findings: Sequence[Finding]) -> dict[str, _Cause]:
    """Return by id the findings, and what stands under them, of which only the likely saving is known."""
    causes = {
        part.finding_id: _Cause(
            each.finding_id, part.title, first_clause(part.fix), 0.0, part.saving_ns, part.saving_ns
        )
        for each in findings
        for part in each.parts
    }
    return causes | {
        each.finding_id: _Cause(
            each.finding_id, each.title, each.deed, each.saving_low_ns, each.saving_ns, each.saving_high_ns
        )
        for each in findings
    }


def _avoidable_lines(subject: Subject, findings: Sequence[Finding], claims: Mapping[int, str]) -> list[Line]:
    """Return the lines of what findings and their parts own, as far as it can be won at most; the rest is the category's.

    Leaves in owned_piece what these lines are made of.
    """
    causes = _causes_by_id(findings)
    owned: dict[str, dict[str, float]] = defaultdict(dict)
    query = "select claim, cause, sum(owned) as owned from owned_piece group by claim, cause order by claim, cause"
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
        scale = min(1.0, total / sum(times.values())) if times else 1.0
        for name, ns in times.items():
            kept[name, category] = ns * scale / owned[name][category]
            lines.append(_line_of(subject, category, ns * scale, causes[name], owned[name]))
    for claim, category, _ in pieces:
        part = kept.get((claims.get(claim, ""), category), 0.0)
        run(subject.connection, "diagnosis/account/keep_owned.sql", claim=claim, cause=category, part=part)
    return lines


def _winnable_share(cause: _Cause, owned: Mapping[str, float]) -> float:
    """Return which share (0..1) of what a cause owns can be won at most."""
    whole = sum(owned.values())
    return min(1.0, cause.high / whole) if whole else 0.0


def _line_of(subject: Subject, category: str, dur_ns: float, cause: _Cause, owned: Mapping[str, float]) -> Line:
    part = owned[category] / sum(owned.values())
    low, likely, high = capped(cause.low * part, cause.likely * part, cause.high * part, dur_ns)
    return replace(
        _new_line(subject, category, None, dur_ns, "avoidable"),
        finding_id=cause.finding_id,
        saving_low_ns=low,
        saving_ns=likely,
        saving_high_ns=high,
        reason=cause.title,
        remedy=cause.deed,
    )


def _rest_by_part(subject: Subject, categories: Sequence[str]) -> dict[str, list[Part]]:
    """Return what findings leave of these categories of a GPU, by part, the largest first."""
    found: dict[str, list[Part]] = defaultdict(list)
    if subject.device is None or not categories:
        return found
    if any(each not in IDLE for each in categories):
        limits = {"at_limit": _AT_LIMIT, "shortest": _SHORTEST_NS}
        for row in subject.workspace.ask(_account_query("rest_busy"), {**subject.workspace.given(), **limits}):
            reached = None if row["reached"] is None else row["reached"] / subject.steps
            rest = row["rest"] / subject.steps
            part = Part(row["told"], row["part"], row["example"], rest, reached, row["limit_kind"])
            found[row["category"]].append(part)
    if any(each in IDLE for each in categories):
        for row in subject.workspace.ask(_account_query("rest_idle"), subject.workspace.given()):
            found[row["category"]].append(Part("unknown", row["part"], row["part"], row["rest"] / subject.steps))
    return found


def _account_query(name: str) -> Query:
    return read(statement(f"diagnosis/account/{name}.sql"), name)


def _of_rest(
    subject: Subject, category: str, rest: float, parts: Sequence[Part], winnable: Winnable | None
) -> Iterator[Line]:
    """Yield the lines of what findings leave of a category, by what is known of it and by the part that holds most of that."""
    if rest < LEAST_SHARE * subject.step_ns:
        if rest > 0:
            yield _new_line(subject, category, None, rest, "small")
        return
    if winnable is not None and winnable.is_hidden:
        yield _hidden_line(subject, category, rest, winnable)
        return
    # work launched in a step may end after it: what the ledger holds is shared out as the pieces are
    whole = sum(each.rest for each in parts)
    if not whole:
        yield _line_of_rest(subject, category, Part("unknown", None, None, rest), winnable)
        return
    for told in _TOLD:
        alike = [_scaled(each, rest / whole) for each in parts if each.told == told]
        for part in _largest_and_others(alike, LEAST_SHARE * subject.step_ns):
            yield _line_of_rest(subject, category, part, winnable)


def _largest_and_others(parts: Sequence[Part], least: float) -> list[Part]:
    """Return the part that holds most of all, if it takes `least`, and all others as one."""
    if not parts:
        return []
    whole = sum(each.rest for each in parts)
    name = max(parts, key=lambda each: each.rest).part
    largest = [each for each in parts if each.part == name]
    others = [each for each in parts if each.part != name]
    if name is None or sum(each.rest for each in largest) <= max(_MOST * whole, least):
        return [_merged_part(parts, None)]
    return [_merged_part(largest, name), *([_merged_part(others, None)] if others else [])]


def _scaled(part: Part, scale: float) -> Part:
    return replace(part, rest=part.rest * scale, reached=None if part.reached is None else part.reached * scale)


def _merged_part(parts: Sequence[Part], name: str | None) -> Part:
    """Merge parts of which the same is told; the limit is that of most of the time."""
    largest = max(parts, key=lambda each: each.rest)
    reached = [each.reached for each in parts if each.reached is not None]
    return Part(
        largest.told,
        name,
        largest.example,
        sum(each.rest for each in parts),
        sum(reached) if len(reached) == len(parts) else None,
        largest.limit,
    )


def _hidden_line(subject: Subject, category: str, dur_ns: float, winnable: Winnable) -> Line:
    """Return the line of time beside which other work takes as long."""
    saved = share(winnable.high * subject.ledger[category] / subject.step_ns)
    return replace(
        _new_line(subject, category, None, dur_ns, "at its limit"),
        limit="critical path",
        limit_share=1 - max(winnable.high, winnable.on_path),
        reason=f"without all of it a step would be at most {saved} shorter, as other work takes as long",
        remedy="What the step waits for comes first",
        query=literal(
            "select * from replay where trace_id = $trace_id and scenario = $category",
            trace_id=subject.trace_id,
            category=category,
        ),
    )


def _line_of_rest(subject: Subject, category: str, part: Part, winnable: Winnable | None) -> Line:
    """Return the line of a part: at its limit, above it, or with what would tell."""
    line = _new_line(subject, category, part.part, part.rest, "cannot tell")
    query = _account_query("rest_idle" if category in IDLE else "rest_busy")
    if subject.device is not None:
        limits = {} if category in IDLE else {"at_limit": _AT_LIMIT, "shortest": _SHORTEST_NS}
        line = replace(line, query=printed(query, {**subject.workspace.given(), **limits}))
    if category == "compute" and part.example:
        line = replace(line, kernel=kernel_word(part.example))
    if part.told == "near" and part.reached is not None:
        reached = part.reached / part.rest
        return replace(
            line,
            verdict="at its limit",
            limit=part.limit,
            limit_share=reached,
            reason=f"{share(reached)} of the {part.limit}",
        )
    if part.told == "above":
        line = replace(line, limit=part.limit)
        # of a collective it may be waiting for other ranks
        if winnable is not None and category != "communication":
            return replace(
                line,
                verdict="avoidable",
                saving_low_ns=0.0,
                saving_ns=_LIKELY_OF_ABOVE * winnable.likely * part.rest,
                saving_high_ns=winnable.high * part.rest,
                reason=f"at {share(_AT_LIMIT)} of the {part.limit} its work would take so much less",
                remedy=remedy_above_limit(subject, line),
            )
    reason, remedy = reason_and_remedy(subject, line, part.example)
    return replace(line, reason=reason, remedy=remedy)


def _winnable_by_category(subject: Subject) -> dict[str, Winnable]:
    """Return what the replay saves of each category, as a share of its time, where the replay is near enough to tell."""
    query = "select scenario, removable, saved, saved_high, on_path from replay where trace_id = $trace_id and saved is not null"
    found = ask(subject.connection, query, trace_id=subject.trace_id)
    return {
        row["scenario"]: Winnable(
            *(min(row[name] / row["removable"], 1.0) for name in ("saved", "saved_high", "on_path"))
        )
        for row in found
        if row["removable"] > 0 and row["on_path"] is not None
    }


def _new_line(subject: Subject, category: str, part: str | None, dur_ns: float, verdict: Any) -> Line:
    return Line(subject.device, category, part, dur_ns, dur_ns / subject.step_ns, verdict)
