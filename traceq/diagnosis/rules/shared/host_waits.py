"""What the rules about waiting for the GPU have in common: the places of calls that wait, in words."""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.rules.shared.wording import cut, per_step, times_per_step
from traceq.diagnosis.subject import Subject


def described(subject: Subject, found: list[dict[str, Any]]) -> str:
    """Rows of host_wait_place.sql as a sentence: "cudaStreamSynchronize in aten::item (forward): 2 per step, 0.3 ms per step"."""
    return "; ".join(_place(subject, row) for row in found)


def _place(subject: Subject, row: dict[str, Any]) -> str:
    within = cut(row["operator"]) if row["operator"] else ""
    around = [cut(row["annotation"]) if row["annotation"] else "", row["phase"] or ""]
    where = ", ".join(dict.fromkeys(each for each in around if each))
    return (
        f"{row['name']}{f' in {within}' if within and within != row['name'] else ''}{f' ({where})' if where else ''}: "
        f"{times_per_step(subject, row['calls'])}, {per_step(subject, row['claimed_ns'] / subject.steps)}"
    )
