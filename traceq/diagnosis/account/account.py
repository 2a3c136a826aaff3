"""Draw up the account of the critical device: what findings own of each category of the ledger, and a verdict on the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from traceq.analysis.categories import IDLE
from traceq.common.text import first_clause
from traceq.common.units import share
from traceq.database.query import ask
from traceq.database.sql import run, statement
from traceq.diagnosis.account.line import LEAST_SHARE, Line
from traceq.diagnosis.account.reasons import kernel_word, reason_and_remedy
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.query import Query, printed, read
from traceq.diagnosis.subject import Subject

# A part that holds more than this of what findings leave of a category is a line of its own.
_MOST = 0.5
# A line at this share of a limit, or above it, is at its limit: libraries reach 0.7 to 0.9 of what makers publish.
_AT_LIMIT = 0.7
# A limit is told of a line where it is known of so much of its time.
_KNOWN = 0.5
# The time in which findings own less than this of the step stands in the rest of its category.
_LEAST_OWNED = 0.01
_TIMES = ("rest", "known", "reached")


@dataclass(frozen=True)
class Part:
    """Hold what findings leave of a category, or of a part of it; ns per counted step.

    `known` is the part of `rest` whose limit is known, `reached` the least time that it could take, `limit` what limits
    most of it.
    """

    part: str | None
    example: str | None
    rest: float
    known: float = 0.0
    reached: float = 0.0
    limit: str | None = None

    @property
    def limit_share(self) -> float | None:
        """Return how much of its limit is reached (0..1); None where that is not known of most of it."""
        return self.reached / self.known if self.known >= _KNOWN * self.rest > 0 else None


def account_lines(subject: Subject, findings: Sequence[Finding], claims: Mapping[int, str]) -> tuple[Line, ...]:
    """Return the lines of the account, the longest first.

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
    large = [category for category, ns in left.items() if ns >= LEAST_SHARE * subject.step_ns]
    parts = _rest_by_part(subject, large)
    for category, rest in left.items():
        lines += _of_rest(subject, category, rest, parts.get(category, []))
    return tuple(sorted(lines, key=lambda each: (-each.dur_ns, each.category, each.part or "")))


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
    low, likely, high = (min(each * part, dur_ns) for each in (cause.low, cause.likely, cause.high))
    return replace(
        _new_line(subject, category, None, dur_ns, "avoidable"),
        finding_id=cause.finding_id,
        saving_low_ns=min(low, likely),
        saving_ns=likely,
        saving_high_ns=max(high, likely),
        reason=cause.title,
        remedy=cause.deed,
    )


def _rest_by_part(subject: Subject, categories: Sequence[str]) -> dict[str, list[Part]]:
    """Return what findings leave of these categories of a GPU, by part, the largest first."""
    found: dict[str, list[Part]] = defaultdict(list)
    if subject.device is None or not categories:
        return found
    if any(each not in IDLE for each in categories):
        for row in subject.workspace.ask(_account_query("rest_busy"), subject.workspace.given()):
            limit = row.pop("limit_kind")
            found[row.pop("category")].append(_per_step(row, subject.steps, limit))
    if any(each in IDLE for each in categories):
        for row in subject.workspace.ask(_account_query("rest_idle"), subject.workspace.given()):
            found[row.pop("category")].append(_per_step({**row, "example": row["part"]}, subject.steps, None))
    return found


def _per_step(row: dict[str, Any], steps: int, limit: str | None) -> Part:
    of_step = {name: row[name] / steps if name in row else 0.0 for name in _TIMES}
    return Part(row["part"], row["example"], **of_step, limit=limit)


def _account_query(name: str) -> Query:
    return read(statement(f"diagnosis/account/{name}.sql"), name)


def _of_rest(subject: Subject, category: str, rest: float, parts: Sequence[Part]) -> Iterator[Line]:
    """Yield the lines of what findings leave of a category: the part that holds most of it, and all others as one."""
    least = LEAST_SHARE * subject.step_ns
    if rest < least:
        if rest > 0:
            yield _new_line(subject, category, None, rest, "small")
        return
    # work launched in a step may end after it: what the ledger holds is shared out as the pieces are
    whole = sum(each.rest for each in parts)
    scale = rest / whole if whole else 0.0
    first, others = (parts[0], parts[1:]) if parts else (None, ())
    if first is not None and first.rest > _MOST * whole and first.rest * scale >= least:
        yield _line_of_rest(subject, category, first, first.rest * scale)
        rest -= first.rest * scale
        parts = others
    if rest < least:
        if rest > 0:
            yield _new_line(subject, category, None, rest, "small")
        return
    yield _line_of_rest(subject, category, _merged_part(parts), rest)


def _merged_part(parts: Sequence[Part]) -> Part:
    """Merge several parts into one without a name; the limit is that of most of the time whose limit is known."""
    times: dict[str, float] = {name: sum(getattr(each, name) for each in parts) for name in _TIMES}
    largest = max(parts, key=lambda each: each.rest, default=None)
    known = max(parts, key=lambda each: each.known, default=None)
    return Part(
        part=None,
        example=largest.example if largest else None,
        limit=known.limit if known else None,
        **times,
    )


def _line_of_rest(subject: Subject, category: str, part: Part, dur_ns: float) -> Line:
    """Return the line of a part: at its limit, or with what would tell."""
    line = _new_line(subject, category, part.part, dur_ns, "cannot tell")
    query = _account_query("rest_idle" if category in IDLE else "rest_busy")
    if subject.device is not None:
        line = replace(line, query=printed(query, subject.workspace.given()))
    if category == "compute" and part.example:
        line = replace(line, kernel=kernel_word(part.example))
    reached = part.limit_share
    if reached is not None:
        line = replace(line, limit=part.limit, limit_share=reached)
        if reached >= _AT_LIMIT:
            return replace(line, verdict="at its limit", reason=f"{share(reached)} of the {part.limit}")
    reason, remedy = reason_and_remedy(subject, line, part.example)
    return replace(line, reason=reason, remedy=remedy)


def _new_line(subject: Subject, category: str, part: str | None, dur_ns: float, verdict: Any) -> Line:
    return Line(subject.device, category, part, dur_ns, dur_ns / subject.step_ns, verdict)
