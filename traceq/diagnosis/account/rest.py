"""Tell what findings leave of the ledger: near a limit, above it, hidden beside other work, or unknown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from traceq.analysis.categories import IDLE
from traceq.common.kernel_names import kernel_word
from traceq.common.units import share
from traceq.database.query import Setting, ask, literal
from traceq.database.sql import statement
from traceq.diagnosis.account.line import LEAST_SHARE, Judgement, Line
from traceq.diagnosis.account.reasons import reason_and_remedy, remedy_above_limit
from traceq.diagnosis.account.reported import judge_by_reports
from traceq.diagnosis.query import RuleQuery, names_used, read, shared_query, standalone_query
from traceq.diagnosis.subject import Subject

# A part that holds more than this of what findings leave of a category is a line of its own.
_MOST = 0.5
# A line at this share of a limit, or above it, is at its limit: libraries reach 0.7 to 0.9 of what makers publish.
_AT_LIMIT = 0.7
# Start and end of a kernel or copy take some us of either: of shorter ones a limit tells nothing.
_SHORTEST_NS = 20_000
# What is above _AT_LIMIT of a limit goes in part only: not every shape, layout or algorithm has a kernel that comes as near.
_LIKELY_OF_ABOVE = 0.5
# The queries for what is left of busy and idle time, and the order of their rows for one device.
_ORDER = {
    "rest_busy": "category, nearness, rest desc, part, limit_kind",
    "rest_idle": "category, rest desc, part",
}
Nearness = Literal["near", "above", "unknown"]
_NEARNESS: tuple[Nearness, ...] = ("near", "above", "unknown")


class RestPart(msgspec.Struct, frozen=True):
    """Time of a category, or of a part of it, that findings leave; ns per counted step.

    `nearness` is "near" for the time that its work takes near a limit, "above" for its time beyond that, and "unknown"
    without a limit. `reached` is the least time that the work could take, by `limit`; None if unknown. `example` is the
    kernel, or place of the host, with most of the time.
    """

    nearness: Nearness
    part: str | None
    example: str | None
    rest: float
    reached: float | None = None
    limit: str | None = None


class Winnable(msgspec.Struct, frozen=True):
    """Shares (0..1) of a category's time: the replay's likely and highest saving, and the part on the critical path."""

    likely: float
    high: float
    on_path: float

    @property
    def is_hidden(self) -> bool:
        """Whether other work takes as long beside at least 70 % of the time, so that little of it can be saved."""
        return max(self.high, self.on_path) <= 1 - _AT_LIMIT


def rest_lines(
    subject: Subject,
    left: Mapping[str, float],
    winnable: Mapping[str, Winnable],
    parts: Mapping[str, Sequence[RestPart]],
) -> Iterator[Line]:
    """Yield the account's lines for the time that findings leave of each category; `left` is that time, ns per counted step.

    `winnable` has by category what the replay saves, and `parts` what that time consists of.
    """
    for category, rest in left.items():
        # of idle time the replay says what its causes win; what is left has none that a rule knows
        by_replay = None if category in IDLE else winnable.get(category)
        yield from _lines_of_category(subject, category, rest, parts.get(category, []), by_replay)


def critical_parts(subject: Subject, left: Mapping[str, float]) -> dict[str, list[RestPart]]:
    """Return by category the parts of the time that findings leave on the critical device; empty without a GPU.

    `left` is that time, ns per counted step. Parts may lack where it is under 5 % of a step.
    """
    found: dict[str, list[RestPart]] = defaultdict(list)
    if subject.device is None:
        return found
    for name in _ORDER:
        if _is_large(subject, left, name):
            for row in subject.workspace.ask(_account_query(name), _values_of(subject, name)):
                found[row["category"]].append(_read_part(row, subject.steps))
    return found


def parts_by_other_device(
    subject: Subject, left: Mapping[int, Mapping[str, float]]
) -> dict[int, dict[str, list[RestPart]]]:
    """Return by device and category the parts of the time of other devices than the critical one, none of it owned.

    `left` is by device and category the time to tell, ns per counted step. Parts may lack where it is under 5 % of a step.
    """
    found: dict[int, dict[str, list[RestPart]]] = {device: defaultdict(list) for device in left}
    for name, order in _ORDER.items():
        others = [device for device, times in left.items() if _is_large(subject, times, name)]
        if not others:
            continue
        query = _account_query(name)
        tables = {"owned_piece": statement("diagnosis/account/nothing_owned.sql")}
        tables |= {used: shared_query(used).text for used in names_used(query)}
        ctes = ",\n".join(f"{table} as (\n{text}\n)" for table, text in tables.items())
        of_device = re.sub(r"\$device\b", "other.device", f"with {ctes}\nfrom (\n{query.text}\n)")
        # All devices at once: asked of one, the query reads much of what the trace holds of the others too.
        text = (
            "select other.device as of_device, part.*"  # noqa: S608 - texts of traceq
            f" from (select unnest($others) as device) as other, lateral (\n{of_device}\n) as part order by {order}"
        )
        values = query.limits(subject.workspace.scaled) | _values_of(subject, name)
        for row in ask(subject.connection, text, **values, others=others):
            found[row["of_device"]][row["category"]].append(_read_part(row, subject.steps))
    return found


def _is_large(subject: Subject, left: Mapping[str, float], name: str) -> bool:
    """Return whether `left` (ns per counted step) has a category of the query `name` with at least 5 % of a step."""
    large = [category for category, ns in left.items() if ns >= LEAST_SHARE * subject.step_ns]
    return any((category in IDLE) == (name == "rest_idle") for category in large)


def _values_of(subject: Subject, name: str) -> dict[str, Setting]:
    """Return the values of the parameters of the query in diagnosis/account/`name`.sql, for the subject's device."""
    limits = {"at_limit": _AT_LIMIT, "shortest": _SHORTEST_NS} if name == "rest_busy" else {}
    return {**subject.workspace.given(), **limits}


def _read_part(row: Mapping[str, Any], steps: int) -> RestPart:
    """Return a row of rest_busy.sql or rest_idle.sql, whose times are of `steps` counted steps."""
    rest = row["rest"] / steps
    if "nearness" not in row:
        return RestPart("unknown", row["part"], row["part"], rest)
    reached = None if row["reached"] is None else row["reached"] / steps
    return RestPart(row["nearness"], row["part"], row["example"], rest, reached, row["limit_kind"])


def _account_query(name: str) -> RuleQuery:
    """Return the query in diagnosis/account/`name`.sql."""
    return read(statement(f"diagnosis/account/{name}.sql"), name)


def _lines_of_category(
    subject: Subject, category: str, rest: float, parts: Sequence[RestPart], winnable: Winnable | None
) -> Iterator[Line]:
    """Yield the lines for the `rest` (ns per step) of a category: by nearness to a limit, its largest part apart.

    A rest under 5 % of a step is one small line; a rest beside which other work takes as long is one line at its limit.
    """
    if rest < LEAST_SHARE * subject.step_ns:
        if rest > 0:
            yield new_line(subject, category, None, rest, "small")
        return
    if winnable is not None and winnable.is_hidden:
        yield _line_of_hidden(subject, category, rest, winnable)
        return
    # work launched in a step may end after it: what the ledger holds is shared out as the pieces are
    whole = sum(part.rest for part in parts)
    if not whole:
        yield _line_of_rest(subject, category, RestPart("unknown", None, None, rest), winnable)
        return
    for nearness in _NEARNESS:
        alike = [_scale_part(part, rest / whole) for part in parts if part.nearness == nearness]
        for part in _largest_and_others(alike, LEAST_SHARE * subject.step_ns):
            yield _line_of_rest(subject, category, part, winnable)


def _largest_and_others(parts: Sequence[RestPart], least: float) -> list[RestPart]:
    """Return two parts: the one with over half of the time, if it takes over `least` ns, and the others merged.

    All are merged into one where no part holds that much.
    """
    if not parts:
        return []
    whole = sum(part.rest for part in parts)
    name = max(parts, key=lambda each: each.rest).part
    largest = [part for part in parts if part.part == name]
    others = [part for part in parts if part.part != name]
    if name is None or sum(part.rest for part in largest) <= max(_MOST * whole, least):
        return [_merge_parts(parts, None)]
    return [_merge_parts(largest, name), *([_merge_parts(others, None)] if others else [])]


def _scale_part(part: RestPart, scale: float) -> RestPart:
    """Return the part with its times multiplied by `scale`."""
    return replace(part, rest=part.rest * scale, reached=None if part.reached is None else part.reached * scale)


def _merge_parts(parts: Sequence[RestPart], name: str | None) -> RestPart:
    """Merge parts of equal nearness into a part called `name`; its limit and example are those of the largest."""
    largest = max(parts, key=lambda each: each.rest)
    reached = [part.reached for part in parts if part.reached is not None]
    return RestPart(
        largest.nearness,
        name,
        largest.example,
        sum(part.rest for part in parts),
        sum(reached) if len(reached) == len(parts) else None,
        largest.limit,
    )


def _line_of_hidden(subject: Subject, category: str, dur_ns: float, winnable: Winnable) -> Line:
    """Return the line for time beside which other work takes as long: at its limit, which is the critical path."""
    saved = share(winnable.high * subject.ledger[category] / subject.step_ns)
    return replace(
        new_line(subject, category, None, dur_ns, "at its limit"),
        limit="critical path",
        limit_share=1 - max(winnable.high, winnable.on_path),
        reason=f"without it, a step would be at most {saved} shorter, because other work takes just as long",
        remedy="First fix what the step waits for",
        query=literal(
            "select * from replay where trace_id = $trace_id and scenario = $category",
            trace_id=subject.trace_id,
            category=category,
        ),
    )


def _line_of_rest(subject: Subject, category: str, part: RestPart, winnable: Winnable | None) -> Line:
    """Return the line for a part that findings leave, with its verdict, reason, remedy and query.

    It is at its limit near one, avoidable above one where the replay tells the saving, else "cannot tell".
    """
    line = new_line(subject, category, part.part, part.rest, "cannot tell")
    if subject.device is not None:
        name = "rest_idle" if category in IDLE else "rest_busy"
        line = replace(line, query=standalone_query(_account_query(name), _values_of(subject, name)))
    if category == "compute" and part.example:
        line = replace(line, kernel=kernel_word(part.example))
    if part.nearness == "near" and part.reached is not None:
        reached = part.reached / part.rest
        return replace(
            line,
            verdict="at its limit",
            limit=part.limit,
            limit_share=reached,
            reason=f"{share(reached)} of the {part.limit}",
        )
    if part.nearness == "above":
        line = replace(line, limit=part.limit)
        # of a collective it may be waiting for other ranks
        if winnable is not None and category != "communication":
            return replace(
                line,
                verdict="avoidable",
                saving_low_ns=0.0,
                saving_ns=_LIKELY_OF_ABOVE * winnable.likely * part.rest,
                saving_high_ns=winnable.high * part.rest,
                reason=f"at {share(_AT_LIMIT)} of the {part.limit}, its work would take that much less time",
                remedy=remedy_above_limit(subject, line),
            )
    if category == "compute" and part.part and (judged := judge_by_reports(subject, line, part.part)) is not None:
        return judged
    reason, remedy = reason_and_remedy(subject, line, part.example)
    return replace(line, reason=reason, remedy=remedy)


def winnable_by_category(subject: Subject) -> dict[str, Winnable]:
    """Return by category what the replay of the step saves without it, where the replay tells a likely saving."""
    query = "select scenario, removable, saved, saved_high, on_path from replay where trace_id = $trace_id and saved is not null"
    found = ask(subject.connection, query, trace_id=subject.trace_id)
    return {
        row["scenario"]: Winnable(
            *(min(row[name] / row["removable"], 1.0) for name in ("saved", "saved_high", "on_path"))
        )
        for row in found
        if row["removable"] > 0 and row["on_path"] is not None
    }


def new_line(subject: Subject, category: str, part: str | None, dur_ns: float, verdict: Judgement) -> Line:
    """Return a line of the subject's device with its time (ns per step) and verdict, without savings, reason and remedy."""
    return Line(subject.device, category, part, dur_ns, dur_ns / subject.step_ns, verdict)
