"""What exposed_copy_h2d, exposed_copy_d2h and exposed_copy_other have in common: the rest of a category of copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.common.units import duration
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.copies import described
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject

# Half of the bytes: half precision, or only what is needed.
LEAST = 0.5
# Compute after a copy may need it.
OF_OVERLAP = 0.8
# Where the GPU computes for less than FEW of the time of the copies, they are not worth it, and nearly all of them can go.
FEW = 0.1
OF_POINTLESS = 0.9

# A copy that begins as soon as this after another has waited for it.
_TURN_NS = 10_000
_HIDING = 0.1


def rest_of(subject: Subject, category: str, title: str, remedy: str) -> Iterator[Advice]:
    """Advice on all exposed copies of `category`."""
    facts = _facts(subject, category)
    if facts is None:
        return
    claim = subject.claim("exposed_copy", low=0.0, likely=_likely(facts), high=1.0, category=category)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=f"{described(subject, claim)} {_how(facts)}{_beside(subject, claim, facts, remedy)}",
        confidence="low",
        reason="The time is a fact; what could run beside these copies, or how many bytes could be saved, is estimated.",
        wrong_if="The GPU has nothing to compute meanwhile, and all of the bytes are needed.",
        title=title if facts["overlapped"] else title.replace(" with ", ", all with "),
        is_rest=True,
    )


def _facts(subject: Subject, category: str) -> dict[str, Any] | None:
    (facts,) = subject.ask("exposed_copy_facts", category=category, turn_ns=_TURN_NS)
    return facts if facts["exposed"] else None


def _likely(facts: dict[str, Any]) -> float:
    return OF_POINTLESS if _is_pointless(facts) else max(LEAST, OF_OVERLAP * _share(facts))


def _is_pointless(facts: dict[str, Any]) -> bool:
    return bool(0 < facts["compute"] < FEW * facts["exposed"])


def _share(facts: dict[str, Any]) -> float:
    return float(min(1.0, facts["could_overlap"] / facts["exposed"]))


def _how(facts: dict[str, Any]) -> str:
    """How they were asked for."""
    if facts["blocking"] and facts["blocking"] == facts["copies"]:
        return "Their calls hold the host until they are done. "
    if facts["returning"] == facts["copies"] and facts["pinned"] == facts["copies"]:
        streams = facts["streams"]
        return (
            f"Their calls return at once and their memory is pinned; they run on {streams} stream{'s'[: streams > 1]}. "
        )
    return ""


def _beside(subject: Subject, claim: Claim, facts: dict[str, Any], remedy: str) -> str:
    """What could run beside them, and what to do therefore."""
    text = ""
    if facts["waiting_for_other"]:
        text = (
            f"{facts['waiting_for_other']} copies of one direction were asked for on another stream while one of the other "
            "direction was running, and began when that was done: the GPU, or its driver, has one engine for both directions "
            "(cudaDeviceProp.asyncEngineCount). "
        )
    if _share(facts) >= _HIDING:
        return f"{text}The compute that follows them could hide {percent(_share(facts))} of the time. {remedy}"
    compute = duration(facts["compute"] / subject.steps)
    text += f"There is little to hide {duration(claim.claimed_ns)} behind: compute takes {compute}. "
    if _is_pointless(facts):
        return (
            f"{text}For so little work the data is not worth moving: do it on the host, or do more on the GPU with what is "
            "there before the result leaves it. What has to be moved takes half as long in half precision."
        )
    return f"{text}What helps is fewer bytes. {remedy}"
