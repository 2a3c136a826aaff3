"""What the rules about communication share: the collectives of a claim summed up, and put in words."""

from __future__ import annotations

from typing import Any

from traceq.common import units
from traceq.common.units import short
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject


def asked_for(subject: Subject) -> None:
    """Raise unless a rule about communication on the GPU can be judged, and there is any."""
    subject.needs("gpu", "steps")
    if not subject.present["communication"]:
        raise NothingThere("no communication ran on the GPU")


def summed_up(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What the collectives of a claim have in common; see rules/collective_summary.sql."""
    return subject.ask_of(claim, "collective_summary")[0]


def described(facts: dict[str, Any]) -> str:
    """The collectives of `summed_up` in a few words, e.g. "84 all_reduce per step, 64 MiB each, among 8 ranks"."""
    what = "collectives of unknown kind" if facts["ops"] == "unknown" else facts["ops"]
    words = [f"{short(facts['per_step'])} {what} per step"]
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


def late_device(subject: Subject) -> str:
    """A sentence on the GPU of the same trace that the others wait for: in as many collectives it is for far shorter."""
    if subject.devices <= 1:
        return ""
    found = {row["device"]: row for row in subject.ask("collective_devices")}
    own, last = found.get(subject.device), next(iter(found.values()), None)
    if own is None or last is None or last["collectives"] != own["collectives"]:
        return ""
    if last["step_ns"] > subject.threshold("collective_devices", "far_shorter") * own["step_ns"]:
        return ""
    return (
        f" GPU {last['device']} of this trace is in as many for {units.duration(last['step_ns'])} per step, and GPU "
        f"{own['device']} for {units.duration(own['step_ns'])}: most of the difference is waiting for GPU {last['device']}, so "
        "look first at what makes that late."
    )


def size(count: float) -> str:
    """A number of bytes in words."""
    return units.size(round(count))
