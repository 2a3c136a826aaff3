"""Every rule ends in each of its cases as the name of the case says; the first that it finds is in test_advice_rendered."""

from __future__ import annotations

import pytest
from labelled.rule_cases import KINDS, expected, first_found, functions, outcome

from traceq.database.sql import shelved
from traceq.diagnosis.query import Workspace, rule_query
from traceq.diagnosis.rules.registry import RULES

CONDITIONED = [rule for rule in RULES if rule in shelved("diagnosis/rules") and rule_query(rule).only_with]

CASES = [(rule, name) for rule in RULES for name in functions(rule)]


@pytest.mark.sample(24)
@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule, name in CASES if name != first_found(rule)])
def test_case(rule, name, tmp_path):
    assert outcome(rule, name, tmp_path) == expected(name)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_case_of_both_kinds(rule):
    assert [kind for kind in KINDS[:2] if not any(name.startswith(kind) for name in functions(rule))] == []


@pytest.mark.slow  # test_case tells where a condition keeps a rule from finding what it should
@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule in CONDITIONED for name in functions(rule)])
def test_what_is_not_asked_for_want_of_its_condition_would_find_nothing(rule, name, tmp_path, monkeypatch):
    refused = []
    may_find, find = Workspace.may_find, Workspace.find

    def ask_all_the_same(workspace, query):
        if not may_find(workspace, query):
            refused.append(query)
        return True

    def find_nothing(workspace, query, values, number=None):
        found = find(workspace, query, values, number)
        assert found is None or query not in refused
        return found

    monkeypatch.setattr(Workspace, "may_find", ask_all_the_same)
    monkeypatch.setattr(Workspace, "find", find_nothing)
    assert outcome(rule, name, tmp_path) == expected(name)
