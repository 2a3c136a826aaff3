"""What the rules about waiting for the GPU have in common: one query, told apart by the kind of call, and its text."""

from __future__ import annotations

from typing import Any

from traceq.claims.claim import Claim, instance_query
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import cut, per_step, times_per_step
from traceq.sql import statement
from traceq.sql.facts import ask

# A copy to the host of up to so many bytes is a value that is read: 64 bytes are one cache line, 4 KiB a page,
# which is taken where an operator around it shows that it is a tensor of PyTorch.
_FEW_BYTES = 64
_SMALL_BYTES = 4096
# A call that waits and follows a copy on its thread within 20 µs belongs to it: that is the host's way from one
# call to the next.
_RIGHT_AFTER_NS = 20_000


def host_wait(subject: Subject, kind: str, *, low: float, likely: float) -> Claim | None:
    """The time lost to calls of one kind of host_wait.sql: item, shape or explicit."""
    return subject.claim(
        "host_wait",
        low=low,
        likely=likely,
        kind=kind,
        few_bytes=_FEW_BYTES,
        small_bytes=_SMALL_BYTES,
        right_after=_RIGHT_AFTER_NS,
    )


def places(subject: Subject, claim: Claim) -> list[dict[str, Any]]:
    """Where in the program a claim comes from, the costliest place first."""
    return ask(subject.connection, instance_query(claim.query, statement("rules/host_wait_place.sql")), **claim.values)


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
