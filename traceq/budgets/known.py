"""The names that budgets can be about, and what comes closest to one that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import cache

STEP = ("typical", "mean", "p50", "p90", "p95", "p99", "max")

# Of the ledger: the database knows no others. A test compares them with those of traceq.frames.
_BUSY = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset")
_IDLE = (
    "idle_data",
    "idle_sync",
    "idle_allocation",
    "idle_compile",
    "idle_launch",
    "idle_python",
    "idle_os",
    "idle_checkpoint",
    "idle_communication",
    "idle_dependency",
    "idle_launch_latency",
    "idle_profiler",
    "idle_unattributed",
)
CATEGORIES = (*_BUSY, *_IDLE)

# Sums of categories, by the name a budget gives them.
SUMS = {"idle": _IDLE, "busy": _BUSY, "copy": tuple(each for each in _BUSY if each.startswith("copy_"))}

ANY = "any"


@cache
def rules() -> tuple[frozenset[str], frozenset[str]]:
    """The names of the rules that find what a fix could win, and of those that only remark on something."""
    from traceq.rules.registry import built_in

    remarking = frozenset(
        each.name for each in built_in() if each.judge.__annotations__["return"] == "Iterator[Remark]"
    )
    return frozenset(each.name for each in built_in()) - remarking, remarking


def closest(name: str, known: Collection[str]) -> str:
    """What to say of a name that is not `known`: which come closest, or all where they are few."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    few = 12
    if close:
        return f"did you mean: {', '.join(close)}?"
    return f"there are {', '.join(known)}" if len(known) <= few else "`traceq rules list` prints the names"
