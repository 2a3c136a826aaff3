"""Labels of what slows real traces down: complete, in words that causes.json knows."""

from __future__ import annotations

import json
from pathlib import Path

from failure_list import assert_none
from labelled import real_page

from traceq.diagnosis.grading.causes import all_causes
from traceq.diagnosis.grading.labels import parse_label
from traceq.diagnosis.rules.registry import all_rules
from traceq.errors import UnusableLabel

HERE = Path(__file__).parent
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


def list_lacking(judged):
    """Return what a label lacks: what every label needs, and what those of this project need beside it."""
    if set(judged) - {"line"} != KEYS:
        yield f"keys {sorted(set(judged) ^ KEYS)}"
        return
    try:
        parse_label(json.dumps({"judged": judged}).encode(), "label")
    except UnusableLabel as error:
        yield str(error)
    for one in judged["bottlenecks"]:
        if not (one["what"] and one["fix"] and set(one["evidence"]) == {"how", "found"}):
            yield f"what, fix or evidence of {one['cause']}"


def test_every_label_is_complete():
    assert_none(f"{name}: {wrong}" for name, judged in BOTH.items() for wrong in list_lacking(judged))


def test_rules_that_name_causes_are_rules():
    known = {rule.name for rule in all_rules()}
    assert {rule for each in all_causes().values() for rule in each.rules} <= known


def test_what_was_measured_of_thresholds_stays_on_the_page():
    """Writing the section anew without measuring them keeps it."""
    page = (HERE.parents[1] / "docs" / "accuracy.md").read_text("utf-8")
    lines = real_page.last_sensitivity(page)
    assert lines[0].startswith("Each of ")
    assert "\n".join([*real_page.section([], lines)]).count("\n".join(lines)) == 1
