"""A check as a Code Quality report, which GitLab shows beside the changes of a merge request.

What fails is major, what cannot be judged minor; what passes is not listed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from traceq.common.text import printable, quiet_json, shortened
from traceq.reports.check.words import explain_result
from traceq.reports.renderers.check_to_junit import write_message
from traceq.reports.renderers.check_to_sarif import find_place, hash_budget
from traceq.runs.budgets.budget import Check, JudgedBudget

_TEXT = 1_000
# Every entry needs a file: what no file asks for belongs to the budgets, if there were any.
_NO_FILE = "traceq.toml"


def check_to_code_quality(check: Check, root: Path) -> str:
    """Return the budgets that are not kept as JSON text of GitLab's Code Quality; paths below `root` become relative to it."""
    found = [_make_entry(each, check, root.resolve()) for each in check.judged if each.state != "pass"]
    return quiet_json(json.dumps(found, ensure_ascii=False, sort_keys=True, indent=2)) + "\n"


def _make_entry(judged: JudgedBudget, check: Check, root: Path) -> dict[str, Any]:
    path, line = find_place(judged, check)
    text = write_message(judged)
    if judged.state == "fail" and judged.reason:
        text += f" ({explain_result(judged)})"
    return {
        "description": shortened(printable(text), _TEXT),
        "check_name": f"traceq/{judged.budget.table}",
        "fingerprint": hash_budget(judged),
        "severity": "major" if judged.state == "fail" else "minor",
        "location": {"path": _relative_path(path or Path(_NO_FILE), root), "lines": {"begin": line or 1}},
    }


def _relative_path(path: Path, root: Path) -> str:
    whole = path.resolve()
    shown = os.fsencode(whole.relative_to(root) if whole.is_relative_to(root) else path)
    # JSON has no bytes that are not UTF-8
    return shown.decode("utf-8", "replace")
