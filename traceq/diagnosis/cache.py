"""The cache of judgements: the table judgement of a database, so that a report need not run all rules again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import msgspec

from traceq.common.code_hash import code_hash
from traceq.common.version import __version__
from traceq.database.connect import SCHEMA_VERSION
from traceq.database.failures import one_line
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.judge import Judged, judge_subject, load_subjects, not_asked
from traceq.diagnosis.rules.registry import Rule, all_rules, default_rules
from traceq.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from traceq.diagnosis.subject import Goal, Subject

# The rooms that judging can reach; a change of any file in them makes cached judgements void.
_REACHED = ("analysis", "common", "database", "diagnosis", "errors.py", "formats")


def fill(connection: duckdb.DuckDBPyConnection, goal: Goal = "throughput", rules: Sequence[Rule] | None = None) -> None:
    """Judge the traces that the table judgement lacks, by `rules` (default: the default rules); save all judgements there.

    Of a job of many ranks only the ranks that represent the others are judged.
    """
    every = [row["trace_id"] for row in ask(connection, statement("diagnosis/sql/traces.sql"))]
    spared = find_spared(connection)
    asked = [trace_id for trace_id in every if trace_id not in spared]
    save(connection, [judge() for _, judge in load_judgements(connection, goal, rules, asked)], goal, rules)


def save(
    connection: duckdb.DuckDBPyConnection,
    judgements: Iterable[Judged],
    goal: Goal = "throughput",
    rules: Sequence[Rule] | None = None,
) -> None:
    """Replace the table judgement, and so the rows of the view finding, by `judgements`, which `rules` made for `goal`.

    Judgements for which no rule was asked are left out. Those by a user's rules stand in the view, but are never read
    back: nothing tells when such a rule changes. Raises StoreError where the database cannot be written; it then stays
    as it was.
    """
    chosen = _chosen(rules)
    key = current_stamp(connection, chosen) if _are_own(chosen) else ""
    rows = [
        (judgement.trace_id, goal, key, msgspec.json.encode(judgement).decode())
        for judgement in judgements
        if judgement.asked
    ]
    connection.begin()
    try:
        connection.execute("delete from judgement")
        if rows:
            connection.executemany("insert into judgement values (?, ?, ?, ?)", rows)
        connection.commit()
    except (duckdb.Error, OSError) as error:
        raise StoreError(f"findings cannot be saved: {one_line(error)}; is the database open elsewhere?") from error


def load_judgements(
    connection: duckdb.DuckDBPyConnection,
    goal: Goal = "throughput",
    rules: Sequence[Rule] | None = None,
    traces: Collection[int] | None = None,
    spared: Collection[int] | None = None,
) -> list[tuple[Subject, Callable[[], Judged]]]:
    """Return the traces with these ids, in the order of ingest, each with a function that returns the judgement on it.

    The function reads a cached judgement if traceq's own rules are asked and nothing changed since; else it judges.
    Without `traces` all traces are returned. Those in `spared` get an empty judgement: by default, of all traces, those of a job
    of many ranks that others represent.
    """
    chosen = _chosen(rules)
    cached = _read_cached(connection, goal, chosen) if _are_own(chosen) else {}
    if spared is None:
        spared = find_spared(connection) if traces is None else ()

    def judgement(subject: Subject) -> Callable[[], Judged]:
        if subject.trace_id in spared:
            return partial(not_asked, subject.trace_id)
        if subject.trace_id in cached:
            return partial(_decode_or_judge, cached[subject.trace_id], subject, chosen)
        return partial(judge_subject, subject, chosen)

    return [(subject, judgement(subject)) for subject in load_subjects(connection, goal, traces=traces)]


def _decode_or_judge(content: str, subject: Subject, rules: Sequence[Rule]) -> Judged:
    """Return the cached judgement in `content` (JSON); judge the trace again if it is damaged."""
    try:
        return msgspec.json.decode(content, type=Judged)
    except (msgspec.DecodeError, RecursionError):
        return judge_subject(subject, rules)


def find_spared(connection: duckdb.DuckDBPyConnection) -> set[int]:
    """Return the ids of traces of ranks that others of a large job represent, and that need not be judged."""
    return {row["trace_id"] for row in ask(connection, statement("diagnosis/sql/spared.sql"))}


def _read_cached(connection: duckdb.DuckDBPyConnection, goal: Goal, rules: Sequence[Rule]) -> dict[int, str]:
    """Return by trace id the cached judgements (JSON) that were made for this goal by these rules, code and traces."""
    query = "select trace_id, content from judgement where goal = $goal and stamp = $stamp"
    found = ask(connection, query, goal=goal, stamp=current_stamp(connection, rules))
    return {row["trace_id"]: row["content"] for row in found}


def _chosen(rules: Sequence[Rule] | None) -> tuple[Rule, ...]:
    """Return the rules as a tuple; the default rules for None."""
    return default_rules() if rules is None else tuple(rules)


def _are_own(rules: Sequence[Rule]) -> bool:
    """Return whether the rules are traceq's own: the default ones, or all."""
    return rules in (default_rules(), all_rules())


def current_stamp(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule]) -> str:
    """Return a hash of traceq's code, the names of the rules and the database's traces.

    A judgement that was cached under another stamp is void.
    """
    traces = [list(row.values()) for row in ask(connection, statement("diagnosis/sql/stamp.sql"))]
    made_by = [__version__, SCHEMA_VERSION, code_hash(*_REACHED), [rule.name for rule in rules], traces]
    return hashlib.sha256(json.dumps(made_by).encode()).hexdigest()
