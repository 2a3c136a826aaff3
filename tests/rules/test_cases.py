"""Every rule finds what it is for, and nothing where there is nothing.

The first of them that finds something and the first that does not are run; all with TRACEQ_ALL_CASES=1, and by
`traceq rules test`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from labelled import cases
from labelled.rule_cases import KINDS, expected, functions, outcome

from traceq.rules.registry import RULES


def chosen() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        names = list(functions(rule))
        if "TRACEQ_ALL_CASES" not in os.environ:
            first = {expected(name): name for name in reversed(names)}
            names = [first[kind] for kind in KINDS[:2] if kind in first]
        yield from ((rule, name) for name in names)


@pytest.mark.parametrize(("rule", "name"), list(chosen()))
def test_case(rule, name, tmp_path):
    assert outcome(rule, name, tmp_path) == expected(name)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_case_of_both_kinds(rule):
    assert [kind for kind in KINDS[:2] if not any(name.startswith(kind) for name in functions(rule))] == []


def test_every_case_belongs_to_a_rule():
    assert {path.stem for path in Path(cases.__file__).parent.glob("*.py")} - {"__init__"} == set(RULES)
