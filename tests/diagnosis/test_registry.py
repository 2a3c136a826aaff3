"""The list of rules as a whole."""

from __future__ import annotations

import re
from pathlib import Path

from failure_list import assert_none

from traceq.analysis.categories import CATEGORIES
from traceq.diagnosis import rules
from traceq.diagnosis.query import KEYS, read
from traceq.diagnosis.rules.registry import RULES, all_rules

# Kernels are there to run: no rule claims what is left of compute.
LEDGER = {*CATEGORIES} - {"compute"}


def test_there_are_enough_of_them():
    assert len(RULES) >= 60
    assert len(set(RULES)) == len(RULES)


def test_every_category_of_the_ledger_has_a_rule_for_what_no_other_explains():
    found = set()
    for place in Path(rules.__file__).parent.glob("*/*.sql"):
        query = read(place.read_text("utf-8"))
        if "rest" in query.header:
            found |= set(query.listed("categories") or [query.settings["category"]])
    # nothing can be won of it
    assert found == LEDGER - {"idle_earlier_work"}


def test_titles_fit_on_a_line():
    assert [rule.manual.title for rule in all_rules() if len(rule.manual.title) > 80] == []


def test_no_key_of_a_header_is_indented_into_the_text_above_it():
    keys = "|".join(sorted(KEYS))
    found = [
        f"{place.name}: {line}"
        for place in Path(rules.__file__).parent.glob("*/*.sql")
        for line in re.findall(rf"^--  +(?:{keys}):.*$", place.read_text("utf-8"), re.MULTILINE)
    ]
    assert_none(found)
