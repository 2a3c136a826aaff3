"""A check for programs: raw nanoseconds and shares. docs/check.md describes the keys."""

from __future__ import annotations

from typing import Any

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.budgets.budget import Check, JudgedBudget
from traceq.runs.compare.comparison import Comparison

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1

_CHANGE = ("statistic", "base_ns", "new_ns", "delta_ns", "share", "interval_ns", "p")


def check_to_json(check: Check) -> str:
    """Return the check as the text of a JSON object; its list `budgets` is in the order of the budget file."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "state": check.state,
            "budget_file": check.path,
            "budgets": [_encode_judged(each) for each in check.judged],
            "baseline": check.baseline,
            "comparison": check.comparison and _encode_comparison(check.comparison),
            "runs": [
                {
                    **pick(run, "source", "file", "sha256", "rank", "device_name"),
                    "steps": len(run.counted),
                    "excluded": len(run.steps) - len(run.counted),
                }
                for run in check.runs
            ],
        }
    )


def _encode_judged(judged: JudgedBudget) -> dict[str, Any]:
    return {
        **pick(judged.budget, "table", "name", "unit", "line"),
        **pick(judged, "state", "measured", "query"),
        "limits": [pick(limit, "bound", "amount") for limit in judged.budget.limits],
        "reason": judged.reason or None,
    }


def _encode_comparison(comparison: Comparison) -> dict[str, Any]:
    change = pick(comparison.change, *_CHANGE) if comparison.change else dict.fromkeys(_CHANGE)
    change["delta_share"] = change.pop("share")
    return {**pick(comparison, "verdict", "reasons", "obstacles", "level", "job"), **change}
