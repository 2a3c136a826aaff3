"""What the rules about waiting for the GPU have in common: one query, told apart by the kind of call, and its text."""

from __future__ import annotations

from typing import Any

from traceq.database.sql import statement
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, per_step, times_per_step
from traceq.diagnosis.subject import Subject


def host_wait(subject: Subject, kind: str, *, low: float, likely: float) -> Claim | None:
    """The time lost to calls of one kind of host_wait.sql: item, shape or explicit."""
    return subject.claim("host_wait", low=low, likely=likely, kind=kind)


def places(subject: Subject, claim: Claim) -> list[dict[str, Any]]:
    """Where in the program a claim comes from, the costliest place first."""
    return subject.ask_of(claim, statement("diagnosis/rules/shared/host_wait_place.sql"))


def described(subject: Subject, found: list[dict[str, Any]]) -> str:
    """The places as a sentence: "cudaStreamSynchronize in aten::item (forward): 2 per step, 0.3 ms per step"."""
    return "; ".join(_place(subject, row) for row in found)


def _place(subject: Subject, row: dict[str, Any]) -> str:
    within = cut(row["operator"]) if row["operator"] else ""
    around = [cut(row["annotation"]) if row["annotation"] else "", row["phase"] or ""]
    where = ", ".join(dict.fromkeys(each for each in around if each))
    return (
        f"{row['name']}{f' in {within}' if within and within != row['name'] else ''}{f' ({where})' if where else ''}: "
        f"{times_per_step(subject, row['calls'])}, {per_step(subject, row['claimed_ns'] / subject.steps)}"
    )
