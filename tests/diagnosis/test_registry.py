"""The list of rules as a whole."""

from __future__ import annotations

from pathlib import Path

from traceq.analysis.categories import CATEGORIES
from traceq.diagnosis import rules
from traceq.diagnosis.query import read
from traceq.diagnosis.rules.registry import RULES, built_in

# Kernels are there to run: no rule claims what is left of compute.
LEDGER = {*CATEGORIES} - {"compute"}


def test_there_are_enough_of_them():
    assert len(RULES) >= 60
    assert len(set(RULES)) == len(RULES)


def test_every_category_of_the_ledger_has_a_rule_for_what_no_other_explains():
    found = set()
    for place in Path(rules.__file__).parent.glob("*/*"):
        text = place.read_text("utf-8") if place.suffix in (".py", ".sql") else ""
        if place.suffix == ".sql" and "rest" in read(text).header:
            found |= set(read(text).listed("categories"))
        elif "is_rest=True" in text and place.parent.name != "shared":
            found |= set(read(place.with_suffix(".sql").read_text("utf-8")).listed("categories"))
        elif "yield from rest_of(" in text:
            found.add(place.stem.removeprefix("exposed_"))
    assert found == LEDGER


def test_titles_fit_on_a_line():
    assert [rule.manual.title for rule in built_in() if len(rule.manual.title) > 80] == []
