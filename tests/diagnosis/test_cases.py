"""Every rule ends in each of its cases as the name of the case says; the first that it finds is in test_advice_rendered."""

from __future__ import annotations

import pytest
from labelled.rule_cases import KINDS, expected, first_found, functions, outcome

from traceq.diagnosis.rules.registry import RULES

CASES = [(rule, name) for rule in RULES for name in functions(rule)]


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule, name in CASES if name != first_found(rule)])
def test_case(rule, name, tmp_path):
    assert outcome(rule, name, tmp_path) == expected(name)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_case_of_both_kinds(rule):
    assert [kind for kind in KINDS[:2] if not any(name.startswith(kind) for name in functions(rule))] == []
