"""Every rule ends in each of its cases as the name of the case says, and what it finds fits whoever reads it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from failure_list import assert_none
from labelled.rule_cases import KINDS, UNREAD, failures, functions

import traceq
from traceq.database.sql import shelved, statement
from traceq.diagnosis.rules.registry import RULES

PACKAGE = Path(traceq.__file__).parent


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_ends_in_each_of_its_cases_as_it_should(rule):
    assert_none(failures(rule))


def test_no_rule_reads_what_cases_are_not_analysed_for():
    files = [path for path in PACKAGE.glob("diagnosis/**/*") if path.suffix in (".py", ".sql")]
    files += PACKAGE.glob("**/views.sql")
    texts = {path: re.sub("--.*|comment on .*", "", path.read_text("utf-8")) for path in files}
    assert [path for path, text in texts.items() if "data_stall" in text] == []
    # Of the notes of an import rules read those that importers write.
    assert [path.name for path, text in texts.items() if "import_note" in text] == ["present.sql"]
    assert texts[PACKAGE / "diagnosis/sql/present.sql"].count("import_note") == 1
    assert "regexp_matches(code, '_not_measured$')" in texts[PACKAGE / "diagnosis/sql/present.sql"]
    unread = [statement(shelved("analysis").get(name, f"analysis/{name}.sql")) for name in UNREAD]
    assert [text for text in unread if "_not_measured" in text] == []


def test_every_rule_has_a_case_of_both_kinds():
    assert_none(
        f"tests/labelled/cases/{rule}.py has no case that begins with {kind}"
        for rule in RULES
        for kind in KINDS[:2]
        if not any(name.startswith(kind) for name in functions(rule))
    )
