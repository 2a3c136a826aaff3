"""A verification for programs. docs/compare.md describes the keys."""

from __future__ import annotations

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.verify.verify import Verification

SCHEMA_VERSION = 1


def verification_to_json(verification: Verification) -> str:
    """Encode the verification as one object; `traceq compare` gives the comparison."""
    comparison = verification.comparison
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(verification, "finding", "state", "after", "won_ns", "won_interval_ns", "prediction", "reason"),
            "also_gone": verification.also_gone,
            "earlier": verification.earlier,
            **pick(comparison, "verdict", "comparable", "assumptions"),
            "causes": [pick(cause, "category", "base_ns", "new_ns", "delta_ns") for cause in comparison.causes],
        }
    )
