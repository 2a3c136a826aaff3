"""Runs the cases of each rule: a few lines of trace, and how the rule has to end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import duckdb
from builder import TraceBuilder

from traceq.diagnosis.judge import Judged, judge
from traceq.diagnosis.rules.registry import Rule, built_in

KINDS = ("found", "clean", "cannot_tell")

Add = Callable[[TraceBuilder], None]


def functions(rule: str) -> dict[str, Add]:
    """The cases of a rule by name, none where it has no file of them; the name begins with how the rule has to end."""
    if find_spec(f"labelled.cases.{rule}") is None:
        return {}
    module = import_module(f"labelled.cases.{rule}")
    return {name: each for name, each in vars(module).items() if inspect.isfunction(each) and name.startswith(KINDS)}


def first_found(rule: str) -> str:
    """The first case in which the rule finds something."""
    return next(name for name in functions(rule) if name.startswith("found"))


def expected(name: str) -> str:
    """How the rule has to end in the case called `name`."""
    return next(kind for kind in KINDS if name.startswith(kind))


@contextmanager
def database(rule: str, name: str, folder: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, tuple[Rule, ...]]]:
    """The database of a case, and the rule alone. `folder` is for databases of several ranks."""
    trace = TraceBuilder()
    functions(rule)[name](trace)
    trace.build(folder) if trace._others else trace.fill_all()
    with closing(trace._connection) as connection:
        yield connection, tuple(each for each in built_in() if each.name == rule.replace("_", "-"))


def outcome(rule: str, name: str, folder: Path) -> str:
    """How the rule ends in a case: one of KINDS, or that it failed and why."""
    with database(rule, name, folder) as (connection, only):
        judged, *_ = judge(connection, rules=only)
    return ending(judged)


def ending(judged: Judged) -> str:
    """What the only rule that judged says: one of KINDS, or that it failed and why."""
    if judged.failed:
        return f"failed: {judged.failed[0].error}"
    if judged.findings or judged.observations:
        return "found"
    return "cannot_tell" if judged.not_applicable else "clean"
