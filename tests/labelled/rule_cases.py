"""Runs the cases of each rule: a few lines of trace, and how the rule has to end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec

import msgspec
from builder import TraceBuilder
from msgspec.structs import replace

from labelled.readers import misfits
from traceq.database.query import Setting, ask
from traceq.diagnosis.claim import AskedQuery
from traceq.diagnosis.finding import Observation
from traceq.diagnosis.judge import Judged, judge_by, judge_subject, load_subjects
from traceq.diagnosis.query import RuleQuery, Workspace
from traceq.diagnosis.rules.registry import Rule, all_rules
from traceq.diagnosis.subject import Subject

KINDS = ("found", "clean", "cannot_tell")

# Analyses of which no rule reads anything take a tenth of the time of all.
UNREAD = ("data_copy", "data_stall", "missing_input", "notes")

Add = Callable[[TraceBuilder], None]


def functions(rule: str) -> dict[str, Add]:
    """The cases of a rule by name, none where it has no file of them; the name begins with how the rule has to end."""
    if find_spec(f"labelled.cases.{rule}") is None:
        return {}
    module = import_module(f"labelled.cases.{rule}")
    return {name: each for name, each in vars(module).items() if inspect.isfunction(each) and name.startswith(KINDS)}


def expected(name: str) -> str:
    """How the rule has to end in the case called `name`."""
    return next(kind for kind in KINDS if name.startswith(kind))


def outcome(rule: str, name: str) -> str:
    """Judge a case by its rule and return how that ended: one of KINDS, or `failed`."""
    with _subject(functions(rule)[name]) as subject:
        return _ending(judge_subject(subject, _alone(rule)))


def failures(rule: str) -> Iterator[str]:
    """A line for each case in which the rule ends otherwise than the name of the case says, for each text of the first
    finding that does not fit its reader, and for each query behind its numbers that gives others."""
    only = _alone(rule)
    first_found = next((name for name in functions(rule) if expected(name) == "found"), None)
    for name, add in functions(rule).items():
        with _subject(add) as subject:
            wrong = [*_wrong_endings(subject, only, expected(name))]
            if name == first_found:
                wrong += [*misfits(subject, only), *_unproved(subject, only)]
        yield from (f"tests/labelled/cases/{rule}.py, {name}: {only[0].name} {each}" for each in wrong)


def remarked(rule: str) -> Iterator[tuple[str, Subject, Observation]]:
    """The remarks that the rule makes in its cases, with the name of the case and its trace, ready to be asked."""
    for name, add in functions(rule).items():
        if expected(name) == "found":
            with _subject(add) as subject:
                yield from ((name, subject, each) for each in judge_subject(subject, _alone(rule)).observations)


def _alone(rule: str) -> tuple[Rule, ...]:
    return tuple(each for each in all_rules() if each.name == rule.replace("_", "-"))


@contextmanager
def _subject(add: Add) -> Iterator[Subject]:
    """The trace of a case, or its first rank, ready to be judged."""
    trace = TraceBuilder()
    add(trace)
    trace.fill_all(without=UNREAD)
    with closing(trace._connection) as connection:
        yield load_subjects(connection)[0]


def _wrong_endings(subject: Subject, only: tuple[Rule, ...], expected: str) -> Iterator[str]:
    """List how the rule ends where that is not `expected`, and what its conditions (`only-with`) keep it from finding."""
    watched = _Watched(subject.connection, subject.trace_id, subject.workspace.device)
    judged = judge_subject(replace(subject, workspace=watched), only)
    if _ending(judged) != expected:
        yield f"should end as {expected}, but {_said(judged)}"
    if watched.refused:
        all_the_same = _Watched(subject.connection, subject.trace_id, subject.workspace.device, is_heeded=False)
        asked = judge_subject(replace(subject, workspace=all_the_same, _of_claims={}, _culprits={}, _common={}), only)
        if all_the_same.has_found_refused:
            yield "would find something with a query that its only-with keeps from being asked"
        elif _said(asked) != _said(judged):
            yield f"{_said(judged)}, but when every query is asked it {_said(asked)}"


def _unproved(subject: Subject, only: tuple[Rule, ...]) -> Iterator[str]:
    """List the queries behind numbers of texts that, as they are printed, give other rows than the texts were made from."""
    for rule in only:
        for said in list(judge_by(rule, subject)):
            for query, values, claim in said.asked:
                if claim is None:
                    rows = subject.workspace.ask(query, values)
                else:
                    subject.workspace.find(claim.query, claim.values, claim.number)
                    rows = ask(subject.connection, query.text, **values)
                printed = subject.connection.execute(AskedQuery(query, values, claim).as_text()).fetchall()
                if list(map(str, printed)) != [str(tuple(row.values())) for row in rows]:
                    yield f"has numbers from a query that gives others when it is printed: {query.text[:60]!r}"
    subject.workspace.drop()


class _Watched(Workspace):
    """Remembers which queries were refused by their only-with; where that is not heeded, whether one of them finds something."""

    is_heeded: bool = True
    refused: list[RuleQuery] = msgspec.field(default_factory=list)
    has_found_refused: bool = False

    def may_find(self, query: RuleQuery) -> bool:
        if super().may_find(query):
            return True
        self.refused.append(query)
        return not self.is_heeded

    def find(self, query: RuleQuery, values: Mapping[str, Setting], number: int | None = None) -> int | None:
        found = super().find(query, values, number)
        self.has_found_refused |= found is not None and query in self.refused
        return found


def _ending(judged: Judged) -> str:
    """Return how the only rule in `judged` ended: one of KINDS, or `failed`."""
    if judged.failed:
        return "failed"
    if judged.every_finding or judged.observations:
        return "found"
    return "cannot_tell" if judged.not_applicable else "clean"


def _said(judged: Judged) -> str:
    """Describe in the rule's own words how it ended."""
    said = {
        "failed": [each.error for each in judged.failed],
        "found": [each.fix for each in (*judged.every_finding, *judged.observations)],
        "cannot_tell": [each.reason for each in judged.not_applicable],
        "clean": [each.reason for each in judged.clean],
    }
    ending = _ending(judged)
    return f"ends as {ending}: {'; '.join(said[ending]) or 'below 1 % of the step'}"
