"""What the first findings of real traces owe to the thresholds of rules: each a half stricter and looser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from traceq.database.connect import connect
from traceq.database.sql import shelved
from traceq.diagnosis.grading.truth import Truth
from traceq.diagnosis.judge import Judged, judge
from traceq.diagnosis.query import all_thresholds, rule_query, shared_query
from traceq.diagnosis.rules.registry import Rule, all_rules
from traceq.loading.ingest import ingest

FACTORS = (1.5, 1 / 1.5)

Key = tuple[str, str]


def changes(truth: Truth) -> list[tuple[Key, float, str, str]]:
    """The thresholds and factors with which the report of a trace begins with another rule, which one, and with which before."""
    with TemporaryDirectory(prefix="traceq.") as folder:
        database = Path(folder) / "real.duckdb"
        ingest([str(truth.path)], database)
        with closing(connect(database)) as connection:
            return list(_changes(connection))


def _changes(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[Key, float, str, str]]:
    usual = _first(judge(connection)[0])
    alone: dict[tuple[str, ...], object] = {}
    for threshold in all_thresholds():
        rules = _users(threshold.place)
        names = tuple(rule.name for rule in rules)
        if names not in alone:
            alone[names] = _said(judge(connection, rules=rules)[0])
        for factor in FACTORS:
            scaled = {threshold.key: factor}
            # Most change nothing: only what its own rules say is asked then.
            if _said(judge(connection, rules=rules, scaled=scaled)[0]) == alone[names]:
                continue
            first = _first(judge(connection, scaled=scaled)[0])
            if first != usual:
                yield threshold.key, factor, first, usual


@cache
def _users(place: str) -> Sequence[Rule]:
    """The rules that a threshold of this file can change: all, where that is not known."""
    found = [rule for rule in all_rules() if place in _files(rule.name.replace("-", "_"))]
    return found or all_rules()


@cache
def _files(rule: str) -> frozenset[str]:
    """The files whose thresholds a rule reads: its own, what they name, and those beside its module."""
    own = {name for name in shelved("diagnosis/rules") if name == rule or name.startswith(f"{rule}_")}
    named = {
        word for name in own for key in ("query", "facts", "each", "also") for word in rule_query(name).listed(key)
    }
    queries = own | {name for name in named if name in shelved("diagnosis/rules")}
    used: set[str] = set()
    waiting = [word for name in queries for word in rule_query(name).listed("uses")]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += shared_query(name).listed("uses")
    return frozenset(queries | used)


def _said(judged: Judged) -> object:
    return (
        [(each.rule, round(each.saving_ns)) for each in judged.findings],
        [each.finding_id for each in judged.observations],
    )


def _first(judged: Judged) -> str:
    return judged.findings[0].rule if judged.findings else "nothing"
