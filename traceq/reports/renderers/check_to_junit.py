"""A check as JUnit XML, which CI systems show as tests.

A budget that cannot be judged is an error, not skipped: a build in which nothing could be measured must not look green.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from traceq.common.text import printable, shortened
from traceq.reports.check.words import describe_limits, explain_result, format_measured, name_budget
from traceq.runs.budgets.budget import Check, JudgedBudget

_SUITE = "traceq check"
_NAME, _TEXT = 300, 4_000


def check_to_junit(check: Check) -> str:
    """Return the check as JUnit XML text; a budget is a test case, its table the case's class."""
    numbers = {
        "tests": str(len(check.judged)),
        "failures": str(check.number("fail")),
        "errors": str(check.number("cannot judge")),
    }
    root = ET.Element("testsuites", {"name": _SUITE, **numbers})
    suite = ET.SubElement(root, "testsuite", {"name": _SUITE, **numbers, "skipped": "0"})
    for each in check.judged:
        _make_case(suite, each, check.path)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _make_case(suite: ET.Element, judged: JudgedBudget, path: str | None) -> None:
    case = ET.SubElement(
        suite, "testcase", classname=f"traceq.{judged.budget.table}", name=_escape_text(judged.budget.name, _NAME)
    )
    if judged.state == "pass":
        return
    kind = "failure" if judged.state == "fail" else "error"
    type_ = "budget" if judged.state == "fail" else "cannot judge"
    found = ET.SubElement(case, kind, type=type_, message=_escape_text(write_message(judged), _TEXT))
    lines = [explain_result(judged)]
    if path is not None and judged.budget.line is not None:
        lines.append(f"{path}:{judged.budget.line}")
    if judged.query is not None:
        lines.append(judged.query)
    found.text = "\n".join(_escape_text(line, _TEXT) for line in lines if line)


def write_message(judged: JudgedBudget) -> str:
    """Return the outcome of a budget in one line: the measured number and the limit, or why it cannot be judged."""
    if judged.state == "fail":
        return (
            f"{name_budget(judged.budget)}: measured {format_measured(judged)}, limit: {describe_limits(judged.budget)}"
        )
    return f"{name_budget(judged.budget)}: cannot judge: {explain_result(judged)}"


def _escape_text(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` columns, with escapes for control characters, which XML forbids."""
    return shortened(printable(text), limit)
