"""A rule is a file on a shelf, its page, its line in the registry and its cases: which of them is missing shows here."""

from __future__ import annotations

import re
from pathlib import Path

from failure_list import assert_none
from labelled import cases

from traceq.diagnosis import rules
from traceq.diagnosis.manual import SECTIONS
from traceq.diagnosis.rules.registry import RULES, all_rules


def on_shelves():
    """Names of modules and of SQL files that have a title; SQL files without one are queries of a rule."""
    for file in Path(rules.__file__).parent.glob("*/*.*"):
        if file.parent.name in ("shared", "__pycache__") or file.name == "__init__.py":
            continue
        if file.suffix == ".py" or re.search(r"^-- title:", file.read_text("utf-8"), re.MULTILINE):
            yield file.stem


def test_every_rule_on_a_shelf_has_its_line_in_the_registry():
    assert set(on_shelves()) == set(RULES)


def test_every_rule_has_its_cases_and_every_case_its_rule():
    assert {path.stem for path in Path(cases.__file__).parent.glob("*.py")} - {"__init__"} == set(RULES)


def missing_of_page(rule):
    parts = re.split(rf"^({'|'.join(SECTIONS)})$", rule.manual.text, flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))
    if tuple(texts) != SECTIONS:
        yield f"sections are {', '.join(texts)}"
    yield from (f"{section} is empty" for section, text in texts.items() if not text)
    if not rule.manual.references:
        yield "no reference is an address"


# What findings say beside their fix; without it words of a user's own rules would stand there.
_SAID = {"confidence", "reason", "wrong-if", "try"}


def list_lacking(rule):
    """Yield what the header of a rule with findings lacks, and the case that is missing."""
    files = Path(rules.__file__).parent.glob(f"*/{rule.name.replace('-', '_')}.sql")
    headers = ["".join(re.findall(r"^--.*\n", file.read_text("utf-8"), re.MULTILINE)) for file in files]
    keys = {key for header in headers for key in re.findall(r"^-- ([a-z-]+): ", header, re.MULTILINE)}
    if "title" not in keys:
        return
    if "heading" in keys and "remark" not in keys:
        yield from (f"header lacks {key}" for key in sorted(_SAID - keys))
    cases_of_rule = (Path(cases.__file__).parent / f"{rule.name.replace('-', '_')}.py").read_text("utf-8")
    if "unknown" in keys and "def cannot_tell" not in cases_of_rule:
        yield "header says `unknown`, and no case is cannot_tell"


def test_every_header_says_what_a_finding_needs():
    assert_none(f"{rule.name}: {wrong}" for rule in all_rules() for wrong in list_lacking(rule))


def test_every_page_has_all_its_sections():
    assert_none(f"{rule.name}: {wrong}" for rule in all_rules() for wrong in missing_of_page(rule))
