"""The list of rules as a whole."""

from __future__ import annotations

import inspect
from importlib import import_module

from traceq.claims.claim import categories
from traceq.rules.registry import RULES, built_in
from traceq.sql import statement

# Kernels are there to run: no rule claims what is left of compute.
LEDGER = {"idle_data", "idle_sync", "idle_allocation", "idle_compile", "idle_launch", "idle_python", "idle_os"}
LEDGER |= {"idle_checkpoint", "idle_communication", "idle_dependency", "idle_launch_latency", "idle_profiler"}
LEDGER |= {"idle_unattributed", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset"}


def test_there_are_enough_of_them():
    assert len(RULES) >= 60
    assert len(set(RULES)) == len(RULES)


def test_every_category_of_the_ledger_has_a_rule_for_what_no_other_explains():
    rest = {name for name in RULES if "is_rest=True" in source(name) or "exposed_copies" in source(name)}
    found = set()
    for name in rest:
        found |= (
            {name.removeprefix("exposed_")}
            if "rest_of(" in source(name)
            else categories(statement(f"rules/{name}.sql"))
        )
    assert found == LEDGER


def source(name):
    return inspect.getsource(import_module(f"traceq.rules.{name}"))


def test_titles_fit_on_a_line():
    assert [rule.manual.title for rule in built_in() if len(rule.manual.title) > 80] == []
