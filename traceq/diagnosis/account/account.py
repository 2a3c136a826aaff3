"""Draw up the account of the critical device: what findings own of each category of the ledger, and a verdict on the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from traceq.analysis.categories import IDLE
from traceq.common.units import share
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.account.line import LEAST_SHARE, Line
from traceq.diagnosis.account.reasons import kernel_word, untold
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
    """What findings leave of a category, or of a part of it; ns per counted step.

    `known` is the part of `rest` whose limit is known, `reached` the least time that it could take, `limit` what limits
    most of it.
    """

    part: str | None
    example: str | None
    names: int
    slices: int
    rest: float
    known: float = 0.0
    reached: float = 0.0
    limit: str | None = None

    @property
    def limit_share(self) -> float | None:
        """How much of its limit is reached (0..1); None where that is not known of most of it."""
        return self.reached / self.known if self.known >= _KNOWN * self.rest > 0 else None


def account(
    subject: Subject, findings: Sequence[Finding], owned: Mapping[str, Mapping[str, float]]
) -> tuple[Line, ...]:
    """Return the lines of the account, the longest first.

    `owned` is what each finding owns of each category, with its parts, ns per counted step, by its id. Of a trace without a GPU
    the categories are those of the training thread's ledger. The lines of a category add up to it.
    """
    if not subject.step_ns:
        return ()
    lines: list[Line] = []
    left: dict[str, float] = {}
    for category, total in subject.ledger.items():
        found = _of_findings(subject, category, total, findings, owned)
        lines += found
        left[category] = total - sum(each.dur_ns for each in found)
    large = [category for category, ns in left.items() if ns >= LEAST_SHARE * subject.step_ns]
    parts = _parts(subject, large)
    for category, rest in left.items():
        lines += _of_rest(subject, category, rest, parts.get(category, []))
    return tuple(sorted(lines, key=lambda each: (-each.dur_ns, each.category, each.part or "")))


def _of_findings(
    subject: Subject,
    category: str,
    total: float,
    findings: Sequence[Finding],
    owned: Mapping[str, Mapping[str, float]],
) -> list[Line]:
    """The lines of a category that findings own; together they are not longer than the category."""
    times = [(each, owned.get(each.finding_id, {}).get(category, 0.0)) for each in findings]
    times = [(each, ns) for each, ns in times if ns >= _LEAST_OWNED * subject.step_ns]
    scale = min(1.0, total / sum(ns for _, ns in times)) if times else 1.0
    lines = []
    for each, ns in times:
        part = ns / sum(owned[each.finding_id].values())
        lines.append(
            Line(
                device=subject.device,
                category=category,
                part=None,
                dur_ns=ns * scale,
                step_share=ns * scale / subject.step_ns,
                verdict="avoidable",
                finding_id=each.finding_id,
                saving_low_ns=min(each.saving_low_ns * part, ns * scale),
                saving_ns=min(each.saving_ns * part, ns * scale),
                saving_high_ns=min(each.saving_high_ns * part, ns * scale),
                reason=each.title,
                remedy=each.deed,
            )
        )
    return lines


def _parts(subject: Subject, categories: Sequence[str]) -> dict[str, list[Part]]:
    """What findings leave of these categories of a GPU, by part, the largest first."""
    found: dict[str, list[Part]] = defaultdict(list)
    if subject.device is None or not categories:
        return found
    if any(each not in IDLE for each in categories):
        for row in subject.workspace.ask(_query("rest_busy"), subject.workspace.given()):
            limit = row.pop("limit_kind")
            found[row.pop("category")].append(_part(row, subject.steps, limit))
    if any(each in IDLE for each in categories):
        for row in subject.workspace.ask(_query("rest_idle"), subject.workspace.given()):
            found[row.pop("category")].append(_part({**row, "example": row["part"], "names": 1}, subject.steps, None))
    return found


def _part(row: dict[str, Any], steps: int, limit: str | None) -> Part:
    of_step = {name: row[name] / steps if name in row else 0.0 for name in _TIMES}
    return Part(row["part"], row["example"], row["names"], row["slices"], **of_step, limit=limit)


def _query(name: str) -> Query:
    return read(statement(f"diagnosis/account/{name}.sql"), name)


def _of_rest(subject: Subject, category: str, rest: float, parts: Sequence[Part]) -> Iterator[Line]:
    """The lines of what findings leave of a category: the part that holds most of it, and all others as one."""
    least = LEAST_SHARE * subject.step_ns
    if rest < least:
        if rest > 0:
            yield _line(subject, category, None, rest, "small")
        return
    # work launched in a step may end after it: what the ledger holds is shared out as the pieces are
    whole = sum(each.rest for each in parts)
    scale = rest / whole if whole else 0.0
    first, others = (parts[0], parts[1:]) if parts else (None, ())
    if first is not None and first.rest > _MOST * whole and first.rest * scale >= least:
        yield _judged(subject, category, first, first.rest * scale)
        rest -= first.rest * scale
        parts = others
    if rest < least:
        if rest > 0:
            yield _line(subject, category, None, rest, "small")
        return
    yield _judged(subject, category, _together(parts), rest)


def _together(parts: Sequence[Part]) -> Part:
    """Several parts as one without a name; the limit is that of most of their time."""
    times: dict[str, float] = {name: sum(getattr(each, name) for each in parts) for name in _TIMES}
    largest = max(parts, key=lambda each: each.rest, default=None)
    return Part(
        part=None,
        example=largest.example if largest else None,
        names=sum(each.names for each in parts),
        slices=sum(each.slices for each in parts),
        limit=largest.limit if largest else None,
        **times,
    )


def _judged(subject: Subject, category: str, part: Part, dur_ns: float) -> Line:
    """The line of a part: at its limit, or what would tell."""
    line = _line(subject, category, part.part, dur_ns, "cannot tell")
    query = _query("rest_idle" if category in IDLE else "rest_busy")
    if subject.device is not None:
        line = replace(line, query=printed(query, subject.workspace.given()))
    if category == "compute" and part.example:
        line = replace(line, kernel=kernel_word(part.example) or None)
    reached = part.limit_share
    if reached is not None:
        line = replace(line, limit=part.limit, limit_share=reached)
        if reached >= _AT_LIMIT:
            return replace(line, verdict="at its limit", reason=f"{share(reached)} of the {part.limit}")
    reason, remedy = untold(subject, line)
    return replace(line, reason=reason, remedy=remedy)


def _line(subject: Subject, category: str, part: str | None, dur_ns: float, verdict: Any) -> Line:
    return Line(subject.device, category, part, dur_ns, dur_ns / subject.step_ns, verdict)


def owned_by_finding(
    subject: Subject, findings: Iterable[Finding], claims: Mapping[int, str]
) -> dict[str, dict[str, float]]:
    """What each finding owns of each category with all that stands under it, ns per counted step, by its id.

    `claims`: the id of the finding that each claim made, by its number in the order of allocation.
    """
    whose = {part.finding_id: each.finding_id for each in findings for part in each.parts}
    whose |= {each.finding_id: each.finding_id for each in findings}
    owned: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    query = "select claim, cause, sum(owned) as owned from owned_piece group by claim, cause order by claim, cause"
    for row in ask(subject.connection, query):
        owner = whose.get(claims.get(row["claim"], ""))
        if owner is not None:
            owned[owner][row["cause"]] += row["owned"] / subject.steps
    return owned
