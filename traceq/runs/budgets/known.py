"""The names that budgets can be about, and suggestions for names that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import cache

from traceq.analysis.categories import BUSY, IDLE

STEP = ("typical", "mean", "p50", "p90", "p95", "p99", "max")

JOB = ("step", "slowdown", "straggler")

# Sums of categories, by the name a budget gives them.
SUMS = {"idle": IDLE, "busy": BUSY, "copy": tuple(each for each in BUSY if each.startswith("copy_"))}

ANY = "any"


@cache
def rule_names() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the names of rules with savings, of rules that only remark, and of rules of the extra pack."""
    from traceq.diagnosis.rules.registry import all_rules

    remarking = frozenset(rule.name for rule in all_rules() if rule.remarks)
    extra = frozenset(rule.name for rule in all_rules() if rule.is_extra)
    return frozenset(rule.name for rule in all_rules()) - remarking - extra, remarking, extra


def suggest_names(name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown name: the closest of `known`, or all of them if they are few."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    few = 12
    if close:
        return f"did you mean: {', '.join(close)}?"
    return f"there are {', '.join(known)}" if len(known) <= few else "`traceq rules list` prints the names"
