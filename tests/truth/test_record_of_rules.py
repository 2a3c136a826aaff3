"""The record of the rules is that of the labels, and confidence follows from it."""

from __future__ import annotations

import json

import pytest
from failure_list import assert_none
from labelled import real
from record import blind_rows, merge_rows

from traceq.database.sql import package
from traceq.diagnosis.grading.grade import grade_finding
from traceq.diagnosis.record import RuleRecord, load_record, lowest_confidence, wilson_low
from traceq.diagnosis.rules.registry import all_rules

CONTENT = json.loads(package().joinpath("diagnosis/rules/record.json").read_text("utf-8"))
ENTRIES = [(rule, each) for rule, said in CONTENT["rules"].items() for each in said]


def test_it_is_about_rules_that_there_are():
    assert CONTENT["rules"].keys() <= {rule.name for rule in all_rules()}
    assert len(ENTRIES) > 200


def list_wrong():
    """List entries whose program is another, or whose verdict is not that of the label, or of the file of a blind batch."""
    blind = blind_rows()
    for rule, each in ENTRIES:
        name = each["trace"]
        if "blind" in each:
            if each not in blind.get(rule, []):
                yield f"{rule} of {name}: not what blind/{each['blind']}.json has"
            continue
        if each["program"] != real.program_of(name):
            yield f"{rule} of {name}: program {each['program']}, not {real.program_of(name)}"
        by_label = grade_finding(real.truth_by_name(name), rule, each["share"], each["step_ns"])
        if each["verdict"] != by_label:
            yield f"{rule} of {name}: {each['verdict']}, by its label {by_label}"


def test_its_programs_and_verdicts_are_those_of_the_labels():
    assert_none(list_wrong())


def test_what_was_said_blind_is_in_it():
    """Else: python tests/truth/record.py --merge."""
    assert merge_rows(CONTENT["rules"], blind_rows()) == CONTENT["rules"]


def test_what_a_rule_said_blind_of_a_trace_stands_for_what_it_says_of_it_later(tmp_path):
    said = {"share": 0.2, "step_ns": 100, "confidence": "high", "program": "theirs"}
    (tmp_path / "batch7.json").write_text(
        json.dumps(
            {
                "rules": {
                    "idle-data": [{**said, "trace": "new", "verdict": "wrong"}],
                    "tf32-off": [{**said, "trace": "cs336_new", "verdict": "partly"}],
                }
            }
        ),
        "utf-8",
    )
    later = {"idle-data": [{"trace": each, "verdict": "right"} for each in ("known", "new")]}
    of_blind = {"share": 0.2, "step_ns": 100, "blind": "batch7"}
    expected = {
        "idle-data": [later["idle-data"][0], {**of_blind, "trace": "new", "program": "new", "verdict": "wrong"}],
        "tf32-off": [{**of_blind, "trace": "cs336_new", "program": "cs336", "verdict": "partly"}],
    }
    blind = blind_rows(tmp_path)
    assert merge_rows(later, blind) == expected
    assert merge_rows(expected, blind) == expected
    assert merge_rows(expected, {}) == {"idle-data": later["idle-data"][:1]}


def test_all_versions_of_a_program_are_one():
    assert real.program_of("kineto_resnet50_w0.v19") == real.program_of("kineto_resnet50_w4.array")
    assert real.program_of("fuser_h200_report1") == "fuser_h200_report1"


@pytest.mark.parametrize(
    ("true", "said", "low"), [(5, 5, 0.88), (10, 11, 0.81), (9, 10, 0.79), (3, 3, 0.81), (0, 3, 0.0), (0, 0, 0.0)]
)
def test_the_bound_is_wilsons(true, said, low):
    assert wilson_low(true, said) == pytest.approx(low, abs=0.006)


def build_record(*programs, wrong=0):
    """A record of true findings in these programs, and `wrong` others."""
    return RuleRecord({"rule": (*((each, "right") for each in programs), *((f"p{n}", "wrong") for n in range(wrong)))})


@pytest.mark.parametrize(
    ("record", "confidence"),
    [
        (build_record("a", "b", "c", "c", "c"), "high"),
        (build_record("a", "b", "c", "c"), "medium"),  # four times
        (build_record("a", "b", "b", "b", "b"), "medium"),  # two programs
        (build_record("a", "b", "c", "c", "c", wrong=1), "medium"),  # a bound of 0.68
        (build_record("a", "b", "b"), "medium"),
        (build_record("a", "a", "a"), "low"),  # one program
        (build_record("a", "b", "c", wrong=2), "low"),  # a bound of 0.44
        (RuleRecord(), "low"),
    ],
)
def test_confidence_follows_from_how_often_a_rule_was_right_and_where(record, confidence):
    assert record.confidence_of("rule") == confidence


def test_partly_right_is_not_right():
    assert RuleRecord({"rule": tuple((each, "partly") for each in "abcdef")}).confidence_of("rule") == "low"


def test_a_program_is_no_proof_of_what_is_said_of_itself():
    record = build_record("a", "b", "c", "c", "c")
    assert record.without_program("c").confidence_of("rule") == "low"
    assert record.without_program("d").confidence_of("rule") == "high"


def test_the_words_give_the_numbers():
    assert build_record("a", "a", "b", wrong=1).describe_rule("rule") == (
        "On labelled real traces this rule found something 4 times and was right 3 times, in 2 programs."
    )
    assert RuleRecord().describe_rule("rule") == "No labelled trace has shown yet whether this rule is right."


def test_the_lowest_of_several_counts():
    assert lowest_confidence("high", "low", "medium") == "low"


def test_some_rules_are_sure():
    assert {load_record().confidence_of(rule.name) for rule in all_rules()} == {"high", "medium", "low"}
