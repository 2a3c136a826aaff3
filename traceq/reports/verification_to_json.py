"""A verification for programs. docs/compare.md describes the keys."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceq.verification.verify import Verification

SCHEMA_VERSION = 1


def verification_to_json(verification: Verification) -> str:
    """One object; what was compared is in the output of traceq compare."""
    comparison = verification.comparison
    content = {
        "schema_version": SCHEMA_VERSION,
        "finding": asdict(verification.finding),
        "state": verification.state,
        "after": asdict(verification.after) if verification.after else None,
        "won_ns": verification.won_ns,
        "won_interval_ns": verification.won_interval_ns,
        "prediction": verification.prediction,
        "reason": verification.reason,
        "also_gone": [asdict(each) for each in verification.also_gone],
        "verdict": comparison.verdict,
        "comparable": comparison.comparable,
        "causes": [
            {"category": cause.category, "base_ns": cause.base_ns, "new_ns": cause.new_ns, "delta_ns": cause.delta_ns}
            for cause in comparison.causes
        ],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2) + "\n"
