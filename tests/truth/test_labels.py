"""Labels of what slows real traces down: complete, ordered, in words that causes.json knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled import real_page

from traceq.diagnosis.rules.registry import built_in

HERE = Path(__file__).parent
CAUSES = json.loads((HERE / "causes.json").read_text("utf-8"))
LABELS = {
    path.stem: told["judged"]
    for path in sorted((HERE / "traces").glob("*.json"))
    if "judged" in (told := json.loads(path.read_text("utf-8")))
}
PAIRS = {name: told["judged"] for name, told in json.loads((HERE / "pairs.json").read_text("utf-8")).items()}
BOTH = LABELS | PAIRS
KEYS = {
    *(
        "per",
        "step_ns",
        "busy_ns",
        "bottlenecks",
        "first",
        "also_true",
        "nothing",
        "cannot_tell",
        "must_not_say",
        "note",
    ),
}


def test_there_are_labels():
    assert len(LABELS) >= 71


@pytest.mark.parametrize("name", BOTH)
def test_a_label_is_complete(name):
    judged = BOTH[name]
    assert set(judged) == KEYS
    assert judged["per"] in {"step", "window", "run"}
    assert judged["nothing"] or (judged["first"] and judged["bottlenecks"])
    for one in judged["bottlenecks"]:
        assert 0 <= one["low_ns"] <= one["size_ns"] <= one["high_ns"] <= judged["step_ns"]
        assert one["what"]
        assert one["fix"]
        assert set(one["evidence"]) == {"how", "found"}


@pytest.mark.parametrize("name", BOTH)
def test_its_causes_are_those_of_the_list(name):
    judged = BOTH[name]
    named = {*judged["first"], *judged["also_true"], *(one["cause"] for one in judged["bottlenecks"])}
    named |= {cause for each in judged["must_not_say"] for cause in each["causes"]}
    assert named <= set(CAUSES)
    refused = {cause for each in judged["must_not_say"] for cause in each["causes"]}
    assert refused.isdisjoint(
        {*judged["first"], *judged["also_true"], *(one["cause"] for one in judged["bottlenecks"])}
    )


def test_rules_that_name_causes_are_rules():
    known = {rule.name for rule in built_in()}
    assert {rule for each in CAUSES.values() for rule in each["rules"]} <= known


def test_what_was_measured_of_thresholds_stays_on_the_page():
    """Writing the section anew without measuring them keeps it."""
    page = (HERE.parents[1] / "docs" / "accuracy.md").read_text("utf-8")
    lines = real_page.last_sensitivity(page)
    assert lines[0].startswith("Each of ")
    assert "\n".join([*real_page.section([], lines)]).count("\n".join(lines)) == 1
