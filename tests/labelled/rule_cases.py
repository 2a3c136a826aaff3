"""Runs the cases of each rule: a few lines of trace, and how the rule has to end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path

from builder import TraceBuilder

from traceq.diagnosis.judge import judge_subject, subjects
from traceq.rules.registry import built_in

KINDS = ("found", "clean", "cannot_tell")

Add = Callable[[TraceBuilder], None]


def functions(rule: str) -> dict[str, Add]:
    """The cases of a rule by name; the name begins with how the rule has to end."""
    module = import_module(f"labelled.cases.{rule}")
    return {name: each for name, each in vars(module).items() if inspect.isfunction(each) and name.startswith(KINDS)}


def expected(name: str) -> str:
    """How the rule has to end in the case called `name`."""
    return next(kind for kind in KINDS if name.startswith(kind))


def outcome(rule: str, name: str, folder: Path) -> str:
    """How the rule ends in a case: one of KINDS, or that it failed and why."""
    trace = TraceBuilder()
    functions(rule)[name](trace)
    trace.build(folder)
    only = [each for each in built_in() if each.name == rule.replace("_", "-")]
    with closing(trace._connection) as connection:
        subject, *_ = subjects(connection)
        judged = judge_subject(subject, only)
    if judged.failed:
        return f"failed: {judged.failed[0].error}"
    if judged.findings or judged.observations:
        return "found"
    return "cannot_tell" if judged.not_applicable else "clean"
