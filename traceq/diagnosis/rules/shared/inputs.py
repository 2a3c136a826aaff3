"""What the rules about input say of fetches and workers: facts of the trace, as sentences."""

from __future__ import annotations

import math
from typing import Any

from traceq.common.units import duration, share
from traceq.diagnosis.rules.shared.wording import cut, part
from traceq.diagnosis.subject import Subject

MOST_WORKERS = 16
"""More workers than this for one GPU rarely help: make the work of each smaller first."""


def workers_needed(facts: dict[str, Any]) -> int:
    """Workers that prepare a batch each in the time that a step takes without its fetch: at least 2, at most the cores."""
    elsewhere = facts["total_ns"] - facts["fetch_ns"]
    needed = math.ceil(facts["fetch_ns"] / elsewhere) if elsewhere > 0 else MOST_WORKERS
    return int(min(max(2, min(needed, MOST_WORKERS)), facts.get("cores") or MOST_WORKERS))


def busiest(subject: Subject, facts: dict[str, Any]) -> str:
    """A sentence on what fetches are spent on, or nothing where the trace does not show."""
    if not facts["fetch_ns"]:
        return ""
    found = [
        f"{cut(row['name'])} {share(row['own_ns'] / facts['fetch_ns'])}"
        for row in subject.ask("input_work")
        if row["own_ns"] >= 0.05 * facts["fetch_ns"]
    ]
    return f"The time of fetching goes to {', '.join(found)}. " if found else ""


def per_fetch(facts: dict[str, Any]) -> str:
    """The mean length of a fetch."""
    return duration(part(facts["fetch_ns"], facts["fetches"]))
