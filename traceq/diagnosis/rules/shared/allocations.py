"""What the rules about allocation have in common: calls that allocate, in words."""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.rules.shared.wording import per_step, times_per_step
from traceq.diagnosis.subject import Subject


def described(subject: Subject, found: list[dict[str, Any]]) -> str:
    """The first rows of allocation_facts.sql as a phrase: "cudaMalloc 12 per step (0.4 ms)"."""
    return ", ".join(
        f"{row['name']} {times_per_step(subject, row['calls'])} ({per_step(subject, row['dur_ns'] / subject.steps)})"
        for row in found[:3]
    )
