"""Counts and shares of right statements over many traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.grading.grade import GradedResult, Verdict

VERDICTS: tuple[Verdict, ...] = ("right", "partly", "wrong")
CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")


def count_firsts(results: Sequence[GradedResult]) -> tuple[int, int, int]:
    """Return how many reports have a first statement that is right, partly right and wrong, in this order."""
    counts = Counter(result.first for result in results)
    right, partly, wrong = (counts[verdict] for verdict in VERDICTS)
    return right, partly, wrong


def count_findings(results: Sequence[GradedResult], confidence: Confidence | None = None) -> tuple[int, int, int]:
    """Return how many findings are right, partly right and wrong, in this order; only those of `confidence`, if given."""
    counts = Counter(
        statement.verdict
        for result in results
        for statement in result.said
        if confidence in (None, statement.confidence)
    )
    right, partly, wrong = (counts[verdict] for verdict in VERDICTS)
    return right, partly, wrong


def compute_shares(results: Sequence[GradedResult]) -> dict[str, float]:
    """Return by name the shares (0..1) of first statements right and wrong, bottlenecks found, and findings right.

    Those of findings are of all, and of those of high confidence. A share of nothing is 1.
    """
    right, _, wrong = count_firsts(results)
    true, *untrue = count_findings(results)
    high_true, *high_untrue = count_findings(results, "high")
    return {
        "first_right": _part(right, len(results)),
        "first_wrong": _part(wrong, len(results)),
        "found": _part(
            sum(result.found for result in results), sum(len(result.truth.bottlenecks) for result in results)
        ),
        "findings_true": _part(true, true + sum(untrue)),
        "high_true": _part(high_true, high_true + sum(high_untrue)),
    }


def _part(of: int, whole: int) -> float:
    """Return `of` / `whole`; 1.0 if `whole` is 0."""
    return of / whole if whole else 1.0
