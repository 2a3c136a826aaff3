"""A check as SARIF 2.1.0, which GitHub and others show at the line of the budget file.

What fails is an error, what cannot be judged a warning; what passes is not listed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from traceq.common.text import printable, quiet_json, shortened
from traceq.common.version import __version__
from traceq.reports.check.words import explain_result, format_measured
from traceq.reports.renderers.check_to_junit import write_message
from traceq.runs.budgets.budget import Check, JudgedBudget, Table

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_TEXT = 1_000


class _SarifRule(NamedTuple):
    name: str
    short: str
    help: str


_RULES: Mapping[Table, _SarifRule] = {
    "step": _SarifRule(
        "StepBudget",
        "A step takes longer than its budget.",
        "See where its time goes: traceq report. Percentiles need steps: 20 for p95, 100 for p99.",
    ),
    "throughput": _SarifRule(
        "ThroughputBudget",
        "Throughput is below the budget.",
        "See where the time of a step goes: traceq report. The numbers come from payload marks of traceq.annotate.",
    ),
    "ledger": _SarifRule(
        "LedgerBudget",
        "A part of the step takes more time than its budget.",
        "docs/metrics.md explains each category; traceq report shows what it is made of.",
    ),
    "findings": _SarifRule(
        "FindingBudget",
        "A finding could save more than its budget allows.",
        "traceq explain RULE explains the rule and what to try; a rule that cannot tell says what the capture "
        "is missing.",
    ),
    "job": _SarifRule(
        "JobBudget",
        "The ranks of a job lose more time together than their budget allows.",
        "See which ranks the others wait for, and why: traceq report on all ranks.",
    ),
    "sql": _SarifRule(
        "SqlBudget",
        "A number returned by one of your own queries is outside its limits.",
        "Run the query: traceq sql DB QUERY. It must return one number.",
    ),
    "compare": _SarifRule(
        "Regression",
        "The step takes longer than in the baseline.",
        "traceq compare BASELINE SOURCE shows what changed. If the change is intended, save a new baseline: "
        "traceq baseline save NAME SOURCE --force.",
    ),
    "history": _SarifRule(
        "Creep",
        "A quantity is worse than it was over the history of reports.",
        "traceq history show says since when and what else changed. If the change is intended: traceq history accept.",
    ),
}


def check_to_sarif(check: Check, root: Path) -> str:
    """Return the budgets that are not kept as SARIF text, with a rule for each table.

    Paths below `root` become relative to it.
    """
    results = [_make_result(each, check, root) for each in check.judged if each.state != "pass"]
    run = {
        "tool": {
            "driver": {
                "name": "traceq",
                "semanticVersion": __version__,
                "rules": [_make_rule(table, rule) for table, rule in _RULES.items()],
            }
        },
        "columnKind": "utf16CodeUnits",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
    }
    content = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return quiet_json(json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2)) + "\n"


def _make_rule(table: Table, rule: _SarifRule) -> dict[str, Any]:
    return {
        "id": _rule_id(table),
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": rule.short},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["performance"]},
    }


def _rule_id(table: Table) -> str:
    return f"traceq/{table}"


def _make_result(judged: JudgedBudget, check: Check, root: Path) -> dict[str, Any]:
    budget = judged.budget
    text = write_message(judged)
    if judged.state == "fail" and judged.reason:
        text += f" ({explain_result(judged)})"
    result: dict[str, Any] = {
        "ruleId": _rule_id(budget.table),
        "ruleIndex": list(_RULES).index(budget.table),
        "level": "error" if judged.state == "fail" else "warning",
        "message": {"text": shortened(printable(text), _TEXT)},
        "partialFingerprints": _make_fingerprints(judged),
        "properties": {"budget": shortened(printable(budget.name), _TEXT), "measured": format_measured(judged)},
    }
    where = _make_location(judged, check, root)
    return {**result, "locations": [{"physicalLocation": where}]} if where else result


def _make_fingerprints(judged: JudgedBudget) -> dict[str, str]:
    key = hash_budget(judged)
    return {"primaryLocationLineHash": f"{key}:1", "traceqBudget/v1": key}


def hash_budget(judged: JudgedBudget) -> str:
    """Return a hash of a budget's table and name, the same when the budget is moved or its limit changes."""
    return hashlib.sha256(f"{judged.budget.table}\0{judged.budget.name}".encode(errors="surrogatepass")).hexdigest()[
        :16
    ]


def find_place(judged: JudgedBudget, check: Check) -> tuple[Path | None, int | None]:
    """Return (file, line) of the budget, for annotations in code hosts.

    A budget from the command line has the baseline's file, or else the budget file, and no line; None for what is
    unknown.
    """
    line = judged.budget.line
    path = check.path if line is not None else check.baseline_path or check.path
    return (None if path is None else Path(path)), line


def _make_location(judged: JudgedBudget, check: Check, root: Path) -> dict[str, Any] | None:
    path, line = find_place(judged, check)
    if path is None:
        return None
    where: dict[str, Any] = {"artifactLocation": _make_artifact(path, root)}
    return where if line is None else {**where, "region": {"startLine": line}}


def _make_artifact(path: Path, root: Path) -> dict[str, str]:
    whole = path.resolve()
    if whole.is_relative_to(root.resolve()):
        return {"uri": quote(os.fsencode(whole.relative_to(root.resolve()))), "uriBaseId": "%SRCROOT%"}
    return {"uri": whole.as_uri()}
