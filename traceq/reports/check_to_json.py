"""A check for programs: raw nanoseconds and shares. docs/check.md describes the keys."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traceq.budgets.budget import Check, Judged
    from traceq.comparisons.comparison import Comparison

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def check_to_json(check: Check) -> str:
    """One object; `budgets` are in the order of the file."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "state": check.state,
        "budget_file": check.path,
        "budgets": [_judged(each) for each in check.judged],
        "baseline": check.baseline,
        "comparison": None if check.comparison is None else _comparison(check.comparison),
        "runs": [
            {
                "source": run.source,
                "file": run.file,
                "sha256": run.sha256,
                "rank": run.rank,
                "device_name": run.device_name,
                "steps": len(run.counted),
                "excluded": len(run.steps) - len(run.counted),
            }
            for run in check.runs
        ],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2) + "\n"


def _judged(judged: Judged) -> dict[str, Any]:
    budget = judged.budget
    return {
        "table": budget.table,
        "name": budget.name,
        "state": judged.state,
        "measured": None if judged.measured is None else _number(judged.measured),
        "unit": budget.unit,
        "limits": [{"bound": limit.bound, "amount": _number(limit.amount)} for limit in budget.limits],
        "line": budget.line,
        "reason": judged.reason or None,
        "query": judged.query,
    }


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _comparison(comparison: Comparison) -> dict[str, Any]:
    change = comparison.change
    return {
        "verdict": comparison.verdict,
        "reasons": comparison.reasons,
        "obstacles": comparison.obstacles,
        "level": comparison.level,
        "statistic": change and change.statistic,
        "base_ns": change and change.base_ns,
        "new_ns": change and change.new_ns,
        "delta_ns": change and change.delta_ns,
        "delta_share": change and change.share,
        "interval_ns": change and change.interval_ns,
        "p": change and change.p,
    }
