"""Labels of what slows real traces down: complete, ordered, in words that causes.json knows."""

from __future__ import annotations

import json
from pathlib import Path

from labelled import real_page
from listed import assert_none

from traceq.analysis.categories import BY_NAME
from traceq.diagnosis.rules.registry import built_in

HERE = Path(__file__).parent
CAUSES = json.loads((HERE / "causes.json").read_text("utf-8"))
LABELS = {
    path.stem: told["judged"]
    for path in sorted((HERE / "traces").glob("*.json"))
    if "judged" in (told := json.loads(path.read_text("utf-8")))
}
CATEGORIES = set(BY_NAME)
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


def lacking(judged):
    """Return the fields that a label lacks."""
    if set(judged) - {"line"} != KEYS:
        yield f"keys {sorted(set(judged) ^ KEYS)}"
        return
    for category in set(judged.get("line", {}).get("categories", ())) - CATEGORIES:
        yield f"line of {category}, which is no category of the ledger"
    if judged["per"] not in {"step", "window", "run"}:
        yield f"per {judged['per']}"
    if not (judged["nothing"] or (judged["first"] and judged["bottlenecks"])):
        yield "neither a bottleneck nor why there is none"
    for one in judged["bottlenecks"]:
        if not 0 <= one["low_ns"] <= one["size_ns"] <= one["high_ns"] <= judged["step_ns"]:
            yield f"sizes of {one['cause']}"
        if not (one["what"] and one["fix"] and set(one["evidence"]) == {"how", "found"}):
            yield f"what, fix or evidence of {one['cause']}"


def test_every_label_is_complete():
    assert_none(f"{name}: {wrong}" for name, judged in BOTH.items() for wrong in lacking(judged))


def test_causes_of_labels_are_those_of_the_list_and_none_is_also_refused():
    wrong = []
    for name, judged in BOTH.items():
        named = {*judged["first"], *judged["also_true"], *(one["cause"] for one in judged["bottlenecks"])}
        refused = {cause for each in judged["must_not_say"] for cause in each["causes"]}
        wrong += [f"{name}: {cause} is not in causes.json" for cause in (named | refused) - set(CAUSES)]
        wrong += [f"{name}: {cause} is named and refused" for cause in named & refused]
    assert_none(wrong)


def test_rules_that_name_causes_are_rules():
    known = {rule.name for rule in built_in()}
    assert {rule for each in CAUSES.values() for rule in each["rules"]} <= known


def test_what_was_measured_of_thresholds_stays_on_the_page():
    """Writing the section anew without measuring them keeps it."""
    page = (HERE.parents[1] / "docs" / "accuracy.md").read_text("utf-8")
    lines = real_page.last_sensitivity(page)
    assert lines[0].startswith("Each of ")
    assert "\n".join([*real_page.section([], lines)]).count("\n".join(lines)) == 1
