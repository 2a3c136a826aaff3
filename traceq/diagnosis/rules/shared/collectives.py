"""What the rules about communication share: the collectives of a claim summed up, and put in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from traceq.common import units
from traceq.common.units import short
from traceq.database.sql import statement
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject

# Of the time that the GPU in question is in collectives; the last to arrive is in them for so much at most.
_FAR_SHORTER = 0.75


def asked_for(subject: Subject) -> None:
    """Raise unless a rule about communication on the GPU can be judged, and there is any."""
    subject.needs("gpu", "steps")
    if not subject.present["communication"]:
        raise NothingThere("no communication ran on the GPU")


def summed_up(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What the collectives of a claim have in common; see rules/collective_summary.sql."""
    return subject.ask_of(claim, statement("diagnosis/rules/shared/collective_summary.sql"))[0]


def described(facts: dict[str, Any]) -> str:
    """The collectives of `summed_up` in a few words, e.g. "84 all_reduce per step, 64 MiB each, among 8 ranks"."""
    words = [f"{short(facts['per_step'])} {facts['ops']} per step"]
    if facts["bytes"]:
        words.append(f"typically {size(facts['bytes'])} each")
    if facts["group_size"]:
        words.append(f"among {facts['group_size']} ranks")
    return ", ".join(words)


def of_claim(subject: Subject, claim: Claim) -> str:
    """The collectives of a claim in a few words."""
    return described(summed_up(subject, claim))


def overlapped(facts: dict[str, Any]) -> str:
    """A sentence on the collectives of `summed_up`, and how much of their time is hidden."""
    return f"{described(facts)}; {percent(facts['overlap_share'])} of their time is overlapped with compute."


class Kind(NamedTuple):
    """What collectives of one role exchange, and how to hide that."""

    title: str
    fix: str
    confidence: Confidence = "medium"


def exposed(
    subject: Subject, role: str, kinds: Mapping[str, Kind], texts: tuple[str, str], *, low: float, likely: float
) -> Iterator[Advice]:
    """Advice on the exposed collectives of a role for each kind; `texts` are its reason and what would show it wrong."""
    asked_for(subject)
    for key, kind in kinds.items():
        claim = subject.claim("collective_role", low=low, likely=likely, high=0.9, role=role, kind=key)
        if claim is None:
            continue
        late = late_device(subject) if role == "exchange" else ""
        yield Advice(
            claim,
            fix=f"{overlapped(summed_up(subject, claim))}{late} {kind.fix}",
            confidence=kind.confidence,
            reason=texts[0],
            wrong_if=texts[1],
            title=kind.title,
            key=key,
        )


def late_device(subject: Subject) -> str:
    """A sentence on the GPU of the same trace that the others wait for: in as many collectives it is for far shorter."""
    if subject.devices <= 1:
        return ""
    found = {row["device"]: row for row in subject.ask("collective_devices")}
    own, last = found.get(subject.device), next(iter(found.values()), None)
    if own is None or last is None or last["collectives"] != own["collectives"]:
        return ""
    if last["step_ns"] > _FAR_SHORTER * own["step_ns"]:
        return ""
    return (
        f" GPU {last['device']} of this trace is in as many for {units.duration(last['step_ns'])} per step, and GPU "
        f"{own['device']} for {units.duration(own['step_ns'])}: most of the difference is waiting for GPU {last['device']}, so "
        "look first at what makes that late."
    )


def size(count: float) -> str:
    """A number of bytes in words."""
    return units.size(round(count))
