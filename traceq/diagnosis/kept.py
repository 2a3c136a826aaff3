"""Judgements that are kept in the database, so that a report need not ask all rules again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from traceq.diagnosis.judge import Judged, judge_subject, subjects
from traceq.findings import Clean, Evidence, Failed, Finding, NotApplicable, Observation, Part, Where
from traceq.rules.registry import Rule, built_in
from traceq.sql import statement
from traceq.sql.facts import ask

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable

    import duckdb

    from traceq.claims.subject import Goal, Subject

# What a judgement is made by: when anything in it changes, none that was kept counts.
_MADE_BY = ("rules", "claims", "diagnosis", "sql/rules", "sql/judge", "sql/views", "findings.py", "units.py")


def judged_or_kept(
    connection: duckdb.DuckDBPyConnection, goal: Goal = "throughput", rules: Sequence[Rule] | None = None
) -> list[tuple[Subject, Callable[[], Judged]]]:
    """Every trace of the database with what gives the judgement on it, in the order of ingest.

    A judgement by traceq's own rules that the database holds is taken from there.
    """
    chosen = built_in() if rules is None else tuple(rules)
    kept = _kept(connection, goal) if chosen == built_in() else {}
    return [
        (subject, partial(judgement_of, kept[subject.trace_id]))
        if subject.trace_id in kept
        else (subject, partial(judge_subject, subject, chosen))
        for subject in subjects(connection, goal)
    ]


def _kept(connection: duckdb.DuckDBPyConnection, goal: Goal) -> Mapping[int, str]:
    found = ask(connection, statement("judge/judgement.sql"), goal=goal, stamp=stamp(connection))
    return {row["trace_id"]: row["content"] for row in found}


def stamp(connection: duckdb.DuckDBPyConnection) -> str:
    """Names the rules and the traces of the database: the judgement on one may depend on the others."""
    traces = json.dumps([list(row.values()) for row in ask(connection, statement("judge/stamp.sql"))])
    return hashlib.sha256((_rules() + traces).encode()).hexdigest()


@cache
def _rules() -> str:
    package = files("traceq")
    found = hashlib.sha256()
    for name in _MADE_BY:
        for path, content in _sources(package.joinpath(name), name):
            found.update(f"{path} {len(content)}\n".encode() + content)
    return found.hexdigest()


def _sources(place: Traversable, path: str) -> Iterable[tuple[str, bytes]]:
    if place.is_file():
        if path.endswith((".py", ".sql")):
            yield path, place.read_bytes()
        return
    for each in sorted(place.iterdir(), key=lambda entry: entry.name):
        yield from _sources(each, f"{path}/{each.name}")


def text_of(judged: Judged) -> str:
    """The judgement as JSON, from which `judgement_of` makes it again."""
    return json.dumps(asdict(judged), separators=(",", ":"))


def judgement_of(text: str) -> Judged:
    """The judgement that `text_of` wrote."""
    values = json.loads(text)
    return Judged(
        trace_id=values["trace_id"],
        findings=tuple(map(_finding, values["findings"])),
        observations=tuple(map(_observation, values["observations"])),
        small=tuple(values["small"]),
        clean=tuple(Clean(**each) for each in values["clean"]),
        not_applicable=tuple(NotApplicable(**each) for each in values["not_applicable"]),
        failed=tuple(Failed(**each) for each in values["failed"]),
    )


def _finding(values: dict[str, Any]) -> Finding:
    shaped = {
        "where": Where(**values["where"]),
        "summary": _evidence(values["summary"]),
        "instances": _evidence(values["instances"]),
        "references": tuple(values["references"]),
        "parts": tuple(Part(**{**part, "evidence": _evidence(part["evidence"])}) for part in values["parts"]),
    }
    return Finding(**{**values, **shaped})


def _observation(values: dict[str, Any]) -> Observation:
    shaped = {
        "where": Where(**values["where"]),
        "evidence": _evidence(values["evidence"]),
        "references": tuple(values["references"]),
    }
    return Observation(**{**values, **shaped})


def _evidence(values: dict[str, Any]) -> Evidence:
    return Evidence(tuple(values["columns"]), tuple(map(tuple, values["rows"])), values["query"])
