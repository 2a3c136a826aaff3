"""The names that budgets can be about, and what comes closest to one that there is not."""

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
def rules() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names of the rules with savings, of those that only make observations, and of those that are asked on demand only."""
    from traceq.diagnosis.rules.registry import built_in

    remarking = frozenset(rule.name for rule in built_in() if rule.remarks)
    extra = frozenset(rule.name for rule in built_in() if rule.is_extra)
    return frozenset(rule.name for rule in built_in()) - remarking - extra, remarking, extra


def closest(name: str, known: Collection[str]) -> str:
    """What to say of a name that is not `known`: which come closest, or all where they are few."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    few = 12
    if close:
        return f"did you mean: {', '.join(close)}?"
    return f"there are {', '.join(known)}" if len(known) <= few else "`traceq rules list` prints the names"
