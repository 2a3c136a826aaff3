"""A check as text, Markdown, JSON, JUnit XML, SARIF and Code Quality; the last three against schemas."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree as ET

import lazy_import
import pytest
from check_runs import MS, finding, run
from jsonschema import Draft4Validator
from msgspec.structs import replace

from traceq.reports.check.check import compose_check
from traceq.reports.check.words import format_measured
from traceq.reports.renderers.check_to_code_quality import check_to_code_quality
from traceq.reports.renderers.check_to_json import check_to_json
from traceq.reports.renderers.check_to_junit import check_to_junit
from traceq.reports.renderers.check_to_sarif import check_to_sarif
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.budgets.budget import Budget, Check, JudgedBudget, Limit, Table
from traceq.runs.compare.compare import compare
from traceq.runs.compare.comparison import Change

xmlschema = lazy_import.module("xmlschema")

SCHEMAS = Path(__file__).parent / "schemas"
EVIL = "]]> <script>&amp;\x00\x1b[31m\u202e\ufffe\udcff \"'`|\n@octocat ${{ github.token }} " + "x" * 5_000


@cache
def junit_schema():
    return xmlschema.XMLSchema(SCHEMAS / "jenkins-junit.xsd")


@cache
def sarif_schema():
    return Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text("utf-8")))


def at_most(amount, unit="ns"):
    return (Limit("at most", Fraction(amount), unit),)


def made_up():
    """One of each kind and state, and a comparison."""
    base, new = (run(*(level + each % 7 / 5 for each in range(20)), name=f"{level}.json") for level in (100, 110))
    return Check(
        path="traceq.toml",
        runs=(replace(new, findings=(finding("host-bound", 5),), lost=("3 events were lost",)),),
        judged=(
            JudgedBudget(Budget("step", "typical", at_most(120 * MS), 3), "pass", Fraction(110 * MS)),
            JudgedBudget(
                Budget("step", "p99", at_most(120 * MS), 4), "cannot judge", reason="20 steps count, too few for p99"
            ),
            JudgedBudget(
                Budget("ledger", "idle", at_most(Fraction(1, 10), "share"), 7),
                "fail",
                Fraction(1, 5),
                query="select sum(dur) from time_ledger where category like 'idle%'",
            ),
            JudgedBudget(Budget("findings", "host-bound", (), 10), "fail", Fraction(5, 110), "A thing (host-bound)"),
            JudgedBudget(
                Budget("sql", "kernels", (*at_most(5, ""), Limit("at least", Fraction(2), "")), 13, "select 3"),
                "pass",
                Fraction(3),
                query="select 3",
            ),
            JudgedBudget(Budget("compare", "main", ()), "fail", Fraction(1, 10), "steps dealt at random differ less"),
        ),
        baseline="main",
        baseline_path=".traceq/baselines/main.json",
        comparison=replace(
            compare([base], [new]),
            reasons=("made up",),
            change=Change("typical", 100 * MS, 110 * MS, 10 * MS, (9 * MS, 11 * MS), 0.001, MS),
        ),
    )


def hostile():
    """The same with names that want to be something else."""
    check = made_up()
    judged = [
        replace(each, budget=replace(each.budget, name=EVIL), reason=EVIL, query=EVIL if each.query else None)
        for each in check.judged
        if each.budget.table != "findings"
    ]
    runs = tuple(replace(each, file=EVIL, device_name=EVIL, lost=(EVIL,)) for each in check.runs)
    path = EVIL[:100].replace("\0", "")
    return replace(check, path=path, runs=runs, judged=tuple(judged), baseline=EVIL, baseline_path=path)


def empty():
    return Check(path=None, runs=(run(5),), judged=())


CASES = {"made_up": made_up, "hostile": hostile, "empty": empty}
every_case = pytest.mark.parametrize("case", CASES)


@every_case
def test_junit_is_valid(case):
    text = check_to_junit(CASES[case]())
    junit_schema().validate(text)
    assert text == check_to_junit(CASES[case]())


@every_case
def test_sarif_is_valid(case, tmp_path):
    content = json.loads(check_to_sarif(CASES[case](), tmp_path))
    assert [f"{error.json_path}: {error.message}" for error in sarif_schema().iter_errors(content)] == []
    rules = content["runs"][0]["tool"]["driver"]["rules"]
    for result in content["runs"][0]["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"].isprintable()


# What GitLab documents of a Code Quality report.
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": "^traceq/"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "minLength": 1},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


@every_case
def test_code_quality_is_what_gitlab_reads(case, tmp_path):
    content = json.loads(check_to_code_quality(CASES[case](), tmp_path))
    Draft4Validator(CODE_QUALITY).validate(content)
    assert all(entry["description"].isprintable() for entry in content)


def test_code_quality_lists_what_does_not_pass_at_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entries = json.loads(check_to_code_quality(made_up(), tmp_path))
    assert [(each["check_name"], each["severity"], each["location"]) for each in entries] == [
        ("traceq/step", "minor", {"path": "traceq.toml", "lines": {"begin": 4}}),
        ("traceq/ledger", "major", {"path": "traceq.toml", "lines": {"begin": 7}}),
        ("traceq/findings", "major", {"path": "traceq.toml", "lines": {"begin": 10}}),
        ("traceq/compare", "major", {"path": ".traceq/baselines/main.json", "lines": {"begin": 1}}),
    ]
    assert len({each["fingerprint"] for each in entries}) == len(entries)


def test_the_schemas_object():
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        junit_schema().validate('<testsuites><testsuite name="a" tests="1"><testcase/></testsuite></testsuites>')
    assert not sarif_schema().is_valid({"version": "2.1.0", "runs": [{"tool": {}}]})


def test_junit_counts_failures_and_errors():
    root = ET.fromstring(check_to_junit(made_up()))  # noqa: S314 - made a line before
    assert root.attrib == {"name": "traceq check", "tests": "6", "failures": "3", "errors": "1"}
    cases = [(each.get("classname"), each.get("name"), [child.tag for child in each]) for each in root.iter("testcase")]
    assert cases == [
        ("traceq.step", "typical", []),
        ("traceq.step", "p99", ["error"]),
        ("traceq.ledger", "idle", ["failure"]),
        ("traceq.findings", "host-bound", ["failure"]),
        ("traceq.sql", "kernels", []),
        ("traceq.compare", "main", ["failure"]),
    ]
    assert root.find(".//failure").get("message") == "ledger idle: measured 20.0 %, limit: at most 10.0 %"


def test_sarif_points_at_the_line_of_the_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = json.loads(check_to_sarif(made_up(), tmp_path))["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    found = zip(results, places, strict=True)
    assert [(each["level"], place["artifactLocation"]["uri"], place.get("region")) for each, place in found] == [
        ("warning", "traceq.toml", {"startLine": 4}),
        ("error", "traceq.toml", {"startLine": 7}),
        ("error", "traceq.toml", {"startLine": 10}),
        ("error", ".traceq/baselines/main.json", None),
    ]  # fmt: skip


def test_sarif_knows_a_budget_again_whatever_its_limit_and_line(tmp_path):
    check = made_up()
    moved = [
        replace(each, budget=replace(each.budget, line=99, limits=each.budget.limits and at_most(1)))
        for each in check.judged
    ]
    before, after = (
        [each["partialFingerprints"] for each in json.loads(check_to_sarif(one, tmp_path))["runs"][0]["results"]]
        for one in (check, replace(check, judged=tuple(moved)))
    )
    assert before == after
    assert len({each["primaryLocationLineHash"] for each in before}) == len(before)


def test_sarif_names_files_elsewhere_in_full(tmp_path):
    (result, *_) = json.loads(check_to_sarif(replace(made_up(), path="/etc/a b.toml"), tmp_path))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///etc/a%20b.toml"}


def test_text_and_markdown_and_json(golden):
    golden.check("check.txt", blocks_to_text(compose_check(made_up())))
    golden.check("check.md", blocks_to_markdown(compose_check(made_up())))
    golden.check("check.json", check_to_json(made_up()))


def test_names_stay_names():
    text = blocks_to_text(compose_check(hostile()))
    assert all(line.isprintable() for line in text.splitlines())
    page = blocks_to_markdown(compose_check(hostile()))
    outside_of_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", page, flags=re.DOTALL)
    assert "<script" not in outside_of_code
    assert "@octocat" not in outside_of_code
    assert len(page) < 60_000
    assert json.loads(check_to_json(hostile()))["baseline"] == EVIL


@pytest.mark.parametrize(
    ("amount", "limit", "unit", "expected"),
    [
        (120_004_000, 120_000_000, "ns", "120,004,000 ns"),
        (Fraction(100_001, 1_000_000), Fraction(1, 10), "share", "10.0001 %"),
        (Fraction(9_000_001, 10_000), 900, "/s", "900.0001 /s"),
        (5, 3, "bytes", "5 B"),
        (Fraction(10**400), 1, "", "inf"),
        (Fraction(1, 10**12), 0, "", "1e-12"),
        (1234567, 1, "kernels", "1,234,567 kernels"),
    ],
)
def test_a_number_that_misses_its_limit_does_not_read_like_it(amount, limit, unit, expected):
    judged = JudgedBudget(Budget("sql", "q", at_most(limit, unit)), "fail", Fraction(amount))
    assert format_measured(judged) == expected


@pytest.mark.parametrize("table", get_args(Table))
def test_sarif_has_a_rule_for_the_budgets_of_each_table(table, tmp_path):
    check = Check(path=None, runs=(run(5),), judged=(JudgedBudget(Budget(table, "a name", ()), "fail"),))
    (result,) = json.loads(check_to_sarif(check, tmp_path))["runs"][0]["results"]
    assert result["ruleId"] == f"traceq/{table}"
